"""Training rows: which prompt serves which stage, and each row as a line of JSON (3.4, A.1, B.1). Pure."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Generic, TypeVar

from llm.prompts import load_template
from rubrics.rubric import Rubric, writer_input

SFT_SHARE = Fraction(15, 19)
"""Share of the corpus for supervised training of the writer: 15K of 19K, the rest is for RL (paper A.1)."""

PromptId = TypeVar("PromptId", int, str)

_THINK_TAG = re.compile(r"</?think>")
_LINE_SEPARATORS = str.maketrans({c: f"\\u{ord(c):04x}" for c in "\x85\u2028\u2029"})


@dataclass(frozen=True, slots=True)
class Split(Generic[PromptId]):
    """Disjoint prompts for the two stages, each in the order in which they were given."""

    sft: tuple[PromptId, ...]
    rl: tuple[PromptId, ...]


def split_prompts(
    ids: Collection[PromptId], *, seed: int, sft_share: Fraction = SFT_SHARE
) -> Split[PromptId]:
    """Splits prompts so that `sft_share` of them, rounded half up, train the writer by demonstration.

    Each prompt has a place of its own, the hash of seed and id, and the lowest places go to SFT. So the
    order of `ids` does not matter, and one more prompt moves at most one of the others.
    Raises ValueError for repeated ids or a share outside [0, 1].
    """
    if not 0 <= sft_share <= 1:
        raise ValueError(f"a share of {sft_share} is not between 0 and 1")
    if len(set(ids)) != len(ids):
        raise ValueError("a prompt is given twice")
    wanted = (len(ids) * sft_share + Fraction(1, 2)).__floor__()
    chosen = set(sorted(ids, key=lambda one: place(seed, one))[:wanted])
    return Split(
        sft=tuple(one for one in ids if one in chosen), rl=tuple(one for one in ids if one not in chosen)
    )


def sft_row(prompt_id: int | str, request: str, rubric: Rubric, response: str) -> dict[str, Any]:
    """Request and rubric in the user's turn, the demonstration as the assistant's (paper A.1)."""
    return {
        "id": prompt_id,
        "messages": [_turn("user", writer_input(request, rubric)), _label(response)],
        "rubric_digest": rubric.digest,
    }


def plain_sft_row(prompt_id: int | str, request: str, response: str) -> dict[str, Any]:
    """The row of `sft_row` without its rubric: the ablation of Table 3, on the same prompts."""
    return {"id": prompt_id, "messages": [_turn("user", request), _label(response)]}


def rl_row(prompt_id: int | str, request: str, rubric: Rubric, *, language: str = "en") -> dict[str, Any]:
    """Only the user's turn; `rubric` is the serialized rubric that the reward reads (paper 3.4), and
    `language` that of the request, in which the judge is asked."""
    return {
        "id": prompt_id,
        "messages": [_turn("user", writer_input(request, rubric))],
        "rubric": rubric.serialize(),
        "language": language,
        "rubric_digest": rubric.digest,
    }


def rubricgen_row(
    prompt_id: int | str, request: str, rubric: Rubric, *, language: str = "en"
) -> dict[str, Any]:
    """The request inside the generator's instruction, the serialized rubric as its answer (B.1, G.3).

    The instruction is the one that the generator will read for a request in `language`.
    """
    template = load_template("rubrics", "rubricgen", 1, language=language)
    instruction = template.render(query=request)[0].content
    return {
        "id": prompt_id,
        "messages": [_turn("user", instruction), _label(rubric.serialize())],
        "rubric_digest": rubric.digest,
    }


def json_line(row: Mapping[str, Any]) -> bytes:
    """One line of JSONL in UTF-8, readable Unicode, ending in a line feed.

    U+0085, U+2028 and U+2029 are escaped, so that a reader which takes them for line ends gets the same
    rows. Raises ValueError for lone surrogates and for numbers that JSON does not have.
    """
    text = json.dumps(row, ensure_ascii=False, allow_nan=False).translate(_LINE_SEPARATORS)
    try:
        return text.encode("utf-8") + b"\n"
    except UnicodeEncodeError as error:
        raise ValueError(f"row {row.get('id')!r} holds a lone surrogate, which UTF-8 cannot hold") from error


def _turn(role: str, content: str) -> dict[str, str]:
    return {"role": role, "content": content}


def _label(content: str) -> dict[str, str]:
    """The assistant's turn, which training learns word by word. Raises ValueError for unfit text."""
    if not content.strip():
        raise ValueError("the text to be learned is empty")
    if tag := _THINK_TAG.search(content):
        raise ValueError(f"the text to be learned holds the tag {tag[0]}")
    return _turn("assistant", content)


def place(seed: int, prompt_id: int | str) -> bytes:
    """Where something stands in an order that a seed shuffles and that no other thing moves."""
    return hashlib.sha256(f"{seed}:{prompt_id}".encode()).digest()
