"""The rows of the curation room as JSON."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers
from rest_framework.reverse import reverse

from curation.models import (
    CheckVerdict,
    CorpusPrompt,
    CurationPolicy,
    ExportFile,
    Reconstruction,
    ReconstructionDraft,
    Review,
    ReviewFlag,
    ScreeningMatch,
    ScreeningSample,
    Source,
    SourcePrompt,
)
from curation.policy import SETTINGS
from curation.repetition import problems_of_limits
from llm.models import Run


def person() -> serializers.SlugRelatedField[Any]:
    """A person by user name, read only."""
    return serializers.SlugRelatedField(read_only=True, slug_field="username")


class SourceSerializer(serializers.ModelSerializer[Source]):
    imported_by = person()

    class Meta:
        model = Source
        fields: tuple[str, ...] = ("id", "name", "file_name", "imported_by", "imported_at", "report")


class SourcePromptSerializer(serializers.ModelSerializer[SourcePrompt]):
    source_name = serializers.CharField(source="source.name", read_only=True)

    class Meta:
        model = SourcePrompt
        fields: tuple[str, ...] = (
            *("id", "source", "source_name", "line", "external_id", "language", "characters", "segments"),
            *("length_policy", "excluded_because", "duplicate_of", "similarity", "created_at", "text"),
        )


class EarlierPromptSerializer(serializers.ModelSerializer[SourcePrompt]):
    source_name = serializers.CharField(source="source.name", read_only=True)

    class Meta:
        model = SourcePrompt
        fields: tuple[str, ...] = ("id", "source", "source_name", "line", "text")


class NearDuplicateSerializer(serializers.ModelSerializer[SourcePrompt]):
    """`similarity` is the Jaccard similarity of the two texts' shingles; without `excluded_because` the
    prompt is only marked."""

    source_name = serializers.CharField(source="source.name", read_only=True)
    duplicate_of = EarlierPromptSerializer(read_only=True)

    class Meta:
        model = SourcePrompt
        fields: tuple[str, ...] = (
            *("id", "source", "source_name", "line", "text", "similarity", "excluded_because"),
            "duplicate_of",
        )


class EvidenceSerializer(serializers.Serializer[Any]):
    """A passage of one of the two texts; `start` and `end` count its characters (code points)."""

    side = serializers.ChoiceField(["source", "reconstruction"])
    start = serializers.IntegerField(min_value=0)
    end = serializers.IntegerField(min_value=1)
    text = serializers.CharField(trim_whitespace=False)


class VerdictSerializer(serializers.ModelSerializer[CheckVerdict]):
    evidence = EvidenceSerializer(allow_null=True)

    class Meta:
        model = CheckVerdict
        fields: tuple[str, ...] = ("verdict", "note", "evidence")


class ReviewSerializer(serializers.ModelSerializer[Review]):
    """`checks` has all five verdicts by the name of their check."""

    reviewer = person()
    checks = serializers.SerializerMethodField()

    class Meta:
        model = Review
        fields: tuple[str, ...] = (
            *("id", "reconstruction", "reviewer", "decision", "automatic", "adjudication", "opened_at"),
            *("seconds", "created_at", "checks"),
        )

    @extend_schema_field(serializers.DictField(child=VerdictSerializer()))
    def get_checks(self, review: Review) -> Mapping[str, Any]:
        return {
            given.check_name: {"verdict": given.verdict, "note": given.note, "evidence": given.evidence}
            for given in review.verdicts.all()
        }


class ReviewDetailSerializer(ReviewSerializer):
    """With both texts as they were read."""

    source_text = serializers.CharField(source="reconstruction.source_prompt.text", read_only=True)
    text = serializers.CharField(source="reconstruction.text", read_only=True)

    class Meta(ReviewSerializer.Meta):
        fields: tuple[str, ...] = (*ReviewSerializer.Meta.fields, "source_text", "text")


class ReconstructionSerializer(serializers.ModelSerializer[Reconstruction]):
    """`agreement` is null while somebody may still have to review the item blind."""

    source: Any = serializers.IntegerField(source="source_prompt.source_id", read_only=True)
    agreement = serializers.FloatField(source="shown_agreement", read_only=True, allow_null=True)

    class Meta:
        model = Reconstruction
        fields: tuple[str, ...] = (
            *("id", "source_prompt", "source", "index", "strategy", "state", "state_reason", "language"),
            *("characters", "segments", "length_policy", "imported", "overlap", "screened_with"),
            *("wanted_reviews", "agreement", "created_at", "text"),
        )


class DraftOfReconstructionSerializer(serializers.ModelSerializer[ReconstructionDraft]):
    class Meta:
        model = ReconstructionDraft
        fields: tuple[str, ...] = ("number", "kind", "characters", "segments", "completion", "text")


class ScreeningMatchSerializer(serializers.ModelSerializer[ScreeningMatch]):
    """The sample that a reconstruction shares most with; `overlap` is its share of the sample's trigrams."""

    benchmark = serializers.CharField(source="sample.benchmark", read_only=True)
    external_id = serializers.CharField(source="sample.external_id", read_only=True)
    overlap = serializers.FloatField(source="reconstruction.overlap", read_only=True, allow_null=True)

    class Meta:
        model = ScreeningMatch
        fields: tuple[str, ...] = (
            *("id", "reconstruction", "sample", "benchmark", "external_id", "shared", "total", "overlap"),
            "tokenizer",
        )


