"""The review queue: take an item, keep it, fill it in, decide; or skip it, flag it, put it back, undo.

next or claim ─► heartbeat … draft … ─► decide ─► next
                     │ 409 lease_expired: claim it again, the draft is kept
"""

from __future__ import annotations

from typing import Any

from drf_spectacular.utils import extend_schema
from rest_framework import status
from rest_framework.request import Request
from rest_framework.response import Response

from curation import review
from curation.api import review_serializers as shapes
from curation.api.base import ApiView
from curation.api.permissions import ANNOTATING
from curation.api.problems import ConflictError
from curation.api.serializers import FlagSerializer, ReviewSerializer
from curation.api.visibility import known_item
from curation.models import Reconstruction, ReviewSlot

NOT_YOURS = "This item is not yours any more: the lease has run out, or it is decided. Nothing is stored."


class QueueView(ApiView):
    allowed_roles = ANNOTATING

    def item(self, pk: int) -> Reconstruction:
        """Raises Http404 for one that the person may not know of."""
        return known_item(self.person, pk)

    def queue(self) -> Any:
        return shapes.queue_as_json(review.queue_state(reviewer=self.person))


class Queue(QueueView):
    @extend_schema(responses=shapes.QueueSerializer)
    def get(self, request: Request) -> Response:
        """How much is left for you, what others hold, and what an undo would take back."""
        last = review.last_action(reviewer=self.person)
        return Response(
            {
                "queue": self.queue(),
                "last_action": shapes.LastActionSerializer(last).data if last else None,
            }
        )


class NextItem(QueueView):
    @extend_schema(request=None, responses=shapes.NextItemSerializer)
    def post(self, request: Request) -> Response:
        """Takes the next free item, or gives back the one that you hold."""
        slot = review.claim_next(reviewer=self.person)
        return Response({"item": shapes.item_in_hand(slot) if slot else None, "queue": self.queue()})


class Claim(QueueView):
    @extend_schema(request=None, responses=shapes.ItemInHandSerializer)
    def post(self, request: Request, pk: int) -> Response:
        """Takes this item, or keeps it. 409 with `until` while others hold it."""
        slot: ReviewSlot = review.claim(reviewer=self.person, reconstruction_id=self.item(pk).pk)
        return Response(shapes.item_in_hand(slot))


class Heartbeat(QueueView):
    @extend_schema(request=None, responses=shapes.LeaseSerializer)
    def post(self, request: Request, pk: int) -> Response:
        """Keeps the item for another lease's length; 409 when it is not yours any more."""
        until = review.renew_lease(reviewer=self.person, reconstruction_id=self.item(pk).pk)
        if until is None:
            raise ConflictError(NOT_YOURS, "lease_expired")
        return Response({"lease_expires_at": until})


class Draft(QueueView):
    serializer_class = shapes.DraftInputSerializer

    @extend_schema(request=None, responses=shapes.DraftSerializer)
    def get(self, request: Request, pk: int) -> Response:
        """What you have filled in so far; 404 when that is nothing."""
        draft = review.draft_of(reviewer=self.person, reconstruction_id=self.item(pk).pk)
        if draft is None:
            return Response(
                {"detail": "You have no draft on this item.", "code": "not_found"},
                status=status.HTTP_404_NOT_FOUND,
            )
        return Response(shapes.DraftSerializer(draft).data)

    @extend_schema(responses=shapes.SavedSerializer)
    def put(self, request: Request, pk: int) -> Response:
        """Keeps what is filled in, in place of what was kept before; checks may be left out."""
        item, given = self.item(pk), self.read()
        saved_at = review.save_draft(
            reviewer=self.person,
            reconstruction_id=item.pk,
            content=shapes.content_of(shapes.verdicts_of(given["verdicts"], lambda: item)),
            seconds=given.get("seconds", 0),
        )
        if saved_at is None:
            raise ConflictError(NOT_YOURS, "not_waiting")
        return Response({"saved_at": saved_at})


class Decide(QueueView):
    serializer_class = shapes.DecisionSerializer

    @extend_schema(responses=ReviewSerializer)
    def post(self, request: Request, pk: int) -> Response:
        """Stores your review. The same submission again answers as the first time did."""
        given = self.read()
        verdicts = shapes.verdicts_of(given["verdicts"], lambda: self.item(pk))
        try:
            made = review.decide(
                reviewer=self.person,
                reconstruction_id=pk,
                decision=given["decision"],
                verdicts=verdicts,
                seconds=given.get("seconds"),
            )
        except (Reconstruction.DoesNotExist, review.NotWaitingError):
            self.item(pk)
            raise
        return Response(shapes.stored_review(made, verdicts))


class Skip(QueueView):
    @extend_schema(request=None, responses={204: None})
    def post(self, request: Request, pk: int) -> Response:
        """Puts the item back; it comes again, to you, after all others."""
        review.skip(reviewer=self.person, reconstruction_id=self.item(pk).pk)
        return Response(status=status.HTTP_204_NO_CONTENT)


class Release(QueueView):
    @extend_schema(request=None, responses={204: None})
    def post(self, request: Request, pk: int) -> Response:
        """Puts the item back into the queue at once; your draft is kept."""
        review.release(reviewer=self.person, reconstruction_id=self.item(pk).pk)
        return Response(status=status.HTTP_204_NO_CONTENT)


class Flag(QueueView):
    serializer_class = shapes.ReasonSerializer

    @extend_schema(responses={201: FlagSerializer})
    def post(self, request: Request, pk: int) -> Response:
        """Puts an item that you hold aside for a researcher, with the reason."""
        made = review.flag(
            reviewer=self.person, reconstruction_id=self.item(pk).pk, reason=self.read()["reason"]
        )
        return Response(FlagSerializer(made).data, status=status.HTTP_201_CREATED)


class Undo(QueueView):
    @extend_schema(request=None, responses=shapes.LastActionSerializer)
    def post(self, request: Request) -> Response:
        """Takes back your last decision, skip or flag: the item is yours again, with what you gave."""
        return Response(shapes.LastActionSerializer(review.undo(reviewer=self.person)).data)
