"""Addresses of the researcher's side of review."""

from django.urls import path

from curation import adjudication_views, bulk_views, history_views, policy_views, quality_views

urlpatterns = [
    path("quality/", quality_views.quality, name="quality"),
    path("adjudication/", adjudication_views.adjudication, name="adjudication"),
    path("adjudication/<int:pk>/", adjudication_views.adjudication_item, name="adjudication-item"),
    path("flags/", adjudication_views.flags, name="flags"),
    path("flags/<int:pk>/put-back/", adjudication_views.flag_put_back, name="flag-put-back"),
    path("reviews/<int:pk>/withdraw/", adjudication_views.review_withdraw, name="review-withdraw"),
    path("bulk/<slug:action>/", bulk_views.bulk, name="bulk"),
    path("history/", history_views.history, name="history"),
    path("settings/curation/", policy_views.policy, name="policy"),
]
