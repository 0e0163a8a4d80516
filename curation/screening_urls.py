"""Addresses of the screening report."""

from django.urls import path

from curation import screening_views

urlpatterns = [
    path("screening/", screening_views.screening, name="screening"),
    path("screening/<int:pk>/", screening_views.screening_item, name="screening-item"),
]
