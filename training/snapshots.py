"""Writing a corpus snapshot: the corpora as JSON lines, and the manifest that accounts for every prompt.

    prompts ─► split (seeded) ─► rows, or a reason for leaving out ─► part files ─► checksums ─► renamed, done

Rows are streamed; a snapshot that broke off is written again from the start.
"""

from __future__ import annotations

import hashlib
import json
import shutil
import uuid
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import Any, BinaryIO

from django.conf import settings
from django.utils import timezone

from curation.models import CorpusPrompt, Reconstruction, SourcePrompt
from llm.models import Completion
from rubrics.models import Rubric as RubricRow
from rubrics.rubric import Rubric
from training import corpora
from training.models import Candidate, CorpusSnapshot
from training.rubric_choice import DEFAULT_CHOICE, RubricChoice, chosen_rubrics, one_per_prompt

CORPORA = ("sft", "sft_no_rubric", "rl", "rubricgen")
LISTED_LEFT_OUT = 2_000
PAGE = 500


@dataclass
class Ledger:
    """What went in, and what was left out and why, prompt by prompt."""

    rows: Counter[str] = field(default_factory=Counter)
    methods: Counter[str] = field(default_factory=Counter)
    constructors: set[str] = field(default_factory=set)
    writers: set[str] = field(default_factory=set)
    unlinted: int = 0
    left_out: Counter[str] = field(default_factory=Counter)
    listed: list[dict[str, Any]] = field(default_factory=list)

    def count(self, rubric: RubricRow) -> None:
        self.methods[rubric.method] += 1
        self.constructors.add(rubric.constructor)
        self.unlinted += not rubric.lint_version

    def leave_out(self, prompt_id: int, corpus: str, reason: str) -> None:
        self.left_out[f"{corpus}: {reason}"] += 1
        if len(self.listed) < LISTED_LEFT_OUT:
            self.listed.append({"prompt": prompt_id, "corpus": corpus, "reason": reason})


@dataclass(frozen=True)
class PromptRows:
    """A prompt with what is needed to export it, or why it has no rubric for that."""

    prompt: CorpusPrompt
    rubric: RubricRow | None
    no_rubric: str
    demonstration: Candidate | None
    no_demonstration: str


def snapshot_folder(snapshot: CorpusSnapshot) -> Path:
    return Path(settings.MEDIA_ROOT) / "snapshots" / str(snapshot.pk)


def write_snapshot(snapshot: CorpusSnapshot) -> dict[str, Any]:
    """Writes the files into the snapshot's folder and returns the manifest.

    Nobody sees a half-written snapshot: files are made in a folder of their own and renamed at the end.
    """
    folder = snapshot_folder(snapshot)
    part = folder.with_name(f"{folder.name}.part-{uuid.uuid4().hex[:8]}")
    part.mkdir(parents=True)
    ledger = Ledger()
    files = {name: (part / f"{name}.jsonl").open("wb") for name in CORPORA}
    try:
        _write_rows(snapshot, files, ledger)
    finally:
        for file in files.values():
            file.close()
    manifest = _manifest(snapshot, part, ledger)
    (part / "manifest.json").write_text(json.dumps(manifest, ensure_ascii=False, indent=2), encoding="utf-8")
    shutil.rmtree(folder, ignore_errors=True)
    part.rename(folder)
    return manifest


def corpus_digest(seed: int, sft_share: Fraction, choice: RubricChoice = DEFAULT_CHOICE) -> str:
    """SHA-256 over what an export would hold now; two exports with the same content have the same digest."""
    digest = hashlib.sha256(f"{seed} {sft_share} {json.dumps(choice.as_parameters())}".encode())
    prompts = CorpusPrompt.objects.order_by("pk").values_list("pk", "excluded_because")
    rubrics = chosen_rubrics(choice).values_list("prompt_id", "digest", "lint_version", "lint")
    chosen = Candidate.objects.filter(demonstration=True).order_by("pk").values_list("pk", "rubric_id")
    for row in (*prompts.iterator(), *rubrics.iterator(), *chosen.iterator()):
        digest.update(repr(row).encode())
    return digest.hexdigest()


def _write_rows(snapshot: CorpusSnapshot, files: Mapping[str, BinaryIO], ledger: Ledger) -> None:
    choice = RubricChoice.of(snapshot.parameters)
    split = corpora.split_prompts(
        sorted(_with_rubric(choice)),
        seed=int(snapshot.parameters["seed"]),
        sft_share=Fraction(snapshot.parameters["sft_share"]),
    )
    in_sft = set(split.sft)

    def put(corpus: str, row: dict[str, Any]) -> None:
        files[corpus].write(corpora.json_line(row))
        ledger.rows[corpus] += 1

    for entry in _prompts(choice):
        prompt = entry.prompt
        if prompt.excluded_because:
            ledger.leave_out(prompt.pk, "all", prompt.excluded_because)
            continue
        if entry.rubric is None:
            ledger.leave_out(prompt.pk, "all", entry.no_rubric)
            continue
        ledger.count(entry.rubric)
        rubric = Rubric.from_json(entry.rubric.dimensions)
        put("rubricgen", corpora.rubricgen_row(prompt.pk, prompt.text, rubric, language=prompt.language))
        if prompt.pk not in in_sft:
            put("rl", corpora.rl_row(prompt.pk, prompt.text, rubric, language=prompt.language))
        elif entry.demonstration is None:
            ledger.leave_out(prompt.pk, "sft", entry.no_demonstration)
        else:
            try:
                row = corpora.sft_row(prompt.pk, prompt.text, rubric, entry.demonstration.text)
            except ValueError as error:
                ledger.leave_out(prompt.pk, "sft", str(error))
                continue
            ledger.writers.add(entry.demonstration.completion.resolved_model)
            put("sft", row)
            put("sft_no_rubric", corpora.plain_sft_row(prompt.pk, prompt.text, entry.demonstration.text))


