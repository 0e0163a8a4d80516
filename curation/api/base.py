"""What every view of the API shares."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, cast

from django.contrib.auth.models import User
from django.db.models import QuerySet
from django.utils.cache import patch_cache_control
from rest_framework.filters import BaseFilterBackend
from rest_framework.generics import GenericAPIView, ListAPIView, RetrieveAPIView
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.serializers import BaseSerializer
from rest_framework.views import APIView

from curation.api.pagination import KeyPagination
from curation.api.permissions import RESEARCH
from curation.narrowing import narrow
from llm.access import Role
from llm.listing import AnyFilter, Filter, Search


class RoleView(APIView):
    """`allowed_roles` stands on the view function too, as it does on pages."""

    allowed_roles: ClassVar[frozenset[Role]] = RESEARCH

    @classmethod
    def as_view(cls, **initkwargs: Any) -> Any:
        view = super().as_view(**initkwargs)
        view.allowed_roles = cls.allowed_roles  # type: ignore[attr-defined]
        return view

    @property
    def person(self) -> User:
        """Who asks; the permission has seen to it that somebody does."""
        return cast(User, self.request.user)

    def finalize_response(self, request: Request, response: Any, *args: Any, **kwargs: Any) -> Response:
        answer = super().finalize_response(request, response, *args, **kwargs)
        patch_cache_control(answer, private=True, no_store=True)
        return answer


class ApiView(RoleView, GenericAPIView[Any]):
    """A view that reads its input with `serializer_class`."""

    def read(self, serializer: type[BaseSerializer[Any]] | None = None) -> dict[str, Any]:
        """The request's checked body. Raises ValidationError."""
        reader = (serializer or self.get_serializer_class())(data=self.request.data, context={"view": self})
        reader.is_valid(raise_exception=True)
        return dict(reader.validated_data)


class ListFilters(BaseFilterBackend):
    """Narrows a list by its view's filters and search; a parameter that there is not is an error."""

    def filter_queryset(self, request: Request, queryset: QuerySet[Any], view: APIView) -> QuerySet[Any]:
        assert isinstance(view, ListView)
        paging = {KeyPagination.cursor_query_param, KeyPagination.page_size_query_param}
        given = {name: str(value) for name, value in request.query_params.items() if name not in paging}
        return narrow(queryset, given, filters=view.filters(), search=view.search)

    def get_schema_operation_parameters(self, view: APIView) -> list[dict[str, Any]]:
        """For the generator of the schema."""
        assert isinstance(view, ListView)
        found = [_parameter(each) for each in view.filters()]
        if view.search:
            found.append(_text_parameter(view.search.name, view.search.label))
        return found


def _parameter(asked: AnyFilter) -> dict[str, Any]:
    if isinstance(asked, Filter):
        return _text_parameter(asked.name, asked.label)
    return {**_text_parameter(asked.name, asked.label), "schema": {"type": "integer", "minimum": 0}}


def _text_parameter(name: str, label: str) -> dict[str, Any]:
    return {
        "name": name,
        "in": "query",
        "required": False,
        "description": label,
        "schema": {"type": "string"},
    }


class ListView(RoleView, ListAPIView[Any]):
    """A list that is narrowed by `filters` and `search` and paged by cursor."""

    filter_backends = (ListFilters,)
    pagination_class = KeyPagination
    search: ClassVar[Search | None] = None

    def filters(self) -> Sequence[AnyFilter]:
        return ()


class DetailView(RoleView, RetrieveAPIView[Any]):
    """One row by its key; one that may not be known of is not found."""
