"""Which database and broker a command gets, and that the embedded ones leave nothing behind."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
import redis

from config.stack.services import embedded_broker, services


def test_addresses_in_the_environment_start_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DATABASE_URL", "postgresql://db.test/x")
    monkeypatch.setenv("CELERY_BROKER_URL", "redis://broker.test/0")
    with services(tmp_path / "state", tmp_path / "logs") as addresses:
        assert addresses == {
            "DATABASE_URL": "postgresql://db.test/x",
            "CELERY_BROKER_URL": "redis://broker.test/0",
        }
    assert list(tmp_path.iterdir()) == []


def test_each_part_is_replaced_by_itself(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DATABASE_URL", "postgresql://db.test/x")
    monkeypatch.delenv("CELERY_BROKER_URL")
    with services(tmp_path / "state", tmp_path / "logs") as addresses:
        assert addresses["DATABASE_URL"] == "postgresql://db.test/x"
        assert redis.Redis.from_url(addresses["CELERY_BROKER_URL"]).ping()
    assert not (tmp_path / "state").exists()


def test_the_broker_keeps_nothing_and_ends(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with embedded_broker(tmp_path / "log") as address:
        connection = redis.Redis.from_url(address)
        connection.set("a", "1")
        assert connection.config_get("save") == {"save": ""}
    with pytest.raises(redis.ConnectionError):
        connection.ping()
    assert [path.name for path in tmp_path.iterdir()] == ["log"]


def run_stack(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    kept = {k: v for k, v in os.environ.items() if k not in ("DATABASE_URL", "CELERY_BROKER_URL")}
    return subprocess.run(
        [sys.executable, "-m", "config.stack", *arguments],
        env={**kept, **environment},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


def test_a_command_gets_fresh_services_and_its_status_comes_back(tmp_path: Path) -> None:
    program = (
        "import os, psycopg; print(os.environ['WORKBENCH_STATE']); "
        "psycopg.connect(os.environ['DATABASE_URL']).execute('select 1'); raise SystemExit(7)"
    )
    ran = run_stack("services", "--fresh", "--", sys.executable, "-c", program, WORKBENCH_STATE=str(tmp_path))
    assert ran.returncode == 7, ran.stderr
    assert not Path(ran.stdout.strip()).exists()
    assert list(tmp_path.iterdir()) == []
