"""What helps to judge an item: guidelines, lengths and trail, the difference, hints, one's own progress.

Hints on a check are told only to who has stored a verdict on it.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict
from typing import Any
from zoneinfo import ZoneInfo

from django.utils import timezone
from drf_spectacular.utils import OpenApiExample, extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from curation.api.base import RoleView
from curation.api.permissions import ANNOTATING
from curation.api.visibility import item_to_read
from curation.difference import Run, difference
from curation.guidelines import GUIDELINES
from curation.hints import Hint
from curation.models import CheckVerdict, Reconstruction
from curation.review import draft_of
from curation.review_page import hints_for
from curation.reviewer_progress import progress_of


class GuidelineSerializer(serializers.Serializer[Any]):
    """One check with its definition, what passes and what fails, and an example of each."""

    check: Any = serializers.CharField()
    label: Any = serializers.CharField()
    definition = serializers.CharField()
    passes = serializers.CharField()
    fails = serializers.CharField()
    passing_example = serializers.CharField()
    failing_example = serializers.CharField()


class Guidelines(RoleView):
    allowed_roles = ANNOTATING

    @extend_schema(responses=GuidelineSerializer(many=True))
    def get(self, request: Request) -> Response:
        """The five checks in their order, as the guidelines panel has them."""
        rows = [
            {"check": name, "label": str(label), **asdict(GUIDELINES[name])}
            for name, label in CheckVerdict.Check.choices
        ]
        return Response(rows)


class ZoneSerializer(serializers.Serializer[Any]):
    timezone = serializers.CharField(required=False, help_text="When your day begins, like 'Europe/Berlin'")

    def validate_timezone(self, name: str) -> ZoneInfo:
        try:
            return ZoneInfo(name)
        except (ValueError, OSError, KeyError):
            raise serializers.ValidationError("There is no such time zone.") from None


class ProgressSerializer(serializers.Serializer[Any]):
    """Your standing reviews, and the median time of the latest; null until one has a time."""

    today = serializers.IntegerField()
    in_all = serializers.IntegerField()
    seconds_per_item = serializers.FloatField(allow_null=True)


class Progress(RoleView):
    allowed_roles = ANNOTATING

    @extend_schema(parameters=[ZoneSerializer], responses=ProgressSerializer)
    def get(self, request: Request) -> Response:
        """How many items you have done, and how long one takes you."""
        given = ZoneSerializer(data=request.query_params)
        given.is_valid(raise_exception=True)
        zone = given.validated_data.get("timezone") or timezone.get_default_timezone()
        return Response(asdict(progress_of(self.person, zone)))


class TrailEntrySerializer(serializers.Serializer[Any]):
    """One draft on the way; `ratio` is its characters over those of the source."""

    number = serializers.IntegerField()
    kind = serializers.CharField()
    characters = serializers.IntegerField()
    segments = serializers.IntegerField()
    ratio = serializers.FloatField(allow_null=True)
    text = serializers.CharField()


class ItemToReadSerializer(serializers.Serializer[Any]):
    """Both texts with their lengths, and how the reconstruction came about. `segments` are counted by
    `length_policy`; `ratio` is in characters, null without a length of the source."""

    reconstruction = serializers.IntegerField()
    source_text = serializers.CharField()
    source_language = serializers.CharField()
    source_characters = serializers.IntegerField()
    source_segments = serializers.IntegerField()
    text = serializers.CharField()
    language = serializers.CharField()
    characters = serializers.IntegerField()
    segments = serializers.IntegerField()
    ratio = serializers.FloatField(allow_null=True)
    length_policy = serializers.CharField()
    trail = TrailEntrySerializer(many=True)


class ReadingView(RoleView):
    allowed_roles = ANNOTATING

    def item(self, pk: int) -> Reconstruction:
        """Raises Http404 for one whose texts are not the person's to read now."""
        return item_to_read(self.person, pk)


