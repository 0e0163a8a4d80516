"""The review room as JSON: what comes in, and what goes out."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict
from datetime import datetime
from typing import Any

from django.urls import reverse
from rest_framework import serializers

from curation.api.serializers import EvidenceSerializer
from curation.evidence import NotQuotedError, locate_evidence
from curation.lineage import Touched, TouchedGroup
from curation.models import Reconstruction, Review, ReviewDraft, ReviewSlot
from curation.review import QueueState, VerdictInput
from curation.review.drafts import LONGEST_SECONDS
from curation.review.terms import LONGEST_NOTE


class PassageSerializer(serializers.Serializer[Any]):
    """A quoted passage. Without a place it is looked for in the texts, the reconstruction first."""

    side = serializers.ChoiceField(["source", "reconstruction"], required=False)
    start = serializers.IntegerField(min_value=0, required=False)
    end = serializers.IntegerField(min_value=1, required=False)
    text = serializers.CharField(trim_whitespace=False, max_length=LONGEST_NOTE)


class VerdictInputSerializer(serializers.Serializer[Any]):
    verdict = serializers.CharField(allow_blank=True, default="", help_text="pass, fail or unsure")
    note = serializers.CharField(allow_blank=True, default="", trim_whitespace=False, max_length=LONGEST_NOTE)
    evidence = PassageSerializer(allow_null=True, default=None)


class SecondsSerializer(serializers.Serializer[Any]):
    seconds = serializers.FloatField(
        min_value=0,
        max_value=LONGEST_SECONDS,
        required=False,
        help_text="Time with the item in view, so far",
    )

    def validate_seconds(self, seconds: float) -> float:
        if not math.isfinite(seconds):
            raise serializers.ValidationError("Give a finite number.")
        return seconds


class DraftInputSerializer(SecondsSerializer):
    verdicts = serializers.DictField(child=VerdictInputSerializer())


class DecisionSerializer(DraftInputSerializer):
    """A review as it is submitted: every check with its verdict. `verdicts` is keyed by the check's name."""

    decision = serializers.CharField(help_text="accept or reject")


class AdjudicationSerializer(serializers.Serializer[Any]):
    decision = serializers.CharField(help_text="accept or reject")
    verdicts = serializers.DictField(child=VerdictInputSerializer())
    reason = serializers.CharField()


class ReasonSerializer(serializers.Serializer[Any]):
    reason = serializers.CharField(max_length=LONGEST_NOTE)


class ResolutionSerializer(serializers.Serializer[Any]):
    resolution = serializers.CharField(max_length=LONGEST_NOTE)


class SecondReviewSerializer(serializers.Serializer[Any]):
    reconstructions = serializers.ListField(
        child=serializers.IntegerField(min_value=1), min_length=1, max_length=10_000
    )


class CountSerializer(serializers.Serializer[Any]):
    count = serializers.IntegerField()


class TouchedSerializer(serializers.Serializer[Any]):
    """One thing that holds, or was made of, the item. `page` is its page's address, null without one."""

    kind = serializers.CharField()
    label: Any = serializers.CharField()
    id = serializers.IntegerField(allow_null=True)
    note = serializers.CharField()
    page = serializers.CharField(allow_null=True)


class TouchedGroupSerializer(serializers.Serializer[Any]):
    """A group without anything says that it was looked for."""

    label: Any = serializers.CharField()
    found = TouchedSerializer(many=True)


class WithdrawalSerializer(serializers.Serializer[Any]):
    """A review, the state of its item, and what that touches further down the way. `touched` is null for who
    may not know yet whether the item was accepted before."""

    review = serializers.IntegerField()
    reconstruction = serializers.IntegerField()
    state = serializers.CharField()
    others = serializers.IntegerField(help_text="Other standing reviews of the item")
    corpus_prompt = serializers.IntegerField(allow_null=True)
    touched = TouchedGroupSerializer(many=True, allow_null=True)


def touched_as_json(groups: Iterable[TouchedGroup]) -> list[dict[str, Any]]:
    return [{"label": group.label, "found": [_touched(each) for each in group.found]} for group in groups]


def _touched(each: Touched) -> dict[str, Any]:
    page = reverse(each.url_name, args=[each.pk]) if each.url_name else None
    return {
        "kind": each.kind,
        "label": each.label,
        "id": each.pk or None,
        "note": each.note,
        "page": page,
    }


def verdicts_of(
    given: Mapping[str, Mapping[str, Any]], item: Callable[[], Reconstruction]
) -> dict[str, VerdictInput]:
    """Checked input as the services take it, passages at their exact place. `item` is asked for its texts
    only if there are passages.

    Raises ValidationError for a passage that stands in neither text.
    """
    texts: dict[str, str] = {}
    verdicts, problems = {}, {}
    for check, entry in given.items():
        passage = dict(entry["evidence"] or {"text": ""})
        if passage["text"] and not texts:
            read = item()
            texts = {"source": read.source_prompt.text, "reconstruction": read.text}
        try:
            evidence = locate_evidence(passage.pop("text"), texts, **passage)
        except NotQuotedError as error:
            problems[check] = {"evidence": [str(error)]}
            continue
        verdicts[check] = VerdictInput(entry["verdict"], entry["note"], evidence)
    if problems:
        raise serializers.ValidationError({"verdicts": problems})
    return verdicts


