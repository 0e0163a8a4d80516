"""Addresses of the imports."""

from django.urls import path

from curation import import_views

urlpatterns = [
    path("imports/", import_views.imports, name="imports"),
    path("imports/new/", import_views.import_new, name="import-new"),
    path("imports/<int:pk>/", import_views.import_page, name="import"),
    path("imports/<int:pk>/start/", import_views.import_start, name="import-start"),
    path("imports/<int:pk>/discard/", import_views.import_discard, name="import-discard"),
]
