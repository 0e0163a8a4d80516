"""The commands that show what other thresholds would do."""

from __future__ import annotations

from io import StringIO

import pytest
from django.core.management import CommandError, call_command

from curation.models import Reconstruction, ScreeningMatch, ScreeningSample
from tests.samples import ENGLISH, reconstruction

pytestmark = pytest.mark.django_db


def said(*arguments: str) -> str:
    out = StringIO()
    call_command(*arguments, stdout=out)
    return out.getvalue()


def test_limits_in_force_and_others_are_tried_on_the_corpus() -> None:
    loop = reconstruction("in_review", "Tell me a story. " * 14)
    reconstruction("in_review", ENGLISH)
    usual = said("calibrate_repetition")
    assert "1 of 2 dropped" in usual
    assert f"{loop.pk}: Tell me a story" in usual
    lines = said("calibrate_repetition", "--limit", "longest_repeats", "--values", "3", "4")
    assert "longest_repeats 3: 1 of 2 dropped" in lines
    assert "longest_repeats 4: 1 of 2 dropped" in lines
    loop.refresh_from_db()
    assert loop.state == "in_review"


@pytest.mark.parametrize(
    "arguments", [["--limit", "sentence_count"], ["--limit", "sentence_count", "--values", '"many"']]
)
def test_a_wrong_trial_says_so(arguments: list[str]) -> None:
    with pytest.raises(CommandError):
        call_command("calibrate_repetition", *arguments)


def test_thresholds_and_minima_of_screening() -> None:
    for shared, total in ((3, 20), (30, 100), (1, 100), (7, 70)):  # 0.1 * 70 is more than 7 in floats
        item = reconstruction("in_review")
        Reconstruction.objects.filter(pk=item.pk).update(overlap=shared / total)
        sample = ScreeningSample.objects.create(
            benchmark="Bench", external_id=str(item.pk), text="a", digest="0" * 64
        )
        ScreeningMatch.objects.create(
            reconstruction=item, sample=sample, shared=shared, total=total, tokenizer="t"
        )
    table = [line.split() for line in said("screening_report").splitlines()]
    assert table[0][:2] == ["4", "compared"]
    assert next(line for line in table if line[0] == "10%") == ["10%", "3", "2", "1", "1"]
    assert next(line for line in table if line[0] == "20%") == ["20%", "1", "1", "1", "1"]
    assert "only the nearest sample of each is stored" in said("screening_report")
    exact = said("screening_report", "--minimum", "0", "1")
    assert "nearest" not in exact, "any overlap over a threshold is the nearest's too"
