"""Statements written by hand, for the few paths where a queryset costs more than its rows.

They are prepared once for each connection.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from itertools import islice
from typing import Any, Generic, TypeVar

import psycopg
from django.db import connection
from django.db.models import JSONField, Model

Parameters = Mapping[str, Any]
M = TypeVar("M", bound=Model)


@contextmanager
def _cursor(statement: str, parameters: Parameters) -> Iterator[psycopg.Cursor[Any]]:
    """Of Django's own connection, hence in its transaction; errors are raised as Django's."""
    connection.ensure_connection()
    with connection.wrap_database_errors, psycopg.Cursor(connection.connection) as cursor:
        yield cursor.execute(statement, parameters, prepare=True)


def fetch(statement: str, parameters: Parameters) -> list[tuple[Any, ...]]:
    """The rows that a statement gives."""
    with _cursor(statement, parameters) as cursor:
        return cursor.fetchall()


def execute(statement: str, parameters: Parameters) -> int:
    """How many rows a statement has touched."""
    with _cursor(statement, parameters) as cursor:
        return cursor.rowcount


class Columns(Generic[M]):
    """A table's columns in a SELECT list, and its object out of a row.

    What is left out is deferred.
    """

    def __init__(
        self, model: type[M], alias: str, *, only: Collection[str] = (), without: Collection[str] = ()
    ) -> None:
        fields = [
            field
            for field in model._meta.concrete_fields
            if field.attname not in without and (not only or field.attname in only)
        ]
        self._names = [field.attname for field in fields]
        self._of_json = [field.attname for field in fields if isinstance(field, JSONField)]
        self._model = model
        self.listed = ", ".join(f"{alias}.{name}" for name in self._names)

    def take(self, row: Iterator[Any]) -> M:
        """The object whose values come next in the row."""
        made = self._model.from_db(connection.alias, self._names, list(islice(row, len(self._names))))
        for name in self._of_json:  # which Django has the database's driver leave as text
            stored = getattr(made, name)
            setattr(made, name, None if stored is None else json.loads(stored))
        return made

    def load(self, statement: str, parameters: Parameters) -> list[M]:
        """The objects that a statement gives which lists these columns and no others."""
        return [self.take(iter(row)) for row in fetch(statement, parameters)]
