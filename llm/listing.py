"""Lists: filters and search from the query string, fifty rows a page, quick however many rows there are.

    rows ─► narrowed by filters and search ─► keys, as far as they are counted ─► one page ─► its rows, whole

Keys are found without the rows and without an order, up to COUNTED of them. When there are no more, the page
is cut from them; when there are more, the page is read in the order of the key, where a walk soon finds
fifty. What is annotated or joined is worked out for the rows of the page alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Generic, TypeVar

from django.core.exceptions import EmptyResultSet
from django.core.paginator import Paginator
from django.db import connection
from django.db.models import AutoField, Count, Field, Model, OuterRef, QuerySet, Subquery
from django.db.models.functions import Coalesce
from django.http import HttpRequest, QueryDict

PAGE_SIZE = 50

COUNTED = 5_000
"""Rows are counted up to here; of more, a list says 'more than 5,000'."""

LARGEST_NUMBER = 2**31 - 1
"""What fits into the columns that a range narrows."""

Row = TypeVar("Row", bound=Model)
Narrow = Callable[[QuerySet[Any], str], QuerySet[Any]]


@dataclass(frozen=True, slots=True)
class Filter:
    """One drop-down. `choices` are (value, label); a value that is not among them narrows nothing."""

    name: str
    label: str
    choices: tuple[tuple[str, str], ...]
    narrow: Narrow

    def accepts(self, value: str) -> bool:
        return value in dict(self.choices)


@dataclass(frozen=True, slots=True)
class NumberFilter:
    """One number field; what is not a whole number from 0 on narrows nothing."""

    name: str
    label: str
    narrow: Narrow
    number: ClassVar[bool] = True

    def accepts(self, value: str) -> bool:
        return value.isascii() and value.isdecimal() and int(value) <= LARGEST_NUMBER


AnyFilter = Filter | NumberFilter


@dataclass(frozen=True, slots=True)
class Search:
    """A search field; `narrow` gets what was typed, trimmed and not empty."""

    narrow: Narrow
    name: str = "q"
    label: str = "Search the text"


@dataclass(frozen=True, slots=True)
class FilterField:
    """A filter with the value that is in force ('' for none)."""

    filter: AnyFilter
    value: str

    @property
    def shown(self) -> str:
        """The value in words."""
        choices = dict(self.filter.choices) if isinstance(self.filter, Filter) else {}
        return choices.get(self.value, self.value)


@dataclass(frozen=True, slots=True)
class Narrowed(Generic[Row]):
    """The rows that the query string asks for, with what is in force of it, as a query string of its own."""

    rows: QuerySet[Row]
    fields: tuple[FilterField, ...]
    search: Search | None
    query: str
    parameters: str

    @property
    def narrowed(self) -> bool:
        return bool(self.query) or any(field.value for field in self.fields)


@dataclass(frozen=True, slots=True)
class ListPage(Generic[Row]):
    """One page. `number` is None for one that is reached by walking on past the rows that are counted.

    `previous` and `next` are query strings ('' for none), without those of the filters.
    """

    object_list: tuple[Row, ...]
    number: int | None
    numbers: int
    total: int
    many: bool
    previous: str
    next: str

    @property
    def start_index(self) -> int | None:
        return (self.number - 1) * PAGE_SIZE + 1 if self.number else None

    @property
    def end_index(self) -> int | None:
        return (self.number - 1) * PAGE_SIZE + len(self.object_list) if self.number else None

    @property
    def several(self) -> bool:
        return bool(self.previous or self.next)


@dataclass(frozen=True, slots=True)
class Listing(Generic[Row]):
    """One page of a list with everything that its template shows around it."""

    page: ListPage[Row]
    asked: Narrowed[Row]

    ELLIPSIS: ClassVar[str] = str(Paginator.ELLIPSIS)

    @property
    def total(self) -> int:
        """Exact up to COUNTED; with `many` there are more."""
        return self.page.total

    @property
    def many(self) -> bool:
        return self.page.many

    @property
    def fields(self) -> tuple[FilterField, ...]:
        return self.asked.fields

    @property
    def search(self) -> Search | None:
        return self.asked.search

    @property
    def query(self) -> str:
        return self.asked.query

    @property
    def parameters(self) -> str:
        return self.asked.parameters

    @property
    def narrowed(self) -> bool:
        return self.asked.narrowed

    @property
    def page_numbers(self) -> Iterator[int | str]:
        pages = Paginator(range(self.page.numbers), 1)
        return pages.get_elided_page_range(self.page.number or self.page.numbers, on_each_side=2, on_ends=1)

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


def between(name: str, label: str, field: str) -> tuple[NumberFilter, NumberFilter]:
    """Two number fields, `<name>_from` and `<name>_to`, for a range of a field's values, both ends within."""
    return (
        NumberFilter(
            f"{name}_from",
            f"{label} from",
            lambda rows, value: rows.filter(**{f"{field}__gte": int(value)}),
        ),
        NumberFilter(
            f"{name}_to", f"{label} to", lambda rows, value: rows.filter(**{f"{field}__lte": int(value)})
        ),
    )


