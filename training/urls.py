"""Addresses of corpus prompts, candidates and corpora."""

from django.urls import path

from training import views

urlpatterns = [
    path("corpus-prompts/", views.corpus_prompts, name="corpus-prompts"),
    path("corpus-prompts/<int:pk>/", views.corpus_prompt, name="corpus-prompt"),
    path("candidates/", views.candidates, name="candidates"),
    path("candidates/<int:pk>/", views.candidate, name="candidate"),
    path("corpora/", views.snapshots, name="snapshots"),
    path("corpora/new/", views.snapshot_new, name="snapshot-new"),
    path("corpora/<int:pk>/", views.snapshot, name="snapshot"),
    path("corpora/<int:pk>/files/<str:name>", views.snapshot_file, name="snapshot-file"),
]