class ItemToRead(ReadingView):
    @extend_schema(operation_id="queue_item_retrieve", responses=ItemToReadSerializer)
    def get(self, request: Request, pk: int) -> Response:
        """An item that you hold or have reviewed, with lengths, their ratio, and the trail of its drafts."""
        item = self.item(pk)
        source = item.source_prompt
        drafts = item.drafts.order_by("number").values("number", "kind", "characters", "segments", "text")
        return Response(
            {
                "reconstruction": item.pk,
                "source_text": source.text,
                "source_language": source.language,
                "source_characters": source.characters,
                "source_segments": source.segments,
                "text": item.text,
                "language": item.language,
                "characters": item.characters,
                "segments": item.segments,
                "ratio": _ratio(item.characters, source.characters),
                "length_policy": item.length_policy,
                "trail": [
                    {**draft, "ratio": _ratio(draft["characters"], source.characters)} for draft in drafts
                ],
            }
        )


def _ratio(characters: int, of: int) -> float | None:
    return characters / of if of else None


class RunOfTextSerializer(serializers.Serializer[Any]):
    text = serializers.CharField()
    changed = serializers.BooleanField()


class DifferenceOfTextsSerializer(serializers.Serializer[Any]):
    """Each text as stretches that join to it exactly; `changed` ones the other text does not have."""

    source: Any = RunOfTextSerializer(many=True)
    reconstruction = RunOfTextSerializer(many=True)


class DifferenceOfTexts(ReadingView):
    @extend_schema(responses=DifferenceOfTextsSerializer)
    def get(self, request: Request, pk: int) -> Response:
        """What differs between the two texts: by word, or by character where a script has no spaces."""
        item = self.item(pk)
        found = difference(item.source_prompt.text, item.text)
        return Response({"source": _runs(found.source), "reconstruction": _runs(found.reconstruction)})


def _runs(runs: Iterable[Run]) -> list[dict[str, Any]]:
    return [{"text": text, "changed": changed} for text, changed in runs]


class HintPassageSerializer(serializers.Serializer[Any]):
    side = serializers.ChoiceField(["source", "reconstruction"])
    start = serializers.IntegerField()
    end = serializers.IntegerField()
    text = serializers.CharField()


class HintSerializer(serializers.Serializer[Any]):
    sentence = serializers.CharField()
    passage = HintPassageSerializer(allow_null=True)


class HintsSerializer(serializers.Serializer[Any]):
    """By check; one on which your draft has no verdict is left out."""

    hints = serializers.DictField(child=HintSerializer(many=True))


class Hints(ReadingView):
    @extend_schema(
        responses=HintsSerializer,
        examples=[
            OpenApiExample(
                "After a verdict on one check",
                {
                    "hints": {
                        "task_clarity": [
                            {
                                "sentence": "It begins like a reply: 'Sure!'",
                                "passage": {
                                    "side": "reconstruction",
                                    "start": 0,
                                    "end": 5,
                                    "text": "Sure!",
                                },
                            }
                        ]
                    }
                },
                response_only=True,
            )
        ],
    )
    def get(self, request: Request, pk: int) -> Response:
        """What the program noticed on the checks that your stored draft has a verdict on, and on no other."""
        item = self.item(pk)
        found = hints_for(item, draft_of(reviewer=self.person, reconstruction_id=pk))
        shown = {
            check: [_hint(hint, item) for hint in found[check]]
            for check in CheckVerdict.Check.values
            if check in found
        }
        return Response({"hints": shown})


def _hint(hint: Hint, item: Reconstruction) -> dict[str, Any]:
    if hint.passage is None:
        return {"sentence": hint.sentence, "passage": None}
    text = item.source_prompt.text if hint.passage.side == "source" else item.text
    quoted = text[hint.passage.start : hint.passage.end]
    return {"sentence": hint.sentence, "passage": {**asdict(hint.passage), "text": quoted}}
