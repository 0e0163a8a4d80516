"""One action on everything that a list shows: first what it would do, then, with its token, the doing."""

from __future__ import annotations

from typing import Any

from drf_spectacular.utils import OpenApiExample, extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from curation.api.base import ApiView
from curation.api.problems import ConflictError
from curation.api.review_serializers import TouchedGroupSerializer, touched_as_json
from curation.bulk import AT_ONCE, BulkInputError, Preview, SetChangedError, confirm_action, preview_action
from curation.bulk_actions import ACTIONS
from curation.export_lineage import touched_by_items
from curation.export_rows import rows_to_export
from curation.models import ExportFile, Reconstruction
from llm.models import Endpoint


class BulkInputSerializer(serializers.Serializer[Any]):
    """Without `token` nothing is done: the answer says what would be, and the token for it. With `items` only
    those of them are meant that the filters find."""

    action = serializers.ChoiceField([(name, action.label) for name, action in ACTIONS.items()])
    filters = serializers.DictField(child=serializers.CharField(allow_blank=True), default=dict)
    items = serializers.ListField(
        child=serializers.IntegerField(min_value=1), required=False, min_length=1, max_length=10_000
    )
    token = serializers.CharField(required=False)
    reason = serializers.CharField(required=False, allow_blank=True, default="")
    endpoint = serializers.SlugRelatedField(
        slug_field="name", queryset=Endpoint.objects.all(), required=False, help_text="Name of an endpoint"
    )


class LeftAloneSerializer(serializers.Serializer[Any]):
    reason = serializers.CharField()
    count = serializers.IntegerField()


class BulkAnswerSerializer(serializers.Serializer[Any]):
    """`count` is of the items taken; `done` says whether it has been done, or `run` does it. Before a
    withdrawal of a few, `touched` lists what it touches."""

    count = serializers.IntegerField()
    left_alone = LeftAloneSerializer(many=True, required=False)
    touched = TouchedGroupSerializer(many=True, required=False)
    token = serializers.CharField(required=False)
    done = serializers.BooleanField()
    run = serializers.IntegerField(allow_null=True)


class Bulk(ApiView):
    serializer_class = BulkInputSerializer

    @extend_schema(
        responses=BulkAnswerSerializer,
        examples=[
            OpenApiExample(
                "What including excluded prompts again would do",
                {"action": "include", "filters": {"state": "excluded", "source": "3"}},
                request_only=True,
            ),
            OpenApiExample(
                "Doing what the preview has announced",
                {
                    "action": "include",
                    "filters": {"state": "excluded", "source": "3"},
                    "token": "12-0f3a9d…",
                    "reason": "The source is in order after all",
                },
                request_only=True,
            ),
        ],
    )
    def post(self, request: Request) -> Response:
        """Previews an action, or does what a preview has announced; 409 with the new preview when the rows
        have changed since."""
        given = self.read()
        reconstructions = ACTIONS[given["action"]].subject is Reconstruction
        kind = ExportFile.Kind.RECONSTRUCTIONS if reconstructions else ExportFile.Kind.SOURCE_PROMPTS
        rows = rows_to_export(kind, given["filters"])
        if "items" in given:
            rows = rows.filter(pk__in=given["items"])
        if "token" not in given:
            return Response(_previewed(preview_action(name=given["action"], rows=rows)))
        try:
            done = confirm_action(
                name=given["action"],
                rows=rows,
                token=given["token"],
                by=self.person,
                reason=given["reason"],
                endpoint=given.get("endpoint"),
            )
        except SetChangedError as error:
            changed = "The rows are no longer those of the preview."
            raise ConflictError(changed, "changed", preview=_previewed(error.preview)) from None
        except BulkInputError as error:
            raise serializers.ValidationError(error.messages) from None
        return Response({"count": done.count, "done": True, "run": done.run.pk if done.run else None})


def _previewed(preview: Preview) -> dict[str, Any]:
    told: dict[str, Any] = {
        "count": preview.count,
        "left_alone": [{"reason": reason, "count": count} for reason, count in preview.left_alone],
        "token": preview.token,
        "done": False,
        "run": None,
    }
    if preview.action.name == "withdraw" and preview.count <= AT_ONCE:
        told["touched"] = touched_as_json(touched_by_items(preview.taken))
    return told