def count_of(rows: QuerySet[Any], link: str) -> Coalesce:
    """How many of `rows` point at the outer row by the foreign key `link`; counted only for rows shown."""
    linked = rows.filter(**{link: OuterRef("pk")}).order_by().values(link)
    return Coalesce(Subquery(linked.annotate(count=Count("pk")).values("count")), 0)


def distinct_values(model: type[Model], field: str) -> list[str]:
    """The values of a text column that an index begins with, in order, '' left out.

    Goes from each value to the next one in the index, so that it reads as many entries as there are values.
    """
    quote = connection.ops.quote_name
    table, column = quote(model._meta.db_table), quote(_column(model, field))
    statement = f"""
        WITH RECURSIVE found(value) AS (
            (SELECT {column} FROM {table} WHERE {column} > '' ORDER BY {column} LIMIT 1)
            UNION ALL
            SELECT (SELECT {column} FROM {table} WHERE {column} > value ORDER BY {column} LIMIT 1)
            FROM found WHERE value IS NOT NULL
        )
        SELECT value FROM found WHERE value IS NOT NULL
    """  # noqa: S608  (names of a table and a column, quoted)
    with connection.cursor() as cursor:
        cursor.execute(statement)
        return [value for (value,) in cursor.fetchall()]


def _column(model: type[Model], name: str) -> str:
    field = model._meta.get_field(name)
    assert isinstance(field, Field)
    return str(field.column)


def narrowed(
    request: HttpRequest,
    rows: QuerySet[Row],
    *,
    filters: Sequence[AnyFilter] = (),
    search: Search | None = None,
) -> Narrowed[Row]:
    """The rows that the query string (or the form, for a POST) asks for."""
    given = request.POST if request.method == "POST" else request.GET
    kept = QueryDict(mutable=True)
    fields = []
    for each in filters:
        value = given.get(each.name, "").strip()
        value = value if each.accepts(value) else ""
        if value:
            rows = each.narrow(rows, value)
            kept[each.name] = value
        fields.append(FilterField(each, value))
    query = given.get(search.name, "").strip().replace("\x00", "") if search else ""
    if search and query:
        rows = search.narrow(rows, query)
        kept[search.name] = query
    return Narrowed(rows, tuple(fields), search, query, kept.urlencode())


def listing(
    request: HttpRequest,
    rows: QuerySet[Row],
    *,
    filters: Sequence[AnyFilter] = (),
    search: Search | None = None,
) -> Listing[Row]:
    """The page of `rows` that the query string asks for; a page number out of range gives the nearest.

    Past the rows that are counted, the pages of a list in the order of its key have no numbers: `after` and
    `before` name the key that they begin behind.
    """
    asked = narrowed(request, rows, filters=filters, search=search)
    order = _key_order(asked.rows)
    for way in ("after", "before"):
        key = request.GET.get(way, "")
        if order and NumberFilter(way, "", asked.rows.filter).accepts(key):
            return Listing(_page_beyond(asked.rows, order, way, int(key)), asked)
    return Listing(_numbered_page(asked.rows, order, request.GET.get("page", "")), asked)


