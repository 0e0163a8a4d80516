"""What `make demo` refuses, and what it keeps secret."""

from __future__ import annotations

import fcntl
import json
from pathlib import Path

import pytest

from config.stack import demo
from tests.stack.test_services import run_stack


def test_a_second_demo_on_the_same_state_is_refused(tmp_path: Path) -> None:
    with (tmp_path / "demo.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        ran = run_stack("demo", WORKBENCH_STATE=str(tmp_path))
    assert ran.returncode == 1
    assert "A demo is running" in ran.stdout
    assert [path.name for path in tmp_path.iterdir()] == ["demo.lock"]


def test_secrets_are_made_once_and_only_their_owner_reads_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(demo, "STATE", tmp_path)
    names = ["DJANGO_SECRET_KEY", *(f"DEMO_PASSWORD_{role.upper()}" for role in demo.ROLES)]
    for name in (*names, "WORKBENCH_MODE", "WORKBENCH_STATE"):
        monkeypatch.setenv(name, "before")
    passwords = demo._set_environment()
    file = tmp_path / "secrets.json"
    assert file.stat().st_mode & 0o777 == 0o600
    assert len(set(passwords.values())) == len(demo.ROLES)
    assert len(json.loads(file.read_text())["DJANGO_SECRET_KEY"]) >= 50
    assert demo._set_environment() == passwords
