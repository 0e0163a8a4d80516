"""Addresses of rubrics."""

from django.urls import path

from rubrics import editor_views, file_views, statistics_views, views

urlpatterns = [
    path("rubrics/compare/", views.comparison, name="rubric-compare"),
    path("rubrics/statistics/", statistics_views.statistics, name="rubric-statistics"),
    path("rubrics/export/", file_views.rubric_export, name="rubric-export"),
    path("rubrics/", views.rubrics, name="rubrics"),
    path("rubrics/<int:pk>/", views.rubric, name="rubric"),
    path("rubrics/<int:pk>/edit/", editor_views.rubric_edit, name="rubric-edit"),
    path("rubrics/<int:pk>/file/", file_views.rubric_file, name="rubric-file"),
    path("corpus-prompts/<int:pk>/rubrics/", views.prompt_rubrics, name="prompt-rubrics"),
    path("corpus-prompts/<int:pk>/rubrics/new/", editor_views.rubric_new, name="rubric-new"),
]
