"""Sources, source prompts, reconstructions, corpus prompts, and what they overlap with."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django.db.models import Prefetch, QuerySet

from curation.api import serializers
from curation.api.base import DetailView, ListView
from curation.export_rows import shown_agreement
from curation.models import (
    CorpusPrompt,
    ExportFile,
    Reconstruction,
    ReviewFlag,
    ScreeningMatch,
    ScreeningSample,
    Source,
    SourcePrompt,
)
from curation.narrowing import filters_of
from curation.search import search_by
from curation.selectors import reviews_for
from llm.listing import AnyFilter, distinct_values, equals

Kind = ExportFile.Kind


class SourceList(ListView):
    queryset = Source.objects.select_related("imported_by")
    serializer_class = serializers.SourceSerializer


class SourceDetail(DetailView):
    """A source with the report of its last import."""

    queryset = Source.objects.select_related("imported_by")
    serializer_class = serializers.SourceSerializer


class SourcePromptList(ListView):
    queryset = SourcePrompt.objects.select_related("source").defer("search")
    serializer_class = serializers.SourcePromptSerializer
    search = search_by()

    def filters(self) -> Sequence[AnyFilter]:
        return filters_of(Kind.SOURCE_PROMPTS)


class SourcePromptDetail(DetailView):
    queryset = SourcePrompt.objects.select_related("source").defer("search")
    serializer_class = serializers.SourcePromptSerializer


class ReconstructionList(ListView):
    serializer_class = serializers.ReconstructionSerializer
    queryset = (
        Reconstruction.objects.select_related("source_prompt")
        .defer("search", "source_prompt__search", "source_prompt__text")
        .annotate(shown_agreement=shown_agreement())
    )
    search = search_by()

    def filters(self) -> Sequence[AnyFilter]:
        return filters_of(Kind.RECONSTRUCTIONS)


class ReconstructionDetail(DetailView):
    """One reconstruction: its drafts, largest overlap, flags, and what you may read of its reviews."""

    serializer_class = serializers.ReconstructionDetailSerializer

    def get_queryset(self) -> QuerySet[Reconstruction]:
        flags = ReviewFlag.objects.select_related("reviewer", "resolved_by")
        return (
            Reconstruction.objects.select_related("source_prompt", "match__sample", "corpus_prompt")
            .defer("search", "source_prompt__search", "match__sample__text")
            .annotate(shown_agreement=shown_agreement())
            .prefetch_related("drafts", Prefetch("flags", flags))
        )

    def get_object(self) -> Any:
        item = super().get_object()
        item.visible_reviews = reviews_for(item, self.person)
        return item


class CorpusPromptList(ListView):
    queryset = CorpusPrompt.objects.all()
    serializer_class = serializers.CorpusPromptSerializer
    search = search_by("reconstruction__text", terms="reconstruction__search")

    def filters(self) -> Sequence[AnyFilter]:
        return filters_of(Kind.CORPUS_PROMPTS)


class CorpusPromptDetail(DetailView):
    queryset = CorpusPrompt.objects.all()
    serializer_class = serializers.CorpusPromptSerializer


class ScreeningSampleList(ListView):
    queryset = ScreeningSample.objects.all()
    serializer_class = serializers.ScreeningSampleSerializer

    def filters(self) -> Sequence[AnyFilter]:
        return (_benchmarks("benchmark"),)


class ScreeningSampleDetail(DetailView):
    queryset = ScreeningSample.objects.all()
    serializer_class = serializers.ScreeningSampleSerializer


class ScreeningMatchList(ListView):
    """Of each reconstruction the sample that it shares the largest share of trigrams with, above zero."""

    queryset = ScreeningMatch.objects.select_related("sample", "reconstruction").only(
        *("shared", "total", "tokenizer", "reconstruction__overlap"),
        *("sample__benchmark", "sample__external_id"),
    )
    serializer_class = serializers.ScreeningMatchSerializer

    def filters(self) -> Sequence[AnyFilter]:
        return (
            _benchmarks("sample__benchmark"),
            equals("state", "State", Reconstruction.State.choices, lookup="reconstruction__state"),
        )


def _benchmarks(lookup: str) -> AnyFilter:
    names = [(name, name) for name in distinct_values(ScreeningSample, "benchmark")]
    return equals("benchmark", "Benchmark", names, lookup=lookup)
