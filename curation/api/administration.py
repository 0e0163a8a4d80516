"""Settings, the audit trail, and who one is."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from drf_spectacular.utils import extend_schema
from rest_framework import serializers, status
from rest_framework.request import Request
from rest_framework.response import Response

from curation.api.base import ApiView, ListView, RoleView
from curation.api.pagination import NewestFirst
from curation.api.permissions import EVERYONE
from curation.api.serializers import HistoryEntrySerializer, PolicySerializer
from curation.history import history_filters, recent_changes, shown_to
from curation.models import CurationPolicy
from curation.policy import change_policy
from llm.access import roles_of
from llm.listing import AnyFilter, NumberFilter


class PersonSerializer(serializers.Serializer[Any]):
    name = serializers.CharField()
    roles = serializers.ListField(child=serializers.CharField())


class Me(RoleView):
    allowed_roles = EVERYONE

    @extend_schema(responses=PersonSerializer)
    def get(self, request: Request) -> Response:
        """Whose token this is."""
        return Response({"name": self.person.get_username(), "roles": sorted(roles_of(self.person))})


class History(ListView):
    """What happened, newest first; `object` narrows to one, by its number. What others decided on an item
    that is not settled is left out: such an entry is `hidden`."""

    queryset = recent_changes()
    serializer_class = HistoryEntrySerializer
    pagination_class = NewestFirst

    def filters(self) -> Sequence[AnyFilter]:
        return (
            *history_filters(),
            NumberFilter("object", "Number of the object", lambda rows, value: rows.filter(subject_id=value)),
        )

    def paginate_queryset(self, queryset: Any) -> Any:
        return shown_to(self.person, super().paginate_queryset(queryset) or [])


class Policy(ApiView):
    serializer_class = PolicySerializer

    @extend_schema(responses=PolicySerializer)
    def get(self, request: Request) -> Response:
        """The settings in force."""
        return Response(PolicySerializer(CurationPolicy.current()).data)

    @extend_schema(responses=PolicySerializer)
    def patch(self, request: Request) -> Response:
        """Changes the settings that are given; the history says who did."""
        given = PolicySerializer(CurationPolicy.current(), data=request.data, partial=True)
        given.is_valid(raise_exception=True)
        values = dict(given.validated_data)
        change_policy(by=self.person, reason=values.pop("reason", ""), values=values)
        return self.get(request)


class NothingHere(ApiView):
    """What is at no address of the API, in JSON too."""

    allowed_roles = EVERYONE

    @extend_schema(exclude=True)
    def get(self, request: Request, rest: str) -> Response:
        return Response(
            {"detail": "There is nothing at this address. Addresses end with a slash.", "code": "not_found"},
            status=status.HTTP_404_NOT_FOUND,
        )

    post = put = patch = delete = get