class FlagSerializer(serializers.ModelSerializer[ReviewFlag]):
    reviewer = person()
    resolved_by = person()

    class Meta:
        model = ReviewFlag
        fields: tuple[str, ...] = (
            *("id", "reconstruction", "reviewer", "reason", "created_at", "resolved_at", "resolved_by"),
            "resolution",
        )


class ReconstructionDetailSerializer(ReconstructionSerializer):
    """With its source, the trail of its enrichments, and what was found out and decided about it.
    `corpus_prompt` is null while somebody may still have to review the item blind."""

    source_text = serializers.CharField(source="source_prompt.text", read_only=True)
    corpus_prompt = serializers.IntegerField(source="shown_corpus_prompt", read_only=True, allow_null=True)
    drafts = DraftOfReconstructionSerializer(many=True, read_only=True)
    match = ScreeningMatchSerializer(read_only=True, allow_null=True)
    flags = FlagSerializer(many=True, read_only=True)
    reviews = ReviewSerializer(source="visible_reviews", many=True, read_only=True)

    class Meta(ReconstructionSerializer.Meta):
        fields: tuple[str, ...] = (
            *ReconstructionSerializer.Meta.fields,
            *("source_text", "repetition", "corpus_prompt", "drafts", "match", "flags", "reviews"),
        )


class CorpusPromptSerializer(serializers.ModelSerializer[CorpusPrompt]):
    class Meta:
        model = CorpusPrompt
        fields: tuple[str, ...] = (
            *("id", "reconstruction", "language", "excluded_because", "withdrawn_at", "created_at", "text"),
        )


class ScreeningSampleSerializer(serializers.ModelSerializer[ScreeningSample]):
    class Meta:
        model = ScreeningSample
        fields: tuple[str, ...] = ("id", "benchmark", "external_id", "digest", "text")


class DifferenceSerializer(serializers.Serializer[Any]):
    name = serializers.CharField()
    before = serializers.JSONField()
    after = serializers.JSONField()


class HistoryEntrySerializer(serializers.Serializer[Any]):
    """One change. `hidden` says that what was decided is kept from readers until the item is settled."""

    id = serializers.IntegerField(source="pk")
    at = serializers.DateTimeField()
    actor = serializers.CharField()
    action = serializers.CharField()
    kind = serializers.CharField()
    object = serializers.IntegerField(source="subject_id")
    differences = DifferenceSerializer(many=True)
    reason = serializers.CharField()
    hidden = serializers.BooleanField()


class RunSerializer(serializers.ModelSerializer[Run]):
    """A run as a list shows it; the address of its endpoint is told nowhere here."""

    endpoint: Any = serializers.SlugRelatedField(read_only=True, slug_field="name")
    created_by = person()

    class Meta:
        model = Run
        fields: tuple[str, ...] = (
            *("id", "kind", "state", "notice", "endpoint", "parallelism", "created_by", "created_at"),
            *("started_at", "finished_at", "total", "calls", "replayed", "prompt_tokens"),
            "completion_tokens",
        )


class FailureSerializer(serializers.Serializer[Any]):
    kind = serializers.CharField()
    count = serializers.IntegerField()
    example = serializers.CharField(source="example.error_message")


class RunProgressSerializer(serializers.Serializer[Any]):
    """`total` = `done` + `failed` + `leased` + `pending`; rates are per second, null while unknown."""

    total = serializers.IntegerField()
    done = serializers.IntegerField()
    failed = serializers.IntegerField()
    leased = serializers.IntegerField()
    pending = serializers.IntegerField()
    items_rate = serializers.FloatField(allow_null=True)
    calls_rate = serializers.FloatField(allow_null=True)
    in_flight = serializers.IntegerField()
    expected_end = serializers.DateTimeField(allow_null=True)


class RunDetailSerializer(RunSerializer):
    progress = RunProgressSerializer(read_only=True)
    failures = FailureSerializer(many=True, read_only=True)

    class Meta(RunSerializer.Meta):
        fields: tuple[str, ...] = (*RunSerializer.Meta.fields, "parameters", "progress", "failures")


class PolicySerializer(serializers.ModelSerializer[CurationPolicy]):
    reason = serializers.CharField(
        write_only=True, required=False, allow_blank=True, max_length=1_000, help_text="Stays in the history"
    )

    class Meta:
        model = CurationPolicy
        fields: tuple[str, ...] = (*SETTINGS, "updated_at", "reason")
        read_only_fields = ("updated_at",)

    def validate_repetition_limits(self, limits: Any) -> Any:
        if not isinstance(limits, dict):
            raise serializers.ValidationError("Give an object of limits by name, {} for none.")
        if problems := problems_of_limits(limits):
            raise serializers.ValidationError(problems)
        return limits


class ExportSerializer(serializers.ModelSerializer[ExportFile]):
    """`rows` and `bytes` grow while it is written; `download` is there once it is."""

    created_by = person()
    filters = serializers.DictField(source="options.filters", child=serializers.CharField(), read_only=True)
    texts = serializers.BooleanField(source="options.texts", read_only=True)
    download = serializers.SerializerMethodField()

    class Meta:
        model = ExportFile
        fields: tuple[str, ...] = (
            *("id", "kind", "format", "filters", "texts", "state", "rows", "bytes", "sha256", "error", "run"),
            *("created_by", "created_at", "finished_at", "download"),
        )

    @extend_schema_field(serializers.URLField(allow_null=True))
    def get_download(self, export: ExportFile) -> str | None:
        if export.state != ExportFile.State.DONE:
            return None
        return reverse("api-export-file", args=[export.pk], request=self.context["request"])
