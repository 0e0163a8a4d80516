"""Addresses of the curation room."""

from django.urls import path

from curation import review_views, views

urlpatterns = [
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
    path("my-work/", review_views.my_work, name="my-work"),
    path("my-work/<int:pk>/", review_views.my_review, name="my-review"),
]
