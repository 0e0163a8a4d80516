"""From a snapshot's file to what an engine reads, or a list of what cannot be trained on.

    snapshot file ─► preflight: lengths, repeated rows ─► refused with a list, or
                  ─► seeded split ─► train.jsonl, valid.jsonl (and LLaMA-Factory's dataset_info.json)

A row that is too long is refused here because the engines would cut it silently.
"""

from __future__ import annotations

import hashlib
import json
import math
import shutil
import uuid
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

from training.corpora import place
from training.recipes.settings import GspoRecipe, Rubrics, SftRecipe

HELD_OUT = Fraction(1, 100)
"""The share of rows that is evaluated on and not learned (ours: the paper does not give it)."""

MIN_ROWS, LONGEST_LIST = 2, 20

SYSTEM = {"smollm2": "You are a helpful AI assistant named SmolLM, trained by Hugging Face."}
"""What a template says where a row has no system turn."""

Count = Callable[[str], int]


class PreflightError(Exception):
    """Rows that must not be trained on; the message lists them with their reasons."""


@dataclass(frozen=True, slots=True)
class Written:
    train: int
    valid: int


def corpus_for(recipe: SftRecipe | GspoRecipe) -> str:
    """The snapshot's file that a recipe trains on."""
    if isinstance(recipe, GspoRecipe):
        return "rl"
    if recipe.trains == "rubricgen":
        return "rubricgen"
    return "sft_no_rubric" if recipe.rubrics is Rubrics.NONE else "sft"


def write_job_data(rows: Path, folder: Path, recipe: SftRecipe | GspoRecipe, count: Count) -> Written:
    """Writes the rows of a snapshot's file for a recipe; `count` tells the tokens of a text.

    Rows are streamed, and `folder` appears only when it is whole. Raises PreflightError with a list when a
    row is longer than the recipe's cutoff, or when rows repeat; FileExistsError when there is a folder.
    """
    if folder.exists():
        raise FileExistsError(f"{folder} is there already")
    valid = _preflight(rows, recipe, count)
    part = folder.with_name(f"{folder.name}.part-{uuid.uuid4().hex[:8]}")
    part.mkdir(parents=True)
    try:
        written = _write(rows, part, valid)
        if isinstance(recipe, SftRecipe):
            (part / "dataset_info.json").write_text(_dataset_info(), encoding="utf-8")
        part.rename(folder)
    except BaseException:
        shutil.rmtree(part, ignore_errors=True)
        raise
    return written


def _preflight(rows: Path, recipe: SftRecipe | GspoRecipe, count: Count) -> frozenset[str]:
    """The ids of the rows to hold out: the lowest places in a seeded order."""
    limit = recipe.input_cutoff if isinstance(recipe, GspoRecipe) else recipe.cutoff
    problems: list[str] = []
    seen: dict[bytes, str] = {}
    ids: list[str] = []
    for row in _rows(rows):
        name = str(row["id"])
        ids.append(name)
        tokens = tokens_of(row, recipe.template, count)
        if tokens > limit:
            problems.append(f"row {name}: {tokens:,} tokens, more than the cutoff of {limit:,}")
        content = hashlib.sha256(json.dumps(row["messages"]).encode()).digest()
        if content in seen:
            problems.append(f"row {name}: the same as row {seen[content]}")
        seen.setdefault(content, name)
    if len(ids) < MIN_ROWS:
        raise PreflightError(f"{rows.name} has {len(ids)} rows: one to learn and one to evaluate are needed")
    if problems:
        more = f" And {len(problems) - LONGEST_LIST:,} more." if len(problems) > LONGEST_LIST else ""
        raise PreflightError(
            f"{len(problems):,} of {len(ids):,} rows cannot be trained on. "
            + "; ".join(problems[:LONGEST_LIST])
            + f".{more}"
        )
    wanted = min(len(ids) - 1, math.ceil(len(ids) * HELD_OUT))
    return frozenset(sorted(ids, key=lambda one: place(recipe.seed, one))[:wanted])


def tokens_of(row: dict[str, Any], template: str, count: Count) -> int:
    """A row's tokens as the model reads them, in the ChatML of Qwen3 (without thinking) and SmolLM2:

        <|im_start|>ROLE line feed CONTENT<|im_end|> line feed

    The markers are one token each; a response is encoded by itself, as it is learned. A row without one ends
    where it would begin.
    """
    turns = [*([{"role": "system", "content": SYSTEM[template]}] if template in SYSTEM else [])]
    turns += row["messages"]
    head = 1 + count("assistant\n")
    tokens = 0
    for turn in turns:
        if turn["role"] == "assistant":
            tokens += head + count(turn["content"]) + 2
        else:
            tokens += 1 + count(f"{turn['role']}\n{turn['content']}") + 2
    return tokens if turns[-1]["role"] == "assistant" else tokens + head


def _rows(path: Path) -> Iterator[dict[str, Any]]:
    with path.open(encoding="utf-8", newline="\n") as file:
        for line in file:
            yield json.loads(line)


def _write(rows: Path, part: Path, valid: frozenset[str]) -> Written:
    counts = [0, 0]
    train, held = part / "train.jsonl", part / "valid.jsonl"
    with rows.open("rb") as file, train.open("wb") as learned, held.open("wb") as evaluated:
        for line in file:
            is_held = str(json.loads(line)["id"]) in valid
            (evaluated if is_held else learned).write(line)
            counts[is_held] += 1
    return Written(*counts)


def _dataset_info() -> str:
    """LLaMA-Factory's own description of a folder (its data/README: sharegpt with OpenAI's roles)."""
    tags = {f"{role}_tag": role for role in ("user", "assistant", "system")}
    entry = {
        "formatting": "sharegpt",
        "columns": {"messages": "messages"},
        "tags": {"role_tag": "role", "content_tag": "content", **tags},
    }
    return (
        json.dumps({name: {"file_name": f"{name}.jsonl", **entry} for name in ("train", "valid")}, indent=2)
        + "\n"
    )
