"""Lists: filters and search from the query string, fifty rows a page."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from django.core.paginator import Page, Paginator
from django.db.models import Count, Model, OuterRef, QuerySet, Subquery
from django.db.models.functions import Coalesce
from django.http import HttpRequest, QueryDict

PAGE_SIZE = 50

Row = TypeVar("Row", bound=Model)
Narrow = Callable[[QuerySet[Any], str], QuerySet[Any]]


@dataclass(frozen=True, slots=True)
class Filter:
    """One drop-down. `choices` are (value, label); a value that is not among them narrows nothing."""

    name: str
    label: str
    choices: tuple[tuple[str, str], ...]
    narrow: Narrow


@dataclass(frozen=True, slots=True)
class Search:
    """A search field; `narrow` gets what was typed, trimmed and not empty."""

    narrow: Narrow
    name: str = "q"
    label: str = "Search the text"


@dataclass(frozen=True, slots=True)
class FilterField:
    """A filter with the value that is in force ('' for none)."""

    filter: Filter
    value: str


@dataclass(frozen=True, slots=True)
class Listing(Generic[Row]):
    """One page of a list with everything that its template shows around it."""

    page: Page[Row]
    fields: tuple[FilterField, ...]
    search: Search | None
    query: str
    parameters: str

    @property
    def total(self) -> int:
        return self.page.paginator.count

    @property
    def narrowed(self) -> bool:
        return bool(self.query) or any(field.value for field in self.fields)

    @property
    def page_numbers(self) -> Iterator[int | str]:
        return self.page.paginator.get_elided_page_range(self.page.number, on_each_side=2, on_ends=1)

    def __iter__(self) -> Iterator[Row]:
        return iter(self.page.object_list)


def equals(name: str, label: str, choices: Iterable[tuple[str, str]], lookup: str | None = None) -> Filter:
    """A filter on the value of one field."""
    return Filter(name, label, tuple(choices), lambda rows, value: rows.filter(**{lookup or name: value}))


def narrow_by(
    name: str, label: str, ways: Sequence[tuple[str, str, Callable[[QuerySet[Any]], Any]]]
) -> Filter:
    """A filter whose choices each have their own way to narrow: (value, label, way)."""
    by_value = {value: way for value, _, way in ways}
    return Filter(
        name,
        label,
        tuple((value, text) for value, text, _ in ways),
        lambda rows, value: by_value[value](rows),
    )


def count_of(rows: QuerySet[Any], link: str) -> Coalesce:
    """How many of `rows` point at the outer row by the foreign key `link`; counted only for rows shown."""
    linked = rows.filter(**{link: OuterRef("pk")}).order_by().values(link)
    return Coalesce(Subquery(linked.annotate(count=Count("pk")).values("count")), 0)


def listing(
    request: HttpRequest, rows: QuerySet[Row], *, filters: Sequence[Filter] = (), search: Search | None = None
) -> Listing[Row]:
    """The page of `rows` that the query string asks for; a page number out of range gives the nearest."""
    kept = QueryDict(mutable=True)
    fields = []
    for each in filters:
        value = request.GET.get(each.name, "")
        value = value if value in dict(each.choices) else ""
        if value:
            rows = each.narrow(rows, value)
            kept[each.name] = value
        fields.append(FilterField(each, value))
    query = request.GET.get(search.name, "").strip().replace("\x00", "") if search else ""
    if search and query:
        rows = search.narrow(rows, query)
        kept[search.name] = query
    page = Paginator(rows, PAGE_SIZE).get_page(request.GET.get("page"))
    return Listing(page, tuple(fields), search, query, kept.urlencode())