def content_of(verdicts: Mapping[str, VerdictInput]) -> dict[str, dict[str, Any]]:
    """The same as a draft's content."""
    return {
        check: {
            "verdict": given.verdict,
            "note": given.note,
            "evidence": given.evidence.as_json() if given.evidence else None,
        }
        for check, given in verdicts.items()
    }


class DraftEntrySerializer(serializers.Serializer[Any]):
    verdict = serializers.CharField(allow_blank=True)
    note = serializers.CharField(allow_blank=True)
    evidence = EvidenceSerializer(allow_null=True)


class DraftSerializer(serializers.ModelSerializer[ReviewDraft]):
    """What is filled in so far, by check; what is empty is left out."""

    verdicts = serializers.DictField(source="content", child=DraftEntrySerializer(), read_only=True)

    class Meta:
        model = ReviewDraft
        fields = ("verdicts", "seconds", "saved_at")


class SavedSerializer(serializers.Serializer[Any]):
    saved_at = serializers.DateTimeField()


class LeaseSerializer(serializers.Serializer[Any]):
    lease_expires_at = serializers.DateTimeField()


class ItemInHandSerializer(serializers.ModelSerializer[ReviewSlot]):
    """An item that you hold: both texts, and until when it is yours without a heartbeat."""

    source_text = serializers.CharField(source="reconstruction.source_prompt.text")
    source_language = serializers.CharField(source="reconstruction.source_prompt.language")
    text = serializers.CharField(source="reconstruction.text")
    language = serializers.CharField(source="reconstruction.language")

    class Meta:
        model = ReviewSlot
        fields = (
            *("reconstruction", "source_text", "source_language", "text", "language", "held_since"),
            "lease_expires_at",
        )


def item_in_hand(slot: ReviewSlot) -> dict[str, Any]:
    """What ItemInHandSerializer gives, in a tenth of its time."""
    item = slot.reconstruction
    return {
        "reconstruction": item.pk,
        "source_text": item.source_prompt.text,
        "source_language": item.source_prompt.language,
        "text": item.text,
        "language": item.language,
        "held_since": _moment(slot.held_since),
        "lease_expires_at": _moment(slot.lease_expires_at),
    }


def stored_review(review: Review, verdicts: Mapping[str, VerdictInput]) -> dict[str, Any]:
    """What ReviewSerializer gives for a review with these verdicts, in a tenth of its time."""
    return {
        "id": review.pk,
        "reconstruction": review.reconstruction_id,
        "reviewer": review.reviewer.get_username(),
        "decision": review.decision,
        "automatic": review.automatic,
        "adjudication": review.adjudication,
        "opened_at": _moment(review.opened_at),
        "seconds": review.seconds,
        "created_at": _moment(review.created_at),
        "checks": content_of(verdicts),
    }


def _moment(at: datetime | None) -> str | None:
    return at.isoformat().replace("+00:00", "Z") if at else None


class LeftForOthersSerializer(serializers.Serializer[Any]):
    """Items that are not settled, but of which nothing is left to do for you; looked up only when nothing is
    waiting."""

    second_reviews = serializers.IntegerField()
    flags = serializers.IntegerField()
    disagreements = serializers.IntegerField()


class QueueStateSerializer(serializers.Serializer[Any]):
    """`waiting` is exact up to 200; with `many` there are more."""

    waiting = serializers.IntegerField()
    many: Any = serializers.BooleanField()
    held_by_others = serializers.IntegerField()
    held_until = serializers.DateTimeField(allow_null=True)
    for_others = LeftForOthersSerializer()


def queue_as_json(state: QueueState) -> dict[str, Any]:
    """What QueueStateSerializer gives, in a tenth of its time."""
    return {**asdict(state), "held_until": _moment(state.held_until)}


class LastActionSerializer(serializers.Serializer[Any]):
    """What an undo would take back."""

    kind = serializers.ChoiceField(["accept", "reject", "skip", "flag"])
    reconstruction = serializers.IntegerField(source="reconstruction_id")
    at = serializers.DateTimeField()


class QueueSerializer(serializers.Serializer[Any]):
    queue = QueueStateSerializer()
    last_action = LastActionSerializer(allow_null=True)


class NextItemSerializer(serializers.Serializer[Any]):
    """`item` is null when nothing is free for you; `queue` says whether others hold something."""

    item = ItemInHandSerializer(allow_null=True)
    queue = QueueStateSerializer()
