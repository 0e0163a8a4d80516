"""Rows for tests of pages: a small corpus with something in every state, and people of every role."""

from __future__ import annotations

import datetime as dt
import hashlib
import itertools
import uuid
from collections.abc import Iterator
from typing import Any

from django.contrib.auth.models import Group, User
from django.urls import reverse
from django.utils import timezone

from curation.models import (
    CheckVerdict,
    CorpusPrompt,
    Reconstruction,
    ReconstructionDraft,
    Review,
    ReviewSlot,
    ScreeningMatch,
    ScreeningSample,
    Source,
    SourcePrompt,
)
from curation.review import VerdictInput
from llm.access import Role
from llm.models import Completion, Endpoint, Run, RunItem, RunTick
from rubrics.models import Assessment, MiningTrace, Rubric
from rubrics.rubric import Rubric as RubricValue
from training.models import Candidate, CorpusSnapshot

PASSWORD = "a long pass phrase"

ENGLISH = "Write a letter to the editor about the closing of a village library.\n\nKeep it under 300 words."
CHINESE = "请为一场关于运河手工业的展览写一篇前言。\n\n要求：不少于四百字，语言平实，不用感叹号。"
HOSTILE = (
    "Keep these tags: <script>document.title='pwned'</script> <style>body{display:none}</style> "
    "</textarea></div></main> <think>never closed <img src=x onerror=\"document.title='pwned'\"> "
    "\u202eright to left"
)

_numbers = itertools.count(1)


def person(name: str, *roles: Role, password: str | None = None) -> User:
    """Without a password (hashing one takes a while) the account is signed in by the test itself."""
    user = User.objects.create_user(name, password=password)
    user.groups.set([Group.objects.get_or_create(name=role)[0] for role in roles])
    return user


def source(name: str = "requests") -> Source:
    return Source.objects.get_or_create(name=name, defaults={"file_name": f"{name}.jsonl"})[0]


def source_prompt(text: str = ENGLISH, language: str = "en", **fields: Any) -> SourcePrompt:
    number = next(_numbers)
    return SourcePrompt.objects.create(
        source=fields.pop("source", None) or source(),
        line=number,
        text=text,
        digest=hashlib.sha256(f"{number} {text}".encode()).hexdigest(),
        language=language,
        characters=len(text),
        segments=len(text.split()),
        **fields,
    )


def reconstruction(
    state: str = "in_review", text: str = ENGLISH, language: str = "en", **fields: Any
) -> Reconstruction:
    written = "" if state in ("planned", "failed") else text
    wanted = fields.pop("wanted_reviews", 1 if state in ("in_review", "flagged", "disputed") else 0)
    item = Reconstruction.objects.create(
        source_prompt=fields.pop("of", None) or source_prompt(language=language),
        index=fields.pop("index", 0),
        strategy=fields.pop("strategy", "length_recovery"),
        state=state,
        text=written,
        language=language if written else "",
        characters=len(written),
        segments=len(written.split()),
        wanted_reviews=wanted,
        **fields,
    )
    if state in ("in_review", "flagged"):
        for number in range(wanted):
            ReviewSlot.objects.create(reconstruction=item, number=number, suspended=state == "flagged")
    return item


def endpoint(name: str = "writer") -> Endpoint:
    return Endpoint.objects.get_or_create(
        name=name,
        defaults={"base_url": "http://127.0.0.1:9/v1", "model": "test-model", "api_key_env": "SAMPLE_KEY"},
    )[0]


def completion(template: str = "rewrite@1", text: str = "a raw reply", run: Run | None = None) -> Completion:
    return Completion.objects.create(
        key=uuid.uuid4().hex,
        endpoint=endpoint(),
        run=run,
        template=template,
        request={
            "messages": [{"role": "user", "content": "a question"}],
            "sampling": {"temperature": 0.7, "top_p": 0.8},
            "structure": None,
            "sample_index": 0,
            "attempt": 0,
        },
        model="test-model",
        resolved_model="test-model-2026",
        text=text,
        finish_reason="stop",
        prompt_tokens=12,
        completion_tokens=34,
        latency_ms=56,
    )


def corpus_prompt(text: str = ENGLISH, language: str = "en", **fields: Any) -> CorpusPrompt:
    item = reconstruction("accepted", text, language)
    return CorpusPrompt.objects.create(reconstruction=item, text=text, language=language, **fields)


