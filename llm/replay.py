"""Stored calls as a file, and a client that answers from one: a run without the model that it was made with.

    export_calls ─► calls.jsonl ─► endpoint `replay:calls.jsonl` ─► the same replies to the same questions

A question is known by what was asked (template, messages, temperature and nucleus, sample, attempt), not by
who answered or how long the reply was allowed to be, so that an endpoint with other limits replays it too.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import orjson

from llm.reply import Reply
from llm.types import ChatRequest, EndpointError, RefusedError

SCHEME = "replay:"


def is_replay(base_url: str) -> bool:
    return base_url.startswith(SCHEME)


def replay_path(base_url: str) -> Path:
    """The file that an address names; a relative one is looked for in the current folder."""
    return Path(base_url.removeprefix(SCHEME)).expanduser()


def question_digest(
    template: str, messages: list[list[str]], sampling: Mapping[str, Any], sample_index: int, attempt: int
) -> bytes:
    """What a question is known by, 16 bytes."""
    asked = [
        template,
        messages,
        [sampling.get(name) for name in ("temperature", "top_p", "top_k")],
        sample_index,
        attempt,
    ]
    return hashlib.sha256(json.dumps(asked, separators=(",", ":")).encode("ascii")).digest()[:16]


def digest_of(request: ChatRequest) -> bytes:
    sampling = request.sampling
    return question_digest(
        request.template,
        [[message.role, message.content] for message in request.messages],
        {"temperature": sampling.temperature, "top_p": sampling.top_p, "top_k": sampling.top_k},
        request.sample_index,
        request.attempt,
    )


def digest_of_row(row: Mapping[str, Any]) -> bytes:
    """The same for a stored call, of which `template` and `request` are read."""
    request = row["request"]
    messages = [[message["role"], message["content"]] for message in request["messages"]]
    return question_digest(
        row["template"], messages, request["sampling"], request["sample_index"], request["attempt"]
    )


class ReplayClient:
    """Answers as `OpenAIChatClient` does, from a file of stored calls. Of a question that stands in it twice
    the first reply counts. What is held is 16 bytes and a place for each call."""

    def __init__(self, file: int, name: str, places: Mapping[bytes, tuple[int, int]]) -> None:
        self._file, self._name, self._places = file, name, places

    async def complete(self, request: ChatRequest, seed: int) -> Reply:
        """Raises RefusedError for a question that the file does not have."""
        place = self._places.get(digest_of(request))
        if place is None:
            which = f"sample {request.sample_index}, attempt {request.attempt}"
            asked = request.messages[-1].content[:80].replace("\n", " ")
            raise RefusedError(
                f"{self._name} has no reply to this question of {request.template} ({which}): {asked}…"
            )
        row = orjson.loads(os.pread(self._file, place[1], place[0]))
        return Reply(
            text=row["text"],
            finish_reason=row["finish_reason"],
            resolved_model=row["resolved_model"],
            prompt_tokens=row["prompt_tokens"],
            completion_tokens=row["completion_tokens"],
            latency_ms=0,
        )


@contextmanager
def open_replay(path: Path) -> Iterator[ReplayClient]:
    """Raises EndpointError for a file that cannot be read or holds no stored calls, with the line."""
    try:
        with path.open("rb") as file:
            yield ReplayClient(file.fileno(), path.name, _index(path))
    except OSError as error:
        raise EndpointError(f"{path} cannot be read: {error.strerror}") from error


def _index(path: Path) -> dict[bytes, tuple[int, int]]:
    places: dict[bytes, tuple[int, int]] = {}
    start = 0
    with path.open("rb") as file:
        for number, line in enumerate(file, 1):
            try:
                places.setdefault(digest_of_row(orjson.loads(line)), (start, len(line)))
            except (ValueError, KeyError, TypeError) as error:
                said = f"{path}, line {number}: not a stored call ({type(error).__name__}: {error})"
                raise EndpointError(said) from error
            start += len(line)
    if not places:
        raise EndpointError(f"{path} holds no stored calls")
    return places
