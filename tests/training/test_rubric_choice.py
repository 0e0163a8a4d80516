"""Which of a prompt's rubrics is written for and exported, where there are several."""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from curation.models import CorpusPrompt
from rubrics.models import Rubric
from rubrics.rubric import Rubric as RubricValue
from tests.samples import candidate, corpus_prompt, dimensions, endpoint, rubric
from training.models import CorpusSnapshot
from training.rubric_choice import DEFAULT_CHOICE, RubricChoice, newest_versions, one_per_prompt
from training.services import request_snapshot, start_writing
from training.snapshots import corpus_digest, snapshot_folder, write_snapshot

pytestmark = pytest.mark.django_db

ALL_RL = Fraction(0)


@pytest.fixture(autouse=True)
def media(settings: Any, tmp_path: Path) -> Path:
    settings.MEDIA_ROOT = tmp_path
    return tmp_path


def made(prompt: CorpusPrompt, name: str, method: str = "irg", **fields: Any) -> Rubric:
    shape = dimensions((name, "Structure", "Restraint"))
    return Rubric.objects.create(
        prompt=prompt,
        method=method,
        constructor=fields.pop("constructor", "qwen"),
        dimensions=shape,
        digest=RubricValue.from_json(shape).digest,
        **fields,
    )


def revision(of: Rubric, name: str) -> Rubric:
    root = of.root or of
    return made(of.prompt, name, "human", constructor="rosa", root=root, parent=of, version=of.version + 1)


def exported(choice: RubricChoice = DEFAULT_CHOICE, **fields: Any) -> tuple[dict[int, str], dict[str, Any]]:
    snapshot = request_snapshot(
        name=str(CorpusSnapshot.objects.count()), seed=0, sft_share=ALL_RL, rubrics=choice
    )
    snapshot.parameters.update(fields)
    manifest = write_snapshot(snapshot)
    with (snapshot_folder(snapshot) / "rl.jsonl").open(encoding="utf-8") as file:
        rows = [json.loads(line) for line in file]
    return {row["id"]: json.loads(row["rubric"])[0]["name"] for row in rows}, manifest


def test_the_newest_version_of_a_line_is_the_one_meant() -> None:
    prompt = corpus_prompt()
    first = made(prompt, "First")
    last = revision(revision(first, "Second"), "Third")
    made(prompt, "Drg", "drg")

    assert list(newest_versions("irg")) == [last]
    assert [row.dimensions[0]["name"] for row in newest_versions("drg")] == ["Drg"]
    assert list(newest_versions("human")) == []


def test_writing_takes_the_newest_version_of_one_method() -> None:
    old = made(corpus_prompt(), "Old")
    new = revision(old, "New")
    drg = made(old.prompt, "Drg", "drg")
    plain = made(corpus_prompt(), "Plain")

    run = start_writing(endpoint=endpoint())
    assert list(run.items.values_list("subject_id", flat=True)) == [new.pk, plain.pk]
    assert run.parameters == {"limit": None, "method": "irg"}
    run = start_writing(endpoint=endpoint(), method="drg")
    assert run.total == 1
    assert list(run.items.values_list("subject_id", flat=True)) == [drg.pk]


def test_an_export_says_which_rubrics_it_took() -> None:
    both, only_drg, none = corpus_prompt(), corpus_prompt(), corpus_prompt()
    made(both, "Irg")
    made(both, "Drg", "drg")
    made(only_drg, "Drg alone", "drg")

    rows, manifest = exported()
    assert rows == {both.pk: "Irg"}
    assert manifest["rubrics"]["method"] == "irg"
    assert manifest["rubrics"]["exported_by_method"] == {"irg": 1}
    assert manifest["left_out"] == {
        "all: it has no IRG rubric, only others": 1,
        "all: it has no rubric yet": 1,
    }
    assert {entry["prompt"] for entry in manifest["left_out_prompts"]} == {only_drg.pk, none.pk}
    rows, manifest = exported(RubricChoice(method="drg"))
    assert rows == {both.pk: "Drg", only_drg.pk: "Drg alone"}
    assert manifest["rubric_constructors"] == ["qwen"]


