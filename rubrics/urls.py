"""Addresses of rubrics."""

from django.urls import path

from rubrics import views

urlpatterns = [
    path("rubrics/compare/", views.comparison, name="rubric-compare"),
    path("rubrics/", views.rubrics, name="rubrics"),
    path("rubrics/<int:pk>/", views.rubric, name="rubric"),
]
