"""Addresses of the curation room."""

from django.urls import include, path

from curation import draft_views, key_views, review_views, views

urlpatterns = [
    path("", include("curation.import_urls")),
    path("", include("curation.research_urls")),
    path("", include("curation.screening_urls")),
    path("sources/", views.sources, name="sources"),
    path("sources/<int:pk>/", views.source, name="source"),
    path("source-prompts/", views.source_prompts, name="source-prompts"),
    path("source-prompts/<int:pk>/", views.source_prompt, name="source-prompt"),
    path("reconstructions/", views.reconstructions, name="reconstructions"),
    path("reconstructions/<int:pk>/", views.reconstruction, name="reconstruction"),
    path("review/", review_views.review, name="review"),
    path("review/<int:pk>/", review_views.review_item, name="review-item"),
    path("review/<int:pk>/lease/", review_views.review_lease, name="review-lease"),
    path("review/<int:pk>/skip/", review_views.review_skip, name="review-skip"),
    path("review/<int:pk>/flag/", review_views.review_flag, name="review-flag"),
    path("review/<int:pk>/undo/", review_views.review_undo, name="review-undo"),
    path("review/<int:pk>/draft/", draft_views.review_draft, name="review-draft"),
    path("review/<int:pk>/hints/", draft_views.review_hints, name="review-hints"),
    path("my-keys/", key_views.my_keys, name="my-keys"),
    path("my-work/", review_views.my_work, name="my-work"),
    path("my-work/<int:pk>/", review_views.my_review, name="my-review"),
]