def test_peoples_revisions_are_on_by_default_and_can_be_left_out() -> None:
    first = made(corpus_prompt(), "As mined")
    revision(first, "As revised")

    rows, manifest = exported()
    assert list(rows.values()) == ["As revised"]
    assert manifest["rubrics"]["exported_by_method"] == {"human": 1}
    rows, _ = exported(RubricChoice(revisions=False))
    assert list(rows.values()) == ["As mined"]


def test_one_of_several_constructors() -> None:
    prompt = corpus_prompt()
    made(prompt, "By qwen")
    made(prompt, "By kimi", constructor="kimi")

    assert list(exported()[0].values()) == ["By qwen"]
    assert list(exported(RubricChoice(constructor="kimi"))[0].values()) == ["By kimi"]
    rows, manifest = exported(RubricChoice(constructor="other"))
    assert rows == {}
    assert manifest["left_out"] == {"all: it has no IRG rubric by other, only others": 1}


def test_lint_filters_and_what_it_has_not_read_is_counted() -> None:
    clean = made(corpus_prompt(), "Clean", lint_version=1)
    vague = made(corpus_prompt(), "Vague", lint_version=1, lint=[{"check": "vague"}, {"check": "vague"}])
    unread = made(corpus_prompt(), "Unread")

    rows, manifest = exported(RubricChoice(max_lint_findings=1))
    assert set(rows) == {clean.prompt_id, unread.prompt_id}
    assert manifest["left_out"] == {"all: its rubric has more than 1 lint findings": 1}
    assert manifest["rubrics"]["not_read_by_lint"] == 1
    rows, manifest = exported(RubricChoice(excluded_checks=("vague",)))
    assert vague.prompt_id not in rows
    assert manifest["left_out"] == {"all: its rubric has lint findings: vague": 1}
    assert len(exported(RubricChoice(max_lint_findings=2))[0]) == 3


def test_demonstrations_are_those_of_the_rubric_that_is_exported() -> None:
    first = made(corpus_prompt(), "First")
    candidate(first, 0, "For the first.", demonstration=True)
    second = revision(first, "Second")

    def sft(choice: RubricChoice) -> tuple[int, dict[str, int]]:
        name = f"sft{CorpusSnapshot.objects.count()}"
        manifest = write_snapshot(request_snapshot(name=name, seed=0, sft_share=Fraction(1), rubrics=choice))
        return manifest["rows"]["sft"], manifest["left_out"]

    assert sft(RubricChoice(revisions=False)) == (1, {})
    assert sft(RubricChoice()) == (0, {"sft: it has no candidates yet": 1})
    candidate(second, 0, "For the second.", demonstration=True)
    assert sft(RubricChoice()) == (1, {})


def test_parameters_of_old_mean_what_they_meant() -> None:
    assert RubricChoice.of({"seed": 7, "sft_share": "15/19"}) == RubricChoice()
    choice = RubricChoice("drg", "kimi", revisions=False, max_lint_findings=3, excluded_checks=("vague",))
    assert RubricChoice.of({"rubrics": json.loads(json.dumps(choice.as_parameters()))}) == choice
    old = CorpusSnapshot.objects.create(name="old", parameters={"seed": 7, "sft_share": "15/19"})
    rubric()
    assert write_snapshot(old)["rows"]["rubricgen"] == 1


def test_the_digest_tells_choices_and_contents_apart() -> None:
    first = made(corpus_prompt(), "First")
    before = corpus_digest(0, ALL_RL)
    assert corpus_digest(0, ALL_RL, RubricChoice()) == before
    assert corpus_digest(0, ALL_RL, RubricChoice(max_lint_findings=0)) != before
    assert corpus_digest(0, ALL_RL, RubricChoice(method="drg")) != before
    revision(first, "Second")
    assert corpus_digest(0, ALL_RL) != before


def test_one_rubric_for_each_prompt() -> None:
    prompt = corpus_prompt()
    kept = made(prompt, "One")
    made(prompt, "Two", constructor="kimi")
    assert one_per_prompt(RubricChoice(), [prompt]) == {prompt.pk: kept}
