"""What the environment says, read once and checked: the only place that knows the variables' names."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from django.core.exceptions import ImproperlyConfigured
from psycopg.conninfo import conninfo_to_dict

BASE_DIR = Path(__file__).resolve().parent.parent


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
    return Environment(
        mode=mode,
        secret_key=os.environ.get("DJANGO_SECRET_KEY") or "development-only-key-not-for-production",
        database_url=os.environ["DATABASE_URL"],
        broker_url=os.environ["CELERY_BROKER_URL"],
        allowed_hosts=_split(os.environ.get("ALLOWED_HOSTS", "localhost,127.0.0.1,[::1],testserver")),
        trusted_origins=_split(os.environ.get("CSRF_TRUSTED_ORIGINS", "")),
        state=Path(os.environ.get("WORKBENCH_STATE", BASE_DIR / ".workbench")),
        lease_seconds=float(os.environ.get("ENGINE_LEASE_SECONDS", "60")),
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
