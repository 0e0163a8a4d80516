"""The filter step on real rows: what it discards, what it opens for review, and by which settings."""

from __future__ import annotations

import pytest

from curation.filtering import FilterStep, filter_policy
from curation.models import CurationPolicy, Reconstruction, ScreeningMatch
from curation.services import import_screening_samples
from llm.audit import history_of
from llm.models import Run
from tests.samples import ENGLISH, reconstruction

LOOP = "Tell me a story. " * 40
SAMPLE = "Describe the harbour at dawn, when the night ferry has left and the gulls have the quay alone."
COPIED = f"Write a letter. {SAMPLE} Keep it short."

pytestmark = pytest.mark.django_db


def filtered(*items: Reconstruction) -> Run:
    """Works the items off as the engine does."""
    run = Run.objects.create(kind="filter")
    step = FilterStep(run)
    step.store(list(step.load([item.pk for item in items]).items()))
    for item in items:
        item.refresh_from_db()
    return run


def test_each_goes_its_way_with_its_reason() -> None:
    import_screening_samples(benchmark="Bench", samples={"1": SAMPLE})
    loop, copied, clean = (reconstruction("rewritten", text) for text in (LOOP, COPIED, ENGLISH))
    run = filtered(loop, copied, clean)
    assert [item.state for item in (loop, copied, clean)] == ["repetitive", "contaminated", "in_review"]
    assert loop.repetition is not None
    assert loop.repetition["rule"] == "loop"
    assert "Tell me a story" in loop.repetition["passage"]
    match = ScreeningMatch.objects.get(reconstruction=copied)
    assert copied.overlap == pytest.approx(match.shared / match.total)
    assert f"shares {match.shared} of a benchmark sample's {match.total}" in copied.state_reason
    assert clean.slots.count() == clean.wanted_reviews >= 1
    assert {item.screened_with for item in (loop, copied, clean)} == {match.tokenizer}
    for item in (loop, copied, clean):
        entry = history_of(item).get()
        assert (entry.before, entry.after) == ({"state": "rewritten"}, {"state": item.state})
        assert entry.actor_name == f"run {run.pk}"


def test_the_settings_are_fixed_when_a_run_is_taken_up() -> None:
    CurationPolicy(pk=1, minimum_shared_trigrams=500, repetition_limits={"sentence_count": 9}).save()
    run = Run.objects.create(kind="filter", parameters={"limit": 3})
    first = filter_policy(run)
    CurationPolicy.objects.update(minimum_shared_trigrams=0)
    run.refresh_from_db()
    assert filter_policy(run) == first
    assert first["minimum_shared_trigrams"] == 500
    assert run.parameters["limit"] == 3


def test_a_minimum_of_shared_trigrams_keeps_what_shares_fewer() -> None:
    import_screening_samples(benchmark="Bench", samples={"1": SAMPLE})
    CurationPolicy(pk=1, minimum_shared_trigrams=500).save()
    copied = reconstruction("rewritten", COPIED)
    filtered(copied)
    assert copied.state == "in_review"
    assert copied.overlap is not None
    assert copied.overlap >= 0.1


def test_other_limits_of_repetition_decide_otherwise() -> None:
    loop = reconstruction("rewritten", "Tell me a story. " * 14)
    CurationPolicy(pk=1, repetition_limits={"loop_repeats": [[500, 100]], "sentence_count": 100}).save()
    filtered(loop)
    assert loop.state == "in_review"
    CurationPolicy.objects.update(repetition_limits={})
    again = reconstruction("rewritten", "Tell me a story. " * 14)
    filtered(again)
    assert again.state == "repetitive"


def test_filtering_again_changes_nothing_that_is_past_it() -> None:
    item = reconstruction("rewritten", ENGLISH)
    filtered(item)
    filtered(item)
    assert item.slots.count() == item.wanted_reviews
    assert history_of(item).count() == 1