def dimensions(names: tuple[str, ...] = ("Voice", "Structure", "Restraint")) -> list[dict[str, str]]:
    levels = {"1-2": "weak", "3-4": "fair", "5-6": "good", "7-8": "strong"}
    return [{"name": name, "criteria_description": f"About {name}.", **levels} for name in names]


def rubric(prompt: CorpusPrompt | None = None, **fields: Any) -> Rubric:
    shape = fields.pop("dimensions", None) or dimensions()
    return Rubric.objects.create(
        prompt=prompt or corpus_prompt(),
        dimensions=shape,
        digest=RubricValue.from_json(shape).digest,
        **{"method": "irg", "constructor": "test-model-2026", **fields},
    )


def candidate(of: Rubric, index: int = 0, text: str = "A response.", **fields: Any) -> Candidate:
    value, fallback = fields.pop("value", None), fields.pop("fallback", False)
    assessment = None
    if value is not None:
        items = [] if fallback else [{"name": "Voice", "score": 6, "maximum": 8, "comment": text}]
        assessment = Assessment.objects.create(
            rubric=of,
            rubric_digest=of.digest,
            response_digest="0" * 64,
            completion=completion("assess@1"),
            value=value,
            fallback=fallback,
            items=items,
            missing=["Restraint"],
            unknown=["Charm"],
        )
    return Candidate.objects.create(
        prompt=of.prompt,
        rubric=of,
        index=index,
        text=text,
        characters=len(text),
        completion=completion("write@1", text),
        assessment=assessment,
        **fields,
    )


def review(item: Reconstruction, reviewer: User, decision: str = "accept", **fields: Any) -> Review:
    made = Review.objects.create(reconstruction=item, reviewer=reviewer, decision=decision, **fields)
    CheckVerdict.objects.bulk_create(
        CheckVerdict(review=made, check_name=check, verdict="pass") for check in CheckVerdict.Check.values
    )
    return made


def run_with_items(kind: str = "reconstruct", state: str = "running", **states: int) -> Run:
    """A run whose items are in the states named, so many each."""
    run = Run.objects.create(
        kind=kind,
        state=state,
        endpoint=endpoint(),
        total=sum(states.values()),
        started_at=timezone.now() - dt.timedelta(minutes=5),
        parameters={"limit": None},
    )
    subjects = itertools.count(1)
    for each, count in states.items():
        for _ in range(count):
            leased = each == "leased"
            RunItem.objects.create(
                run=run,
                subject_id=next(subjects),
                state=each,
                error_kind="timeout" if each == "failed" else "",
                error_message="no answer within 600 s" if each == "failed" else "",
                lease_holder=uuid.uuid4() if leased else None,
                lease_expires_at=timezone.now() if leased else None,
                finished_at=timezone.now() if each in ("done", "failed") else None,
            )
    return run


def passed(note: str = "") -> dict[str, VerdictInput]:
    """Five checks passed; the note is on the first."""
    checks = CheckVerdict.Check.values
    return {check: VerdictInput("pass", note if check == checks[0] else "") for check in checks}


def corpus(text: str = ENGLISH, language: str = "en") -> dict[str, Any]:
    """One of everything, all with `text`, as far along as it goes; and one row in every other state."""
    for state in Reconstruction.State.values:
        if state != "accepted":
            reconstruction(state, text, language)
    source_prompt(text, language, excluded_because="9,000 segments: sources over 8,000 are left out")
    prompt = corpus_prompt(text, language)
    of = rubric(prompt, dimensions=dimensions((text[:60].splitlines()[0], "Structure", "Restraint")))
    best = candidate(of, 0, text, value=0.75, demonstration=True, selection_reason="The best.")
    candidate(of, 1, text, value=0.4, fallback=True)
    candidate(of, 2, text, cut=True)
    rubric(corpus_prompt(text, language))
    corpus_prompt(text, language, excluded_because=f"no rubric: {text}")
    return {
        "source": prompt.reconstruction.source_prompt.source,
        "source-prompt": source_prompt(text, language),
        "reconstruction": _history(prompt.reconstruction),
        "review": prompt.reconstruction.reviews.get(),
        "corpus-prompt": prompt,
        "failed-prompt": _traces(of),
        "rubric": of,
        "candidate": best,
        "snapshot": _snapshot(prompt),
        "run": _runs(text),
        "endpoint": endpoint(),
        "call": best.completion,
    }


