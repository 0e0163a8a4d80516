"""manage.py train: from the asking to the end, and what it refuses."""

from __future__ import annotations

from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from tests.training.jobs.engine import finished_snapshot, training_machine
from training.jobs import runner
from training.management.commands import train
from training.models import TrainingJob

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture(autouse=True)
def machine(tmp_path: Path, settings: Any, monkeypatch: pytest.MonkeyPatch) -> Path:
    settings.MEDIA_ROOT = tmp_path / "media"
    settings.TRAINING = training_machine(tmp_path)
    monkeypatch.setattr(runner, "LOOK_SECONDS", 0.1)
    monkeypatch.setattr(train.signal, "signal", lambda *_: None)
    finished_snapshot()
    return tmp_path


def said(*arguments: str) -> str:
    out = StringIO()
    call_command("train", *arguments, stdout=out)
    return out.getvalue()


def test_a_training_is_started_fails_is_resumed_and_listed(machine: Path) -> None:
    (machine / "behaviour.txt").write_text("memory 2")
    asked = ("one", "--recipe", "tiny-sft", "--snapshot", "first", "--set", "max_steps=3")
    with pytest.raises(CommandError, match="Out of memory"):
        said(*asked, "--here")
    (machine / "behaviour.txt").write_text("")
    assert "one: done, step 3 of 3, tiny-sft on first" in said("one", "--resume", "--here")
    assert "two waits for a worker" in said("two", *asked[1:])
    assert "two cancelled" in said("two", "--cancel")
    assert "has ended before: cancelled" in said("two", "--cancel")
    listed = said().splitlines()
    assert listed[0].startswith("one: done")
    assert listed[1].startswith("two: cancelled")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("x",), "needs --recipe and --snapshot"),
        (("x", "--recipe", "none", "--snapshot", "first"), "there is no recipe 'none'"),
        (("x", "--recipe", "tiny-sft", "--snapshot", "second"), "there is no corpus 'second'"),
        (("../x", "--recipe", "tiny-sft", "--snapshot", "first"), "letters, digits"),
        (("x", "--recipe", "writer-sft-4b-drg", "--snapshot", "first"), "trains on drg rubrics"),
        (("x", "--recipe", "tiny-gspo", "--snapshot", "first"), "has 0 rl rows"),
        (("x", "--recipe", "tiny-sft", "--snapshot", "first", "--judge", "nobody"), "no endpoint 'nobody'"),
        (("x", "--recipe", "tiny-sft", "--snapshot", "first", "--starts-from", "9"), "no checkpoint 9"),
        (("x", "--recipe", "tiny-sft", "--snapshot", "first", "--set", "model=$(id)"), "model"),
        (("x", "--recipe", "tiny-sft", "--snapshot", "first", "--set", "seed"), "SETTING=VALUE"),
        (("nobody", "--cancel"), "no training 'nobody'"),
        (("nobody", "--resume"), "no training 'nobody'"),
    ],
)
def test_what_it_refuses(arguments: tuple[str, ...], message: str) -> None:
    with pytest.raises(CommandError, match=message):
        said(*arguments)
    assert not TrainingJob.objects.exists()
