"""Addresses of rubrics."""

from django.urls import path

from rubrics import views

urlpatterns = [
    path("rubrics/", views.rubrics, name="rubrics"),
    path("rubrics/<int:pk>/", views.rubric, name="rubric"),
]
