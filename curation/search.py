"""Finding texts: by an index of their terms, without extensions of the database, then by the phrase itself.

A row's `search` column holds the terms of its text; whoever writes the text sets it to NULL, and a run of
kind 'index' fills it. Rows that wait for that are looked through one by one, so that nothing is missed.
"""

from __future__ import annotations

from typing import Any

from django.db.models import BooleanField, F, Func, Q, QuerySet, Value
from django.db.models.functions import Lower

from curation.search_terms import normalized, parse_query
from llm.listing import Search


class _HasTerms(Func):
    """`search @@ tsquery`, the query taken as it stands: no parser of the database's has a say.

    In a SELECT of its own the query is unknown to the planner, which then takes every search for a rare one
    and goes by the index. It does not know that reading the terms of a row costs more than the row.
    """

    template = "(%(expressions)s::tsquery))"
    arg_joiner = " @@ (SELECT "
    output_field = BooleanField()


class _Matches(Func):
    """A regular expression, whatever the case."""

    template = "(%(expressions)s)"
    arg_joiner = " ~* "
    output_field = BooleanField()


class _Holds(Func):
    template = "(strpos(%(expressions)s) > 0)"
    output_field = BooleanField()


def search_by(field: str = "text", *, terms: str = "search", label: str = "Search the text") -> Search:
    """A list's search field over a text column and the column of its terms."""
    return Search(lambda rows, typed: matching(rows, typed, field=field, terms=terms), label=label)


def matching(rows: QuerySet[Any], typed: str, *, field: str = "text", terms: str = "search") -> QuerySet[Any]:
    """The rows whose text has what was typed: its words side by side, the last one perhaps unfinished; of
    unspaced scripts any stretch of characters.

    Case, the width of letters, and what stands between words make no difference. Of a query without a letter
    or digit every text is read. Asks first whether any text waits for the index.
    """
    query = parse_query(typed)
    if query.empty:
        return rows.filter(_Holds(Lower(F(field)), Value(normalized(typed).strip())))
    phrase = Q(_Matches(F(field), Value(query.pattern)))
    indexed = Q(_HasTerms(F(terms), Value(query.expression())))
    if not query.exact:
        indexed &= phrase
    everything = rows.model._base_manager.all()
    waiting = everything.filter(**{f"{terms}__isnull": True}).exclude(**{field: ""})
    if not waiting.exists():
        return rows.filter(indexed)
    either = everything.filter(indexed).values("pk").union(waiting.filter(phrase).values("pk"), all=True)
    return rows.filter(pk__in=either)
