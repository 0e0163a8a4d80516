"""What the settings refuse, in a process of its own."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from config.environment import database_settings

ROOT = Path(__file__).resolve().parent.parent
PRODUCTION = {
    "WORKBENCH_MODE": "production",
    "DATABASE_URL": "postgresql://u:p@db.example.org:5433/corpus?sslmode=require",
    "CELERY_BROKER_URL": "redis://broker.example.org/0",
    "DJANGO_SECRET_KEY": "k" * 50 + "0123456789-abc",
    "ALLOWED_HOSTS": "workbench.example.org",
}


def check(environment: dict[str, str]) -> subprocess.CompletedProcess[str]:
    kept = {name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ}
    return subprocess.run(
        [sys.executable, "manage.py", "check", "--deploy", "--fail-level", "WARNING"],
        cwd=ROOT,
        env={**kept, **environment},
        capture_output=True,
        text=True,
        check=False,
    )


def test_production_settings_pass_djangos_deployment_check(tmp_path: Path) -> None:
    result = check({**PRODUCTION, "WORKBENCH_STATE": str(tmp_path)})
    assert result.returncode == 0, result.stderr


@pytest.mark.parametrize("name", ["DJANGO_SECRET_KEY", "ALLOWED_HOSTS", "DATABASE_URL", "CELERY_BROKER_URL"])
def test_in_production_a_missing_value_is_an_error_that_names_it(name: str) -> None:
    result = check({key: value for key, value in PRODUCTION.items() if key != name})
    assert result.returncode != 0
    assert f"set {name} " in result.stderr


def test_production_is_the_default() -> None:
    result = check(
        {key: value for key, value in PRODUCTION.items() if key != "WORKBENCH_MODE"}
        | {"DJANGO_SECRET_KEY": ""}
    )
    assert "DJANGO_SECRET_KEY" in result.stderr


def test_an_unknown_mode_is_refused() -> None:
    assert "'prodution'" in check({**PRODUCTION, "WORKBENCH_MODE": "prodution"}).stderr


def test_a_database_address_over_tcp_and_over_a_socket() -> None:
    remote = database_settings(PRODUCTION["DATABASE_URL"])
    assert (remote["HOST"], remote["PORT"], remote["NAME"], remote["USER"], remote["PASSWORD"]) == (
        *("db.example.org", "5433", "corpus", "u", "p"),
    )
    assert remote["OPTIONS"] == {"sslmode": "require", "prepare_threshold": 0}
    local = database_settings("postgresql://postgres:@/postgres?host=/var/run/pg")
    assert (local["HOST"], local["NAME"]) == ("/var/run/pg", "postgres")
