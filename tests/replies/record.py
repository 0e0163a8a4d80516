"""Recording replies of real models to the exact prompts of this project's templates, for real requests.

    BENCHMARK_DATA=... python -m tests.replies.record next FOLDER --requests 10 --stage discovery
    (a model answers each FOLDER/*.prompt.txt in a file beside it, *.reply.txt)
    python -m tests.replies.record add FOLDER --model NAME

The requests themselves are not kept, only their places in the files; whoever has the files can render the
prompts again.

`next` writes the prompts that are not answered yet. Consolidation needs the recorded discovery of its
request, and scoring the consolidation. `add` reads each reply with the real parser and appends it with what
was read to `real_requests.jsonl`; look at that: it is what the tests expect from then on. A reply that the
parser refuses is appended only with --unusable, with the reason.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from curation.languages import detect_language
from llm.prompts import PromptTemplate, load_template
from llm.text import answer_text
from llm.types import UnusableReplyError
from rubrics.construction import MiningTrace, assemble_rubric
from rubrics.parsing import Dimension, parse_dimensions, parse_intervals, render_dimensions
from rubrics.rubric_reply import parse_rubric

RECORDED = Path(__file__).parent / "real_requests.jsonl"
LONGEST_REQUEST = 1_500
"""Characters; longer requests carry whole documents, which recorded prompts would repeat."""

SOURCES = (
    ("longbench_write", "longbench_write/longbench_write.jsonl", "prompt"),
    ("writingbench", "writingbench/length_subset.jsonl", "query"),
)


@dataclass(frozen=True)
class Request:
    id: str
    text: str
    language: str


@dataclass(frozen=True)
class Question:
    """A prompt to be answered: a template and what fills its slots."""

    request: str
    language: str
    stage: str
    slots: Mapping[str, str]

    @property
    def prompt(self) -> str:
        (message,) = self.template.render(**self.slots)
        return message.content

    @property
    def template(self) -> PromptTemplate:
        name = self.stage if self.stage in ("drg", "rubricgen") else f"irg-{self.stage}"
        return load_template("rubrics", name, 1, language=self.language)

    @property
    def digest(self) -> str:
        """SHA-256 of the prompt, by which a reply is known to belong to it."""
        return hashlib.sha256(self.prompt.encode()).hexdigest()


def read_reply(stage: str, reply: str) -> Any:
    """What the real parser makes of a reply, as JSON: dimensions, intervals, or a whole rubric."""
    answer = answer_text(reply)
    if stage == "scoring":
        return [asdict(interval) for interval in parse_intervals(answer)]
    if stage in ("discovery", "consolidation"):
        return [asdict(dimension) for dimension in parse_dimensions(answer)]
    return assemble_rubric(MiningTrace(specifications=tuple(parse_rubric(answer)))).to_json()


def requests() -> list[Request]:
    """Real requests of both files, in turns, English and Chinese in turns as far as both last."""
    folder = Path(os.environ["BENCHMARK_DATA"])
    found: dict[str, list[Request]] = {"en": [], "zh": []}
    for name, path, field in SOURCES:
        for number, line in enumerate((folder / path).read_text(encoding="utf-8").split("\n")):
            text = json.loads(line)[field] if line else ""
            language = detect_language(text).code if text else ""
            if language in found and len(text) <= LONGEST_REQUEST:
                found[language].append(Request(f"{name}-{number}", text, language))
    for rows in found.values():
        rows.sort(key=lambda request: int(request.id.rpartition("-")[2]))
    return [request for pair in zip(*found.values(), strict=False) for request in pair]


def question_of(row: Mapping[str, Any]) -> Question:
    """The question of a recorded row, with its request read from the real files."""
    text = next(request.text for request in requests() if request.id == row["request"])
    return Question(row["request"], row["language"], row["stage"], {"query": text, **row["slots"]})


def recorded() -> list[dict[str, Any]]:
    if not RECORDED.exists():
        return []
    return [json.loads(line) for line in RECORDED.read_text(encoding="utf-8").split("\n") if line]


def questions(request: Request, stage: str, rows: list[dict[str, Any]]) -> Iterator[Question]:
    """The prompts of a stage for a request; none while the stage before it is not recorded."""
    before = {"consolidation": "discovery", "scoring": "consolidation"}.get(stage)
    if before is None:
        yield Question(request.id, request.language, stage, {"query": request.text})
        return
    for row in rows:
        if (row["request"], row["stage"]) == (request.id, before) and not row["failure"]:
            found = [Dimension(**each) for each in row["expected"]]
            filled = (
                [{"metrics_block": render_dimensions(found)}]
                if stage == "consolidation"
                else [{"name": one.name, "criteria_description": one.reason} for one in found[:8]]
            )
            for slots in filled:
                yield Question(request.id, request.language, stage, {"query": request.text, **slots})
            return


def write_next(folder: Path, stage: str, count: int) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    rows = recorded()
    answered = {row["prompt_sha256"] for row in rows}
    left = count
    for request in requests():
        asked = [one for one in questions(request, stage, rows) if one.digest not in answered]
        for number, question in enumerate(asked):
            stem = f"{request.id}-{stage}-{number}"
            (folder / f"{stem}.prompt.txt").write_text(question.prompt, encoding="utf-8")
            (folder / f"{stem}.json").write_text(
                json.dumps(asdict(question), ensure_ascii=False), encoding="utf-8"
            )
            print(folder / f"{stem}.prompt.txt")
        left -= bool(asked)
        if not left:
            return


def add(folder: Path, model: str, *, unusable: bool) -> None:
    known = {(row["prompt_sha256"], row["reply"]) for row in recorded()}
    for reply_file in sorted(folder.glob("*.reply.txt")):
        stem = reply_file.name.removesuffix(".reply.txt")
        question = Question(**json.loads((folder / f"{stem}.json").read_text(encoding="utf-8")))
        with reply_file.open(encoding="utf-8", newline="") as file:
            reply = file.read()
        expected, failure = None, ""
        try:
            expected = read_reply(question.stage, reply)
        except UnusableReplyError as error:
            failure = str(error)
        print(f"{stem}: {failure or f'{len(expected or ())} read'}")
        if (question.digest, reply) in known or (failure and not unusable):
            continue
        row = {
            **asdict(question),
            "slots": {name: text for name, text in question.slots.items() if name != "query"},
            "template": question.template.identity,
            "prompt_sha256": question.digest,
            "model": model,
            "reply": reply,
            "expected": expected,
            "failure": failure,
        }
        with RECORDED.open("a", encoding="utf-8") as file:
            file.write(json.dumps(row, ensure_ascii=False) + "\n")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    following = commands.add_parser("next", help="write the next prompts")
    following.add_argument("folder", type=Path)
    following.add_argument("--requests", type=int, default=10, help="how many requests")
    following.add_argument(
        "--stage", choices=["discovery", "consolidation", "scoring", "drg", "rubricgen"], required=True
    )
    adding = commands.add_parser("add", help="read the replies and append them")
    adding.add_argument("folder", type=Path)
    adding.add_argument("--model", required=True, help="what answered")
    adding.add_argument("--unusable", action="store_true", help="append refused replies too")
    options = parser.parse_args()
    if options.command == "next":
        write_next(options.folder, options.stage, options.requests)
    else:
        add(options.folder, options.model, unusable=options.unusable)


if __name__ == "__main__":
    main()
