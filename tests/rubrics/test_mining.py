"""Mining as runs: which prompts are queued, what is stored, what a failure means for the prompt."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from llm.models import Endpoint, Run
from rubrics.construction import PAPER_BOUNDS, AcceptanceBounds, MiningTrace
from rubrics.models import MiningTrace as TraceRow
from rubrics.models import Rubric
from rubrics.rubric import Rubric as RubricValue
from rubrics.services import start_mining
from rubrics.storing import store_rubric
from tests.samples import completion, corpus_prompt, dimensions, endpoint, rubric
from tests.simulated import SimulatedServer, simulated_server

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def server() -> Iterator[SimulatedServer]:
    with simulated_server(latency=0.0) as running:
        yield running


def mine(endpoint: Endpoint, *options: str) -> Run:
    call_command("mine", "--endpoint", endpoint.name, "--here", *options)
    return Run.objects.latest("pk")


def queued(**settings: Any) -> set[int]:
    run = start_mining(**settings)
    subjects = set(run.items.values_list("subject_id", flat=True))
    run.items.all().delete()
    return subjects


def test_three_methods_and_two_endpoints_stand_side_by_side(server: SimulatedServer) -> None:
    first, second = server.endpoint(), server.endpoint(name="other", model="other-model")
    english, chinese = corpus_prompt(), corpus_prompt("写一篇推文", "zh")
    for method in ("irg", "drg", "rubricgen"):
        assert mine(first, "--method", method).total == 2
        assert mine(first, "--method", method).total == 0
    assert mine(second, "--method", "drg").total == 2
    made = Rubric.objects.filter(prompt=english).values_list("method", "constructor", "endpoint__name")
    assert set(made) == {
        ("irg", "simulated", "simulated"),
        ("drg", "simulated", "simulated"),
        ("rubricgen", "simulated", "simulated"),
        ("drg", "other-model", "other"),
    }
    stages = ["irg-discovery", "irg-consolidation", "irg-scoring"]
    assert Rubric.objects.get(prompt=english, method="irg").templates == [f"{name}@1" for name in stages]
    assert Rubric.objects.get(prompt=chinese, method="irg").templates == [f"{name}.zh@1" for name in stages]
    row = Rubric.objects.get(prompt=chinese, method="rubricgen")
    assert row.templates == ["rubricgen.zh@1"]
    assert row.digest == RubricValue.from_json(row.dimensions).digest
    assert row.trace.completions.get().text
    assert len(row.trace.specifications) == len(row.dimensions)


def test_bounds_go_from_the_command_to_the_run_and_decide(server: SimulatedServer) -> None:
    """The simulated generator always writes five dimensions."""
    prompt = corpus_prompt()
    run = mine(server.endpoint(), "--method", "drg", "--min-dimensions", "6")
    assert run.parameters["bounds"] == PAPER_BOUNDS.to_json() | {"min_dimensions": 6}
    prompt.refresh_from_db()
    assert "5 scored dimensions, at least 6 are needed" in prompt.excluded_because
    assert mine(Endpoint.objects.get(), "--method", "drg", "--max-consolidated", "4").total == 1
    prompt.refresh_from_db()
    assert prompt.excluded_because == ""
    assert len(Rubric.objects.get().dimensions) == 4


def test_bounds_that_nothing_meets_are_refused() -> None:
    endpoint()
    with pytest.raises(CommandError, match="min_dimensions is larger than max_consolidated, 8"):
        call_command("mine", "--endpoint", "writer", "--min-dimensions", "9")
    with pytest.raises(ValueError, match="a rubric has at least 4"):
        AcceptanceBounds(min_intervals=3)
    assert AcceptanceBounds.from_json(None) == PAPER_BOUNDS


def test_a_rubric_without_an_endpoint_counts_for_the_endpoint_of_its_run() -> None:
    ours, theirs = endpoint("ours"), endpoint("theirs")
    known, unknown, human = rubric(), rubric(), rubric()
    run = Run.objects.create(kind="mine", endpoint=ours, parameters={"method": "irg", "limit": None})
    TraceRow.objects.create(prompt=known.prompt, rubric=known, run=run)
    Rubric.objects.filter(pk=human.pk).update(method="human")
    fresh = corpus_prompt()
    assert queued(endpoint=ours) == {human.prompt_id, fresh.pk}
    assert queued(endpoint=theirs) == {known.prompt_id, human.prompt_id, fresh.pk}
    everything = {known.prompt_id, unknown.prompt_id, human.prompt_id, fresh.pk}
    assert queued(endpoint=ours, method="drg") == everything
    assert len(queued(endpoint=ours, method="drg", limit=2)) == 2


def test_a_failure_excludes_only_a_prompt_that_has_no_rubric_at_all(server: SimulatedServer) -> None:
    """Without constrained decoding the simulated server answers in plain words, which no parser takes."""
    plain = server.endpoint(constrained=False)
    bare, served = corpus_prompt(), rubric().prompt
    mine(plain, "--method", "drg")
    for prompt in (bare, served):
        prompt.refresh_from_db()
    assert bare.excluded_because.startswith("no rubric: drg@1: no JSON list")
    assert served.excluded_because == ""
    assert TraceRow.objects.filter(prompt=served).exclude(failure="").count() == 1
    assert bare.pk not in queued(endpoint=plain, method="drg")
    assert bare.pk in queued(endpoint=plain, method="drg", bounds=AcceptanceBounds(min_dimensions=2))
    other = server.endpoint(name="other", model="other-model")
    mine(other, "--method", "irg")
    bare.refresh_from_db()
    assert bare.excluded_because == ""
    assert bare.rubrics.get().method == "irg"


def test_what_people_excluded_is_not_mined_and_stays_excluded() -> None:
    corpus_prompt(excluded_because="withdrawn")
    assert queued(endpoint=endpoint()) == set()


def test_storing_again_writes_nothing_and_a_second_endpoint_of_one_model_says_so() -> None:
    prompt, value = corpus_prompt(), RubricValue.from_json(dimensions())
    keys = (completion("drg@1").pk, completion("drg@1").pk)
    given = {
        "prompt_id": prompt.pk,
        "method": "drg",
        "rubric": value,
        "trace": MiningTrace(completion_keys=keys),
    }
    made = store_rubric(**given, endpoint=endpoint("one"))
    assert made is not None
    assert (made.constructor, made.templates, made.version) == ("test-model-2026", ["drg@1"], 1)
    assert store_rubric(**given, endpoint=endpoint("one")) == made
    assert store_rubric(**given, endpoint=endpoint("two")) is None
    assert Rubric.objects.count() == 1
    assert f"rubric {made.pk} of the same model" in TraceRow.objects.get(rubric=None).failure
    assert made.trace.completions.count() == 2
