"""What a person may know of: the blindness of the review room, for lists that join what pages show apart."""

from __future__ import annotations

from contextlib import suppress

from django.contrib.auth.models import User
from django.db.models import Exists, OuterRef, QuerySet
from django.http import Http404

from curation.models import Reconstruction, Review, ReviewDraft, ReviewSlot
from curation.narrowing import settled_reviews
from curation.review.texts import item_with_source
from llm import sql
from llm.access import Role, roles_of

OPENED = "SELECT FROM curation_reviewslot WHERE reconstruction_id = %(item)s LIMIT 1"


def known_items(person: User) -> QuerySet[Reconstruction]:
    """Researchers know every reconstruction, others those that have been opened for review."""
    items = Reconstruction.objects.select_related("source_prompt").defer("search", "source_prompt__search")
    if Role.RESEARCHER in roles_of(person):
        return items
    return items.filter(Exists(ReviewSlot.objects.filter(reconstruction=OuterRef("pk"))))


def known_item(person: User, pk: int) -> Reconstruction:
    """The same for one, with its source. Raises Http404."""
    if Role.RESEARCHER in roles_of(person) or sql.fetch(OPENED, {"item": pk}):
        with suppress(Reconstruction.DoesNotExist):
            return item_with_source(pk)
    raise Http404


def item_to_read(person: User, pk: int) -> Reconstruction:
    """An item whose texts a person may read now: who is no researcher holds it, or has a draft or a standing
    review of it. Raises Http404."""
    if Role.RESEARCHER not in roles_of(person):
        held = ReviewSlot.objects.filter(reconstruction=pk, holder=person)
        begun = ReviewDraft.objects.filter(reconstruction=pk, reviewer=person)
        given = Review.objects.filter(reconstruction=pk, reviewer=person, withdrawn_at__isnull=True)
        if not any(rows.exists() for rows in (held, begun, given)):
            raise Http404
    return known_item(person, pk)


def known_reviews(person: User) -> QuerySet[Review]:
    """The standing reviews that a person may read: their own; for researchers also those of items that nobody
    has to judge blind any more."""
    own = Review.objects.filter(withdrawn_at__isnull=True, reviewer=person)
    reviews = own | settled_reviews() if Role.RESEARCHER in roles_of(person) else own
    return reviews.select_related("reviewer").prefetch_related("verdicts")
