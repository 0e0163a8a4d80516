"""Planning reconstructions: a preview that tells the truth, topping up, one source, no plan made twice."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import pytest
from django.core.management import CommandError, call_command
from django.db import connection

from curation.models import Reconstruction
from curation.services import plan_reconstructions, preview_plan
from llm.models import Run
from tests.samples import endpoint, reconstruction, source, source_prompt

pytestmark = pytest.mark.django_db


def test_a_preview_says_what_the_plan_then_adds() -> None:
    one, two = source("one"), source("two")
    first = source_prompt(source=one)
    source_prompt(source=one)
    source_prompt(source=two)
    source_prompt(source=two, excluded_because="too long")
    for index in range(3):
        reconstruction("planned" if index else "accepted", of=first, index=index)
    for asked in (
        {"per_source": 2},
        {"per_source": 4},
        {"per_source": 2, "limit": 2},
        {"per_source": 1, "source": two},
        {"per_source": 3, "source": two},
    ):
        before = Reconstruction.objects.count()
        preview = preview_plan(**asked)  # type: ignore[arg-type]
        assert Reconstruction.objects.count() == before
        waiting = plan_reconstructions(seed=0, **asked)  # type: ignore[arg-type]
        assert Reconstruction.objects.count() - before == preview.new, asked
        assert len(waiting) == preview.planned + preview.new
        again = preview_plan(**asked)  # type: ignore[arg-type]
        assert (again.prompts, again.existing, again.new) == (
            preview.prompts,
            preview.existing + preview.new,
            0,
        )


def test_a_preview_counts_prompts_existing_planned_and_new() -> None:
    first = source_prompt()
    source_prompt()
    reconstruction("planned", of=first), reconstruction("accepted", of=first, index=1)
    preview = preview_plan(per_source=2)
    assert (preview.prompts, preview.existing, preview.planned, preview.new) == (2, 2, 1, 2)
    empty = preview_plan(per_source=2, source=source("without prompts"))
    assert (empty.prompts, empty.existing, empty.planned, empty.new) == (0, 0, 0, 0)


@pytest.mark.django_db(transaction=True)
def test_plans_made_at_the_same_time_are_one_plan() -> None:
    for _ in range(20):
        source_prompt()
    ready = Barrier(4)

    def plan(seed: int) -> int:
        try:
            ready.wait()
            return len(plan_reconstructions(per_source=2, seed=seed))
        finally:
            connection.close()

    with ThreadPoolExecutor(4) as pool:
        assert set(pool.map(plan, range(4))) == {40}
    assert Reconstruction.objects.count() == 40


def test_the_command_takes_one_source_and_names_those_there_are() -> None:
    source_prompt(source=source("one"))
    wanted = source_prompt(source=source("two"))
    name = endpoint().name
    with pytest.raises(CommandError, match=r"no source 'three' \(there are: one, two\)"):
        call_command("reconstruct", endpoint=name, source="three")
    run = _planned_by_the_command(name, source="two", per_source=3, seed=7)
    assert run.parameters == {"per_source": 3, "seed": 7, "limit": None, "source": "two"}
    assert set(Reconstruction.objects.values_list("source_prompt", flat=True)) == {wanted.pk}
    assert run.total == 3


def _planned_by_the_command(endpoint: str, **options: object) -> Run:
    """The run that the command starts, without following it to its end."""
    from curation.management.commands.reconstruct import Command

    parser = Command().create_parser("manage.py", "reconstruct")
    given = vars(parser.parse_args(["--endpoint", endpoint])) | options
    return Command().start(given)
