"""Addresses of every page."""

from django.contrib.auth.views import LoginView, LogoutView
from django.urls import include, path

from config import views

urlpatterns = [
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
]
