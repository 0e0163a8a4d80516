"""Addresses of runs, endpoints and calls."""

from django.urls import path

from llm import views

urlpatterns = [
    path("runs/", views.runs, name="runs"),
    path("runs/<int:pk>/", views.run, name="run"),
    path("runs/<int:pk>/pause/", views.run_pause, name="run-pause"),
    path("runs/<int:pk>/continue/", views.run_continue, name="run-continue"),
    path("runs/<int:pk>/cancel/", views.run_cancel, name="run-cancel"),
    path("runs/<int:pk>/retry/", views.run_retry, name="run-retry"),
    path("runs/<int:pk>/limit/", views.run_limit, name="run-limit"),
    path("runs/<int:pk>/clone/", views.run_clone, name="run-clone"),
    path("endpoints/", views.endpoints, name="endpoints"),
    path("endpoints/new/", views.endpoint_new, name="endpoint-new"),
    path("endpoints/<int:pk>/", views.endpoint, name="endpoint"),
    path("endpoints/<int:pk>/edit/", views.endpoint_edit, name="endpoint-edit"),
    path("endpoints/<int:pk>/test/", views.endpoint_test, name="endpoint-test"),
    path("endpoints/<int:pk>/metrics/", views.endpoint_metrics, name="endpoint-metrics"),
    path("calls/<str:key>/", views.call, name="call"),
]
