"""Rubrics as files: the canonical list, and WritingBench's lines that hold one as their checklist. Pure."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from rubrics.rubric import NAME, SCOPE, InvalidRubricError, Rubric

LARGEST = 2_000_000
"""Bytes of a file that holds one rubric (ours)."""


def read_checklist(source: str | bytes) -> Rubric:
    """The rubric in a JSON list of dimensions, or in a line of WritingBench: an object with a `checklist`.

    Raises InvalidRubricError, which names the dimension and the key.
    """
    text = _decoded(source)
    if not text.strip():
        raise InvalidRubricError("there is nothing in it")
    if not text.lstrip().startswith("{"):
        return Rubric.from_json(text)
    lines = [line for line in text.split("\n") if line.strip()]
    try:
        whole = json.loads(text, object_pairs_hook=_without_repeats)
    except RecursionError:
        raise InvalidRubricError("not a rubric: nested too deeply") from None
    except InvalidRubricError:
        raise
    except ValueError as error:
        if len(lines) > 1 and lines[0].rstrip().endswith("}"):
            raise InvalidRubricError(f"{len(lines)} lines: give the one whose rubric is meant") from None
        raise InvalidRubricError(f"not JSON: {error}") from None
    if not isinstance(whole.get("checklist"), list):
        keys = ", ".join(list(whole)[:8])
        raise InvalidRubricError(f'an object without a list "checklist": it has {keys or "no keys"}')
    return Rubric.from_json(whole["checklist"])


def checklist_line(
    *, index: int, query: str, checklist: list[dict[str, str]], provenance: Mapping[str, Any]
) -> str:
    """One line in WritingBench's shape, with its line end; the key `provenance` is ours."""
    line = {"index": index, "domain1": "", "domain2": "", "query": query, "checklist": checklist}
    return json.dumps({**line, "provenance": provenance}, ensure_ascii=False) + "\n"


def in_canonical_order(dimension: Mapping[str, str]) -> dict[str, str]:
    """A stored dimension with its keys as the canonical form has them: a database keeps them in another
    order."""
    labels = [key for key in dimension if key not in (NAME, SCOPE)]
    labels.sort(key=lambda label: int(label.partition("-")[0]))
    return {key: dimension[key] for key in (NAME, SCOPE, *labels)}


def _decoded(source: str | bytes) -> str:
    if isinstance(source, str):
        return source
    try:
        return source.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InvalidRubricError(f"not UTF-8 text: byte {error.start} cannot be read") from None


def _without_repeats(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    keys = [key for key, _ in pairs]
    if repeated := next((key for key in keys if keys.count(key) > 1), None):
        raise InvalidRubricError(f'the key "{repeated}" is given twice in one object')
    return dict(pairs)
