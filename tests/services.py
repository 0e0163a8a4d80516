"""Gives the tests a database and a broker before Django reads its settings.

Loaded with `-p tests.services`. What DATABASE_URL and CELERY_BROKER_URL name is used; otherwise both are
started for this session alone, in a folder of their own, and stopped with it.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import tempfile
from pathlib import Path

import psycopg

from config.stack import paths
from config.stack.services import DATABASE, services

_stack = contextlib.ExitStack()

INSTALLED = paths.STATE
"""Where environments and the model are, read before the tests are given a state folder of their own."""


def _start() -> None:
    os.environ.setdefault("WORKBENCH_MODE", "test")
    folder = Path(tempfile.mkdtemp(prefix="workbench-tests-"))
    folder.chmod(0o755)
    _stack.callback(shutil.rmtree, folder, ignore_errors=True)
    own_database = not os.environ.get(DATABASE)
    os.environ.setdefault("WORKBENCH_STATE", str(folder / "state"))
    os.environ.update(_stack.enter_context(services(folder, folder / "logs")))
    if own_database:
        with psycopg.connect(os.environ[DATABASE], autocommit=True) as connection:
            # Nothing of this database has to outlive the session.
            connection.execute("ALTER SYSTEM SET fsync = off")
            connection.execute("SELECT pg_reload_conf()")


def pytest_unconfigure() -> None:
    _stack.close()


_start()