def _history(item: Reconstruction) -> Reconstruction:
    """Gives an accepted reconstruction its review, two drafts and a screening match."""
    made = review(item, person("judge-of-samples", Role.ANNOTATOR))
    made.verdicts.update(note=item.text)
    for number, kind in enumerate(("rewrite", "enrichment")):
        ReconstructionDraft.objects.create(
            reconstruction=item,
            number=number,
            kind=kind,
            text=item.text,
            characters=item.characters,
            segments=item.segments,
            completion=completion(text=item.text),
        )
    sample = ScreeningSample.objects.create(
        benchmark="Bench", external_id="7", text=item.text, digest="0" * 64
    )
    ScreeningMatch.objects.create(reconstruction=item, sample=sample, shared=3, total=60, tokenizer="t")
    item.overlap = 0.05
    item.save()
    return item


def _traces(of: Rubric) -> CorpusPrompt:
    """A trace for the rubric, and a prompt whose mining failed."""
    text, language = of.prompt.text, of.prompt.language
    named = {"name": text, "reason": text}
    trace = MiningTrace.objects.create(
        prompt=of.prompt,
        rubric=of,
        discovered=[named],
        consolidated=[named],
        specifications=[{"dimension": named, "intervals": [], "failure": text}],
    )
    trace.completions.set([completion("discover@1", text)])
    failed = MiningTrace.objects.create(prompt=corpus_prompt(text, language), failure=text)
    failed.completions.set([completion("discover@1", text)])
    return failed.prompt


def _runs(text: str) -> Run:
    """A run at work with failures and a chart, and a paused one."""
    run = run_with_items(done=3, failed=2, leased=1, pending=4)
    run.items.filter(state="failed").update(error_message=text)
    for second in range(12):
        RunTick.objects.create(
            run=run,
            at=timezone.now() - dt.timedelta(seconds=12 - second),
            seconds=1,
            in_flight=4,
            calls=second,
            completion_tokens=10,
        )
    run_with_items(kind="assess", state="paused", pending=1)
    return run


def _snapshot(prompt: CorpusPrompt) -> CorpusSnapshot:
    return CorpusSnapshot.objects.create(
        name="first",
        state="done",
        manifest={
            "rows": {"sft": 1, "rl": 0, "rubricgen": 1},
            "left_out": {f"sft: {prompt.text[:40]}": 1},
            "left_out_prompts": [{"prompt": prompt.pk, "corpus": "sft", "reason": prompt.text}],
            "files": [{"name": "sft.jsonl", "rows": 1, "bytes": 3, "sha256": "0" * 64}],
            "settings": {"seed": 0, "sft_share": "15/19"},
            "upstream": {"source_prompts": 3, "reconstructions_by_state": {"accepted": 1}},
        },
    )


def pages(rows: dict[str, Any]) -> Iterator[str]:
    """The address of every page that a researcher can open, with the rows of `corpus`."""
    for name in (
        *("home", "run-start", "runs", "endpoints", "endpoint-new", "sources", "source-prompts"),
        *("reconstructions", "review", "my-work", "rubrics", "corpus-prompts", "candidates"),
        *("snapshots", "snapshot-new", "my-study", "imports", "import-new", "exports", "adjudication"),
        *("flags", "quality", "history", "policy", "my-tokens", "my-keys", "screening", "judges"),
        *("rubric-statistics", "recipes"),
    ):
        yield reverse(name)
    for name in ("source", "source-prompt", "reconstruction", "corpus-prompt", "rubric", "candidate"):
        yield reverse(name, args=[rows[name].pk])
    for name in ("snapshot", "run", "endpoint", "call"):
        yield reverse(name, args=[rows[name].pk])
    disputed = Reconstruction.objects.filter(state="disputed").values_list("pk", flat=True)
    yield reverse("adjudication-item", args=[disputed[0]])
    yield reverse("screening-item", args=[rows["reconstruction"].pk])
    yield reverse("review-withdraw", args=[rows["review"].pk])
    yield reverse("recipe", args=["tiny-gspo"])
    yield reverse("rubric-compare")
    yield f"{reverse('rubric-compare')}?left={rows['rubric'].pk}&right={rows['rubric'].pk}"
    yield reverse("rubric-edit", args=[rows["rubric"].pk])
    yield reverse("rubric-new", args=[rows["corpus-prompt"].pk])
    yield reverse("prompt-rubrics", args=[rows["corpus-prompt"].pk])
    yield reverse("choice", args=[rows["rubric"].pk])
    yield reverse("endpoint-edit", args=[rows["endpoint"].pk])
    yield reverse("corpus-prompt", args=[rows["failed-prompt"].pk])
    yield reverse(
        "review-item", args=[Reconstruction.objects.filter(state="in_review").values_list("pk")[0][0]]
    )
