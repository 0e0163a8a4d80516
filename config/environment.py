"""What the environment says, read once and checked: the only place that knows the variables' names."""

from __future__ import annotations

import json
import os
import shlex
import socket
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from django.core.exceptions import ImproperlyConfigured
from psycopg.conninfo import conninfo_to_dict

BASE_DIR = Path(__file__).resolve().parent.parent


@dataclass(frozen=True)
class TrainingEnvironment:
    """Where a machine that trains has its things; on the others only `storage` matters.

    `storage` is a folder or an address that fsspec knows (s3://bucket/prefix); `options` its settings.
    """

    host: str
    root: Path
    models: Path
    storage: str
    storage_options: dict[str, Any]
    llamafactory: Path
    swift: Path
    vllm: Path
    vllm_options: tuple[str, ...]
    serving_host: str
    launcher: str
    slurm_options: tuple[str, ...]


def _training(state: Path) -> TrainingEnvironment:
    given = os.environ.get
    launcher = given("TRAINING_LAUNCHER", "local")
    if launcher not in {"local", "slurm"}:
        raise ImproperlyConfigured(f"TRAINING_LAUNCHER is {launcher!r}; use local or slurm")
    try:
        options = json.loads(given("TRAINING_STORAGE_OPTIONS", "{}"))
    except ValueError as error:
        raise ImproperlyConfigured(f"TRAINING_STORAGE_OPTIONS is not JSON: {error}") from error
    return TrainingEnvironment(
        host=given("TRAINING_HOST") or socket.gethostname(),
        root=Path(given("TRAINING_ROOT") or state / "training").resolve(),
        models=Path(given("TRAINING_MODELS") or state / "models").resolve(),
        storage=given("TRAINING_STORAGE", ""),
        storage_options=options,
        llamafactory=Path(given("TRAINING_LLAMAFACTORY") or state / "llamafactory-venv"),
        swift=Path(given("TRAINING_SWIFT") or state / "swift-venv"),
        vllm=Path(given("TRAINING_VLLM") or state / "model-venv"),
        vllm_options=tuple(shlex.split(given("TRAINING_VLLM_OPTIONS", ""))),
        serving_host=given("TRAINING_SERVING_HOST", "127.0.0.1"),
        launcher=launcher,
        slurm_options=tuple(shlex.split(given("TRAINING_SLURM_OPTIONS", ""))),
    )


@dataclass(frozen=True)
class Environment:
    """`mode` is production unless WORKBENCH_MODE says otherwise; only production demands secrets."""

    mode: str
    secret_key: str
    database_url: str
    broker_url: str
    allowed_hosts: tuple[str, ...]
    trusted_origins: tuple[str, ...]
    state: Path
    lease_seconds: float
    training: TrainingEnvironment

    @property
    def production(self) -> bool:
        return self.mode == "production"


def _split(text: str) -> tuple[str, ...]:
    return tuple(part.strip() for part in text.split(",") if part.strip())


def read_environment() -> Environment:
    """Raises ImproperlyConfigured with every variable that is missing, not only the first."""
    mode = os.environ.get("WORKBENCH_MODE", "production")
    if mode not in {"production", "development", "test"}:
        raise ImproperlyConfigured(f"WORKBENCH_MODE is {mode!r}; use production, development or test")
    required = ["DATABASE_URL", "CELERY_BROKER_URL"]
    if mode == "production":
        required += ["DJANGO_SECRET_KEY", "ALLOWED_HOSTS"]
    missing = [name for name in required if not os.environ.get(name)]
    if missing:
        raise ImproperlyConfigured(
            f"set {', '.join(missing)} (WORKBENCH_MODE is {mode}; `make demo` and `make test` set them "
            "for you; docs/operation.md explains each)"
        )
    state = Path(os.environ.get("WORKBENCH_STATE", BASE_DIR / ".workbench"))
    return Environment(
        mode=mode,
        secret_key=os.environ.get("DJANGO_SECRET_KEY") or "development-only-key-not-for-production",
        database_url=os.environ["DATABASE_URL"],
        broker_url=os.environ["CELERY_BROKER_URL"],
        allowed_hosts=_split(os.environ.get("ALLOWED_HOSTS", "localhost,127.0.0.1,[::1],testserver")),
        trusted_origins=_split(os.environ.get("CSRF_TRUSTED_ORIGINS", "")),
        state=state,
        lease_seconds=float(os.environ.get("ENGINE_LEASE_SECONDS", "60")),
        training=_training(state),
    )


def database_settings(url: str) -> dict[str, Any]:
    """Django's DATABASES entry from a libpq URI (TCP or a Unix socket given as ?host=)."""
    parts = conninfo_to_dict(url)
    known = {"dbname": "NAME", "user": "USER", "password": "PASSWORD", "host": "HOST", "port": "PORT"}
    entry: dict[str, Any] = {key: str(parts.pop(name, "")) for name, key in known.items()}
    return {
        "ENGINE": "django.db.backends.postgresql",
        "CONN_MAX_AGE": 60,
        "CONN_HEALTH_CHECKS": True,
        # Querysets are never prepared, whatever this says; statements that are written by hand are.
        "OPTIONS": {"prepare_threshold": 0, **parts},
        **entry,
    }
