"""Imports: a file is uploaded and looked at, then begun with a choice of fields; a run reads it in."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django.shortcuts import get_object_or_404
from drf_spectacular.utils import extend_schema
from rest_framework import serializers, status
from rest_framework.exceptions import UnsupportedMediaType
from rest_framework.parsers import MultiPartParser
from rest_framework.request import Request
from rest_framework.response import Response

from curation.api.base import ApiView, DetailView, ListView
from curation.api.pagination import NewestFirst
from curation.api.problems import ConflictError, TooLargeError
from curation.api.serializers import person
from curation.models import ImportFile
from curation.rows import ImportFormatError
from curation.services import (
    ImportOptions,
    ImportStateError,
    NearDuplicates,
    begin_import,
    discard_import,
    receive_import,
)
from curation.services.files import MAX_UPLOAD_BYTES, SINCE
from llm.listing import AnyFilter, equals
from llm.text import LengthPolicy

IMPORTS = ImportFile.objects.select_related("created_by")


class ImportSerializer(serializers.ModelSerializer[ImportFile]):
    """`options` are those that the rows suggest, until it is begun; `report` is there when it is done."""

    created_by = person()
    options = serializers.SerializerMethodField()

    class Meta:
        model = ImportFile
        fields = (
            *("id", "kind", "name", "file_name", "format", "size", "state", "options", "rows", "bytes"),
            *("error", "report", "run", "created_by", "created_at", "finished_at"),
        )

    def get_options(self, file: ImportFile) -> dict[str, Any]:
        return {name: value for name, value in file.options.items() if name != SINCE}


class UploadSerializer(serializers.Serializer[Any]):
    """Without `name` a file of requests goes by its own, and a benchmark by what it is recognised as."""

    file = serializers.FileField(allow_empty_file=True)
    name = serializers.CharField(max_length=120, required=False, allow_blank=True, default="")
    kind = serializers.ChoiceField(ImportFile.Kind.choices, default=ImportFile.Kind.PROMPTS)


class ImportOptionsSerializer(serializers.Serializer[Any]):
    """What is left out stays as the upload suggested it; null stands for 'as the rows tell'."""

    text_field = serializers.CharField(required=False, allow_null=True, trim_whitespace=False)
    id_field = serializers.CharField(required=False, allow_null=True, trim_whitespace=False)
    reconstruction_field = serializers.CharField(required=False, allow_null=True, trim_whitespace=False)
    split = serializers.CharField(required=False, allow_blank=True, help_text="Of a dataset; '' for all")
    length_policy = serializers.ChoiceField([each.value for each in LengthPolicy], required=False)
    near_duplicates = serializers.ChoiceField([each.value for each in NearDuplicates], required=False)
    threshold = serializers.FloatField(min_value=0, max_value=1, required=False)


class ImportList(ListView):
    queryset = IMPORTS
    serializer_class = ImportSerializer
    pagination_class = NewestFirst
    parser_classes = (MultiPartParser,)

    def filters(self) -> Sequence[AnyFilter]:
        return (
            equals("kind", "Kind", ImportFile.Kind.choices),
            equals("state", "State", ImportFile.State.choices),
        )

    @extend_schema(request={"multipart/form-data": UploadSerializer}, responses={201: ImportSerializer})
    def post(self, request: Request) -> Response:
        """Uploads a file and looks at it; nothing is read in before it is begun."""
        if int(request.META.get("CONTENT_LENGTH") or 0) > MAX_UPLOAD_BYTES:
            raise TooLargeError(f"A file has at most {MAX_UPLOAD_BYTES:,} bytes.")
        upload = UploadSerializer(data=request.data)
        upload.is_valid(raise_exception=True)
        file = upload.validated_data["file"]
        try:
            received = receive_import(
                chunks=file.chunks(),
                file_name=file.name,
                name=upload.validated_data["name"],
                kind=upload.validated_data["kind"],
                user=self.person,
            )
        except ImportFormatError as error:
            raise UnsupportedMediaType("", detail=str(error)) from None
        return Response(ImportSerializer(received).data, status=status.HTTP_201_CREATED)


class ImportDetail(DetailView):
    queryset = IMPORTS
    serializer_class = ImportSerializer

    @extend_schema(responses={204: None})
    def delete(self, request: Request, pk: int) -> Response:
        """Discards an upload that was never begun, with its file."""
        try:
            discard_import(import_file=self.get_object(), user=self.person)
        except ImportStateError as error:
            raise ConflictError(str(error), "begun_already") from None
        return Response(status=status.HTTP_204_NO_CONTENT)


class Begin(ApiView):
    serializer_class = ImportOptionsSerializer

    @extend_schema(responses={202: ImportSerializer})
    def post(self, request: Request, pk: int) -> Response:
        """Starts the import, or one that failed once more; a worker reads it in."""
        file, given = get_object_or_404(IMPORTS, pk=pk), self.read()
        stored = {name: value for name, value in file.options.items() if name != SINCE}
        options = ImportOptions.from_json({**stored, **given}) if given else None
        try:
            begin_import(import_file=file, options=options, user=self.person)
        except ImportStateError as error:
            raise ConflictError(str(error), "begun_already") from None
        return Response(ImportSerializer(file).data, status=status.HTTP_202_ACCEPTED)