def _key_order(rows: QuerySet[Any]) -> str:
    """'pk' or '-pk' for rows that are in the order of a number that is their key, else ''."""
    key = rows.model._meta.pk
    ordering = tuple(rows.query.order_by) or tuple(rows.model._meta.ordering if rows.ordered else ())
    names = {"pk": "pk", "-pk": "-pk", key.name: "pk", f"-{key.name}": "-pk"}
    return names.get(ordering[0], "") if len(ordering) == 1 and isinstance(key, AutoField) else ""


def _numbered_page(rows: QuerySet[Row], order: str, wanted: str) -> ListPage[Row]:
    number = max(_whole(wanted), 1)
    total, keys = _counted(rows, order, number)
    numbers = max(-(-min(total, COUNTED) // PAGE_SIZE), 1)
    if number > numbers:
        number = numbers
        total, keys = _counted(rows, order, number)
    many = total > COUNTED
    if many or not order:
        start = (number - 1) * PAGE_SIZE
        keys = list(rows.values_list("pk", flat=True)[start : start + PAGE_SIZE])
    following = f"page={number + 1}" if number < numbers else ""
    if many and order and number == numbers and keys:
        following = f"after={keys[-1]}"
    previous = f"page={number - 1}" if number > 1 else ""
    found = _whole_rows(rows, keys)
    return ListPage(found, number, numbers, min(total, COUNTED), many, previous, following)


def _counted(rows: QuerySet[Any], order: str, number: int) -> tuple[int, list[Any]]:
    """How many rows there are, as far as they are counted, and the keys of one page of them in the order of
    the key: right as long as there are no more than are counted."""
    try:
        inner, parameters = rows.order_by().values("pk")[: COUNTED + 1].query.sql_with_params()
    except EmptyResultSet:
        return 0, []
    way = "DESC" if order == "-pk" else "ASC"
    statement = f"""
        WITH found(key) AS MATERIALIZED ({inner})
        SELECT (SELECT count(*) FROM found),
               ARRAY(SELECT key FROM found ORDER BY key {way} LIMIT %s OFFSET %s)
    """  # noqa: S608  (a query of the ORM's, with its parameters)
    with connection.cursor() as cursor:
        cursor.execute(statement, [*parameters, PAGE_SIZE, (number - 1) * PAGE_SIZE])
        total, keys = cursor.fetchone()
    return total, keys


def _page_beyond(rows: QuerySet[Row], order: str, way: str, key: int) -> ListPage[Row]:
    """The page behind `key`, or the one that ends before it."""
    forward = way == "after"
    comparison = "gt" if forward == (order == "pk") else "lt"
    beyond = rows.filter(**{f"pk__{comparison}": key})
    beyond = beyond.order_by("pk" if comparison == "gt" else "-pk")
    keys = list(beyond.values_list("pk", flat=True)[: PAGE_SIZE + 1])
    further, keys = len(keys) > PAGE_SIZE, keys[:PAGE_SIZE]
    keys = keys if forward else keys[::-1]
    more_before, more_after = (True, further) if forward else (further, True)
    return ListPage(
        _whole_rows(rows, keys),
        None,
        COUNTED // PAGE_SIZE,
        COUNTED,
        True,
        f"before={keys[0]}" if keys and more_before else "",
        f"after={keys[-1]}" if keys and more_after else "",
    )


def _whole_rows(rows: QuerySet[Row], keys: Sequence[Any]) -> tuple[Row, ...]:
    """The rows with these keys, in their order, with all that the list annotates and joins."""
    found = {row.pk: row for row in rows.order_by().filter(pk__in=keys)}
    return tuple(found[key] for key in keys if key in found)


def _whole(text: str) -> int:
    """A page number as it was typed; 1 for anything else."""
    return int(text) if text.isascii() and text.isdecimal() and len(text) < 10 else 1
