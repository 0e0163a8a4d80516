"""The screening report: how overlap is spread, and where a text and its nearest sample are the same."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from drf_spectacular.utils import OpenApiExample, extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from curation.api.base import DetailView, ListView, RoleView
from curation.api.serializers import ScreeningMatchSerializer, ScreeningSampleSerializer
from curation.models import Reconstruction, ScreeningMatch, ScreeningSample
from curation.passages import Span, shared_passages
from curation.screening_reads import encoder_of, screening_report, threshold
from llm.listing import AnyFilter, distinct_values, equals


class BinSerializer(serializers.Serializer[Any]):
    """Candidates with an overlap from `low` on and under `high`; the last bin has no end."""

    low = serializers.FloatField()
    high = serializers.FloatField(allow_null=True)
    count = serializers.IntegerField()


class ScreeningReportSerializer(serializers.Serializer[Any]):
    """`compared` = `without` (nothing shared) + the sum of the bins; `discarded` were left out for overlap.
    From `threshold` on an overlap discards, unless fewer trigrams are shared than the settings ask for."""

    compared = serializers.IntegerField()
    without = serializers.IntegerField()
    discarded = serializers.IntegerField()
    samples = serializers.IntegerField()
    threshold = serializers.FloatField()
    bins = BinSerializer(many=True)


class Screening(RoleView):
    @extend_schema(responses=ScreeningReportSerializer)
    def get(self, request: Request) -> Response:
        """How far the screened reconstructions overlap with the benchmark samples."""
        report: Any = screening_report()
        fields = ("compared", "without", "discarded", "samples", "bins")
        shown = {name: getattr(report, name) for name in fields} | {"threshold": threshold()}
        return Response(ScreeningReportSerializer(shown).data)


class ScreeningSampleList(ListView):
    queryset = ScreeningSample.objects.all()
    serializer_class = ScreeningSampleSerializer

    def filters(self) -> Sequence[AnyFilter]:
        return (_benchmarks("benchmark"),)


class ScreeningSampleDetail(DetailView):
    queryset = ScreeningSample.objects.all()
    serializer_class = ScreeningSampleSerializer


class ScreeningMatchList(ListView):
    """Of each reconstruction the sample that it shares the largest share of trigrams with, above zero."""

    queryset = ScreeningMatch.objects.select_related("sample", "reconstruction").only(
        *("shared", "total", "tokenizer", "reconstruction__overlap"),
        *("sample__benchmark", "sample__external_id"),
    )
    serializer_class = ScreeningMatchSerializer

    def filters(self) -> Sequence[AnyFilter]:
        return (
            _benchmarks("sample__benchmark"),
            equals("state", "State", Reconstruction.State.choices, lookup="reconstruction__state"),
        )


class SharedPassageSerializer(serializers.Serializer[Any]):
    """`start` and `end` count characters (code points)."""

    start = serializers.IntegerField()
    end = serializers.IntegerField()
    text = serializers.CharField()


class ScreeningMatchDetailSerializer(ScreeningMatchSerializer):
    """With both texts, and the passages of each that the other has too. `problem` says so when they had to be
    found with another tokenizer than the counts."""

    text = serializers.CharField(source="reconstruction.text", read_only=True)
    sample_text = serializers.CharField(source="sample.text", read_only=True)
    passages = SharedPassageSerializer(many=True, read_only=True)
    sample_passages = SharedPassageSerializer(many=True, read_only=True)
    problem = serializers.CharField(read_only=True)

    class Meta(ScreeningMatchSerializer.Meta):
        fields: tuple[str, ...] = (
            *ScreeningMatchSerializer.Meta.fields,
            *("text", "sample_text", "passages", "sample_passages", "problem"),
        )


@extend_schema(
    examples=[
        OpenApiExample(
            "A candidate that repeats a line of a benchmark",
            {
                "id": 4,
                "reconstruction": 17,
                "sample": 9,
                "benchmark": "WritingBench",
                "external_id": "2",
                "shared": 6,
                "total": 24,
                "overlap": 0.25,
                "tokenizer": "qwen3 4d6a2a0a1b2c (quicktok 0.4.0)",
                "text": "Please write a preface on lighthouses.",
                "sample_text": "Write a preface on lighthouses for me.",
                "passages": [{"start": 12, "end": 37, "text": " a preface on lighthouses"}],
                "sample_passages": [{"start": 5, "end": 30, "text": " a preface on lighthouses"}],
                "problem": "",
            },
        )
    ]
)
class ScreeningMatchDetail(DetailView):
    """A reconstruction beside the sample that it overlaps with most, and the passages that they share."""

    queryset = ScreeningMatch.objects.select_related("sample", "reconstruction").defer(
        "reconstruction__search"
    )
    serializer_class = ScreeningMatchDetailSerializer

    def get_object(self) -> Any:
        match = super().get_object()
        text, sample = match.reconstruction.text, match.sample.text
        encoder, match.problem = encoder_of(match)
        spans, others = shared_passages(text, sample, encoder.encode, encoder.offsets)
        match.passages, match.sample_passages = _quoted(text, spans), _quoted(sample, others)
        return match


def _quoted(text: str, spans: Sequence[Span]) -> list[dict[str, Any]]:
    return [{"start": span.start, "end": span.end, "text": text[span.start : span.end]} for span in spans]


def _benchmarks(lookup: str) -> AnyFilter:
    names = [(name, name) for name in distinct_values(ScreeningSample, "benchmark")]
    return equals("benchmark", "Benchmark", names, lookup=lookup)
