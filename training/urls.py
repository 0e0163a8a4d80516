"""Addresses of corpus prompts, candidates, judges, corpora and recipes."""

from django.urls import path

from training import choice_views, judge_views, recipe_views, views

urlpatterns = [
    path("corpus-prompts/", views.corpus_prompts, name="corpus-prompts"),
    path("corpus-prompts/<int:pk>/", views.corpus_prompt, name="corpus-prompt"),
    path("candidates/", views.candidates, name="candidates"),
    path("candidates/<int:pk>/", views.candidate, name="candidate"),
    path("candidates/<int:pk>/choose/", choice_views.candidate_choose, name="candidate-choose"),
    path("candidates/rubric/<int:pk>/", choice_views.choice, name="choice"),
    path("candidates/rubric/<int:pk>/undo/", choice_views.choice_undo, name="choice-undo"),
    path("judges/", judge_views.judges, name="judges"),
    path("judges/bias/<int:pk>/", judge_views.bias_check, name="bias-check"),
    path("recipes/", recipe_views.recipes, name="recipes"),
    path("recipes/<slug:name>/", recipe_views.recipe, name="recipe"),
    path("corpora/", views.snapshots, name="snapshots"),
    path("corpora/new/", views.snapshot_new, name="snapshot-new"),
    path("corpora/<int:pk>/", views.snapshot, name="snapshot"),
    path("corpora/<int:pk>/files/<str:name>", views.snapshot_file, name="snapshot-file"),
]
