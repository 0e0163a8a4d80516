"""Sources, source prompts and their near duplicates, reconstructions, corpus prompts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django.db.models import Prefetch, QuerySet

from curation.api import serializers
from curation.api.base import DetailView, ListView
from curation.export_rows import shown_agreement, shown_corpus_prompt
from curation.models import (
    CorpusPrompt,
    ExportFile,
    Reconstruction,
    ReviewFlag,
    Source,
    SourcePrompt,
)
from curation.narrowing import filters_of
from curation.search import search_by
from curation.selectors import reviews_for, source_choices
from llm.listing import AnyFilter, equals, narrow_by

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
            Reconstruction.objects.select_related("source_prompt", "match__sample")
            .defer("search", "source_prompt__search", "match__sample__text")
            .annotate(shown_agreement=shown_agreement(), shown_corpus_prompt=shown_corpus_prompt())
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


class NearDuplicateList(ListView):
    """The near-duplicate report: every source prompt that is nearly the same as an earlier one, with it."""

    queryset = (
        SourcePrompt.objects.filter(duplicate_of__isnull=False)
        .select_related("source", "duplicate_of__source")
        .defer("search", "duplicate_of__search")
    )
    serializer_class = serializers.NearDuplicateSerializer

    def filters(self) -> Sequence[AnyFilter]:
        ways: list[tuple[str, str, Any]] = [
            ("excluded", "excluded for it", lambda rows: rows.exclude(excluded_because="")),
            ("kept", "only marked", lambda rows: rows.filter(excluded_because="")),
        ]
        return (narrow_by("state", "State", ways), equals("source", "Source", source_choices()))
