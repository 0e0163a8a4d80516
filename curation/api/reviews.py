"""Reviews that are in, and what researchers do with them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django.db.models import QuerySet
from django.shortcuts import get_object_or_404
from drf_spectacular.utils import extend_schema
from rest_framework import status
from rest_framework.request import Request
from rest_framework.response import Response

from curation import review
from curation.api import review_serializers as shapes
from curation.api.base import ApiView, DetailView, ListView
from curation.api.pagination import NewestFirst
from curation.api.permissions import ANNOTATING, is_researcher
from curation.api.serializers import (
    FlagSerializer,
    ReconstructionSerializer,
    ReviewDetailSerializer,
    ReviewSerializer,
)
from curation.api.visibility import known_items, known_reviews
from curation.export_lineage import touched_by_items
from curation.export_rows import shown_agreement
from curation.models import CorpusPrompt, Reconstruction, Review, ReviewFlag
from curation.narrowing import own_review_filters, review_filters
from curation.selectors import BLIND
from llm.listing import AnyFilter, equals, narrow_by


class ReviewList(ListView):
    """The standing reviews that you may read, newest first: your own; for researchers also those of items
    that are settled or disputed."""

    allowed_roles = ANNOTATING
    queryset = Review.objects.none()
    serializer_class = ReviewSerializer
    pagination_class = NewestFirst

    def get_queryset(self) -> QuerySet[Review]:
        return known_reviews(self.person)

    def filters(self) -> Sequence[AnyFilter]:
        return review_filters() if is_researcher(self.request) else own_review_filters()


class ReviewDetail(DetailView):
    allowed_roles = ANNOTATING
    queryset = Review.objects.none()
    serializer_class = ReviewDetailSerializer

    def get_queryset(self) -> QuerySet[Review]:
        return known_reviews(self.person).select_related("reconstruction__source_prompt")


class Withdraw(ApiView):
    serializer_class = shapes.ReasonSerializer

    @extend_schema(responses=shapes.WithdrawalSerializer)
    def get(self, request: Request, pk: int) -> Response:
        """What a withdrawal would touch. Nothing is withdrawn."""
        made = self._review(pk)
        return Response(_withdrawal(made, knows=made.reconstruction.state not in BLIND))

    @extend_schema(responses=shapes.WithdrawalSerializer)
    def post(self, request: Request, pk: int) -> Response:
        """Takes a review back for good: its item goes back into review, its corpus prompt is withdrawn. The
        answer lists what that touches; what holds the corpus prompt already keeps it."""
        made = self._review(pk)
        review.withdraw(review_id=made.pk, by=self.person, reason=self.read()["reason"])
        made.reconstruction.refresh_from_db(fields=["state"])
        return Response(_withdrawal(made, knows=True))

    def _review(self, pk: int) -> Review:
        return get_object_or_404(known_reviews(self.person).select_related("reconstruction"), pk=pk)


def _withdrawal(made: Review, *, knows: bool) -> dict[str, Any]:
    """That there is a corpus prompt tells that the item was accepted: to who `knows` of that."""
    item = made.reconstruction
    others = item.reviews.filter(withdrawn_at__isnull=True).exclude(pk=made.pk)
    prompt = CorpusPrompt.objects.filter(reconstruction=item).values_list("pk", flat=True).first()
    return {
        "review": made.pk,
        "reconstruction": item.pk,
        "state": item.state,
        "others": others.count(),
        "corpus_prompt": prompt if knows else None,
        "touched": shapes.touched_as_json(touched_by_items([item.pk])) if knows else None,
    }


class AdjudicationList(ListView):
    """What waits for a researcher's decision: disputed items, and those put aside with a flag."""

    queryset = (
        Reconstruction.objects.filter(state__in=[Reconstruction.State.DISPUTED, Reconstruction.State.FLAGGED])
        .select_related("source_prompt")
        .defer("search", "source_prompt__search", "source_prompt__text")
        .annotate(shown_agreement=shown_agreement())
    )
    serializer_class = ReconstructionSerializer

    def filters(self) -> Sequence[AnyFilter]:
        return (equals("state", "State", [("disputed", "disputed"), ("flagged", "flagged")]),)


class Adjudicate(ApiView):
    serializer_class = shapes.AdjudicationSerializer

    @extend_schema(responses=ReviewSerializer)
    def post(self, request: Request, pk: int) -> Response:
        """Settles a disputed or flagged item."""
        item, given = get_object_or_404(known_items(self.person), pk=pk), self.read()
        made = review.adjudicate(
            adjudicator=self.person,
            reconstruction_id=item.pk,
            decision=given["decision"],
            verdicts=shapes.verdicts_of(given["verdicts"], lambda: item),
            reason=given["reason"],
        )
        return Response(ReviewSerializer(made).data)


class FlagList(ListView):
    queryset = ReviewFlag.objects.select_related("reviewer", "resolved_by")
    serializer_class = FlagSerializer
    pagination_class = NewestFirst

    def filters(self) -> Sequence[AnyFilter]:
        ways: list[tuple[str, str, Any]] = [
            ("open", "open", lambda rows: rows.filter(resolved_at__isnull=True)),
            ("resolved", "resolved", lambda rows: rows.filter(resolved_at__isnull=False)),
        ]
        return (narrow_by("state", "State", ways),)


class ResolveFlag(ApiView):
    serializer_class = shapes.ResolutionSerializer

    @extend_schema(responses={204: None})
    def post(self, request: Request, pk: int) -> Response:
        """Puts a flagged reconstruction back where its reviews have brought it."""
        item = get_object_or_404(known_items(self.person), pk=pk)
        review.resolve_flag(by=self.person, reconstruction_id=item.pk, resolution=self.read()["resolution"])
        return Response(status=status.HTTP_204_NO_CONTENT)


class SecondReviews(ApiView):
    serializer_class = shapes.SecondReviewSerializer

    @extend_schema(responses=shapes.CountSerializer)
    def post(self, request: Request) -> Response:
        """Wants a second, blind review of items that wait for their only one; the others are left alone."""
        count = review.ask_for_second_review(
            reconstruction_ids=self.read()["reconstructions"], by=self.person
        )
        return Response({"count": count})
