"""Exports: files that go out."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django.http import FileResponse, Http404
from django.shortcuts import get_object_or_404
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import extend_schema
from rest_framework import serializers, status
from rest_framework.request import Request
from rest_framework.response import Response

from curation.api.base import ApiView, DetailView, ListView
from curation.api.pagination import NewestFirst
from curation.api.serializers import ExportSerializer
from curation.export_services import download_of, start_export
from curation.exporting import FORMATS
from curation.models import ExportFile
from llm.listing import AnyFilter, equals

EXPORTS = ExportFile.objects.select_related("created_by")


class ExportInputSerializer(serializers.Serializer[Any]):
    """`filters` are those of the list of the same name."""

    kind = serializers.ChoiceField(ExportFile.Kind.choices)
    format = serializers.ChoiceField(FORMATS)
    filters = serializers.DictField(child=serializers.CharField(allow_blank=True), default=dict)
    texts = serializers.BooleanField(default=True, help_text="false leaves the long texts out")


class ExportList(ListView):
    queryset = EXPORTS
    serializer_class = ExportSerializer
    pagination_class = NewestFirst

    def filters(self) -> Sequence[AnyFilter]:
        return (
            equals("kind", "Kind", ExportFile.Kind.choices),
            equals("state", "State", ExportFile.State.choices),
        )

    @extend_schema(request=ExportInputSerializer, responses={202: ExportSerializer})
    def post(self, request: Request) -> Response:
        """Starts an export; a worker writes it. Ask for it again until its state is done."""
        given = ExportInputSerializer(data=request.data)
        given.is_valid(raise_exception=True)
        export = start_export(**given.validated_data, user=self.person)
        shown = ExportSerializer(export, context=self.get_serializer_context())
        return Response(shown.data, status=status.HTTP_202_ACCEPTED)


class ExportDetail(DetailView):
    queryset = EXPORTS
    serializer_class = ExportSerializer


class ExportContent(ApiView):
    @extend_schema(responses={(200, "application/octet-stream"): OpenApiTypes.BINARY})
    def get(self, request: Request, pk: int) -> FileResponse:
        """The finished file."""
        response = download_of(get_object_or_404(EXPORTS, pk=pk))
        if response is None:
            raise Http404
        return response
