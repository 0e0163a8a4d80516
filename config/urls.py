"""Addresses of every page."""

from django.contrib.auth.views import LoginView, LogoutView
from django.urls import include, path

from config import views
from curation import export_views, token_views

urlpatterns = [
    path("api/v1/", include("curation.api.urls")),
    path("", views.home, name="home"),
    path("healthz", views.healthz, name="healthz"),
    path(
        "sign-in/",
        LoginView.as_view(template_name="sign_in.html", redirect_authenticated_user=True),
        name="sign-in",
    ),
    path("sign-out/", LogoutView.as_view(), name="sign-out"),
    path("runs/start/", views.run_start, name="run-start"),
    path("", include("llm.urls")),
    path("", include("curation.urls")),
    path("", include("rubrics.urls")),
    path("", include("training.urls")),
    path("", include("evaluation.urls")),
    path("exports/", export_views.exports, name="exports"),
    path("exports/<int:pk>/", export_views.export, name="export"),
    path("exports/<int:pk>/file/", export_views.export_file, name="export-file"),
    path("my-tokens/", token_views.my_tokens, name="my-tokens"),
    path("my-tokens/<int:pk>/revoke/", token_views.token_revoke, name="token-revoke"),
]