def _with_rubric(choice: RubricChoice) -> set[int]:
    """The prompts whose rubric is exported: they are what is split."""
    first: dict[int, RubricRow] = {}
    rows = chosen_rubrics(choice).filter(prompt__excluded_because="")
    for row in rows.only("prompt_id", "lint", "lint_version").iterator():
        first.setdefault(row.prompt_id, row)
    return {prompt_id for prompt_id, row in first.items() if not choice.objection(row)}


def _prompts(choice: RubricChoice) -> Iterator[PromptRows]:
    """Every corpus prompt in order, a page of rows at a time."""
    last = 0
    while page := list(CorpusPrompt.objects.filter(pk__gt=last).order_by("pk")[:PAGE]):
        last = page[-1].pk
        rubrics = one_per_prompt(choice, page)
        others = set(RubricRow.objects.filter(prompt__in=page).values_list("prompt_id", flat=True))
        candidates: dict[int, list[Candidate]] = {}
        written = Candidate.objects.filter(rubric__in=rubrics.values()).select_related("completion")
        for candidate in written.order_by("index"):
            candidates.setdefault(candidate.rubric_id, []).append(candidate)
        for prompt in page:
            rubric = rubrics.get(prompt.pk)
            if rubric is None:
                yield PromptRows(prompt, None, _no_rubric(choice, prompt.pk in others), None, "")
            elif objection := choice.objection(rubric):
                yield PromptRows(prompt, None, objection, None, "")
            else:
                yield _with_demonstration(prompt, rubric, candidates.get(rubric.pk, []))


def _no_rubric(choice: RubricChoice, has_another: bool) -> str:
    if not has_another:
        return "it has no rubric yet"
    by = f" by {choice.constructor}" if choice.constructor else ""
    return f"it has no {RubricRow.Method(choice.method).label} rubric{by}, only others"


def _with_demonstration(prompt: CorpusPrompt, rubric: RubricRow, candidates: list[Candidate]) -> PromptRows:
    chosen = next((candidate for candidate in candidates if candidate.demonstration), None)
    if not candidates:
        reason = "it has no candidates yet"
    else:
        reason = candidates[0].selection_reason or "no demonstration has been selected yet"
    return PromptRows(prompt, rubric, "", chosen, reason)


def _manifest(snapshot: CorpusSnapshot, part: Path, ledger: Ledger) -> dict[str, Any]:
    choice = RubricChoice.of(snapshot.parameters)
    return {
        "name": snapshot.name,
        "written_at": timezone.now().isoformat(timespec="seconds"),
        "settings": snapshot.parameters,
        "content": corpus_digest(
            int(snapshot.parameters["seed"]), Fraction(snapshot.parameters["sft_share"]), choice
        ),
        "rows": {corpus: ledger.rows[corpus] for corpus in CORPORA},
        "left_out": dict(ledger.left_out.most_common()),
        "left_out_prompts": ledger.listed,
        "upstream": _upstream(),
        "rubrics": {
            **choice.as_parameters(),
            "exported_by_method": dict(ledger.methods.most_common()),
            "not_read_by_lint": ledger.unlinted,
        },
        "rubric_constructors": sorted(ledger.constructors),
        "writers": sorted(ledger.writers),
        "templates": sorted(set(Completion.objects.order_by().values_list("template", flat=True).distinct())),
        "files": [_file_entry(part / f"{corpus}.jsonl", ledger.rows[corpus]) for corpus in CORPORA],
    }


def _upstream() -> dict[str, Any]:
    """Where every source prompt went before it could become a corpus prompt: the counts add up."""
    states = Counter(Reconstruction.objects.values_list("state", flat=True))
    return {
        "source_prompts": SourcePrompt.objects.count(),
        "source_prompts_excluded": SourcePrompt.objects.exclude(excluded_because="").count(),
        "source_prompts_not_reconstructed": SourcePrompt.objects.filter(
            excluded_because="", reconstructions=None
        ).count(),
        "reconstructions": sum(states.values()),
        "reconstructions_by_state": dict(states.most_common()),
        "corpus_prompts": CorpusPrompt.objects.count(),
    }


def _file_entry(path: Path, rows: int) -> dict[str, Any]:
    with path.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    return {"name": path.name, "rows": rows, "bytes": path.stat().st_size, "sha256": digest}
