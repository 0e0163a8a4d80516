"""The embedded Postgres: keeps its data, survives kills, is shared, and works below long and closed paths."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import unquote

import psycopg
import pytest

from config.stack.postgres import embedded_postgres
from config.stack.processes import ServiceError
from tests.stack.test_processes import is_running, within

HOLD = (
    "import sys, time; from pathlib import Path; from config.stack.postgres import embedded_postgres\n"
    "folder = Path(sys.argv[1])\n"
    "with embedded_postgres(folder, folder.parent / 'log') as url:\n"
    "    print(url, flush=True); time.sleep(300)"
)


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A data folder that was used once: table `kept` holds 1."""
    folder = tmp_path_factory.mktemp("pg") / "postgres"
    with embedded_postgres(folder, folder.parent / "log") as url, psycopg.connect(url) as connection:
        connection.execute("CREATE TABLE kept AS SELECT 1 AS value")
    return folder


@pytest.fixture
def folder(made: Path, tmp_path: Path) -> Path:
    """A copy of it, owner and all."""
    subprocess.run(["cp", "-a", str(made), str(tmp_path / "postgres")], check=True)
    return tmp_path / "postgres"


@pytest.fixture
def holder(folder: Path) -> Iterator[subprocess.Popen[str]]:
    """Another process that has the database running; its first line is the address."""
    process = subprocess.Popen([sys.executable, "-c", HOLD, str(folder)], stdout=subprocess.PIPE, text=True)
    yield process
    process.kill()
    process.wait()


def server_pid(folder: Path) -> int:
    return int((folder / "postmaster.pid").read_text().split("\n")[0])


def kept(url: str) -> list[tuple[int]]:
    with psycopg.connect(url) as connection:
        return connection.execute("SELECT value FROM kept").fetchall()


def test_data_outlives_the_server_and_the_server_its_block_not(folder: Path) -> None:
    with embedded_postgres(folder, folder.parent / "log") as url:
        assert kept(url) == [(1,)]
        pid = server_pid(folder)
        assert is_running(pid)
    assert not is_running(pid)
    assert not (folder / "postmaster.pid").exists()


def test_an_open_connection_does_not_hold_up_the_end(folder: Path) -> None:
    with embedded_postgres(folder, folder.parent / "log") as url:
        connection = psycopg.connect(url)
        pid = server_pid(folder)
    assert not is_running(pid)
    connection.close()


def test_texts_of_any_language_are_kept_and_order_does_not_depend_on_the_machine(folder: Path) -> None:
    with embedded_postgres(folder, folder.parent / "log") as url, psycopg.connect(url) as connection:
        words = "SELECT array_agg(w ORDER BY w) FROM unnest(%s::text[]) w"
        assert connection.execute(words, [["é", "写作", "b", "A"]]).fetchone() == (["A", "b", "é", "写作"],)


def test_a_killed_parent_leaves_no_server(folder: Path, holder: subprocess.Popen[str]) -> None:
    assert holder.stdout is not None
    assert holder.stdout.readline()
    pid = server_pid(folder)
    holder.send_signal(signal.SIGKILL)
    assert within(20, lambda: not is_running(pid))
    with embedded_postgres(folder, folder.parent / "log") as url:
        assert kept(url) == [(1,)]


def test_a_killed_server_is_recovered(folder: Path, holder: subprocess.Popen[str]) -> None:
    assert holder.stdout is not None
    url = holder.stdout.readline().strip()
    with psycopg.connect(url) as connection:
        connection.execute("INSERT INTO kept VALUES (2)")
    pid = server_pid(folder)
    os.kill(pid, signal.SIGKILL)
    holder.send_signal(signal.SIGKILL)
    assert within(20, lambda: not is_running(pid))
    assert (folder / "postmaster.pid").exists()
    with embedded_postgres(folder, folder.parent / "log") as url:
        assert kept(url) == [(1,), (2,)]


def test_a_leftover_that_names_a_process_of_another_program_is_ignored(folder: Path) -> None:
    lines = [os.getpid(), folder, 1, 5432, folder, "", "0 0", "ready"]
    (folder / "postmaster.pid").write_text("\n".join(map(str, lines)))
    with embedded_postgres(folder, folder.parent / "log") as url:
        assert kept(url) == [(1,)]


def test_a_running_one_is_joined_and_left_running(folder: Path, holder: subprocess.Popen[str]) -> None:
    assert holder.stdout is not None
    address = holder.stdout.readline().strip()
    with embedded_postgres(folder, folder.parent / "log") as url:
        assert url == address
        assert kept(url) == [(1,)]
    assert kept(address) == [(1,)]


def test_a_path_too_long_for_a_socket(made: Path, tmp_path: Path) -> None:
    folder = tmp_path / ("a" * 60) / ("b c" * 20) / "postgres"
    folder.parent.mkdir(parents=True)
    subprocess.run(["cp", "-a", str(made), str(folder)], check=True)
    with embedded_postgres(folder, folder.parent / "log") as url:
        sockets = Path(unquote(url.partition("host=")[2]))
        assert kept(url) == [(1,)]
        assert sockets.stat().st_mode & 0o077 == 0
    assert not sockets.exists()


def test_a_half_made_data_folder_is_made_anew(tmp_path: Path) -> None:
    part = tmp_path / "postgres.part"
    part.mkdir()
    (part / "PG_VERSION").write_text("18")
    with (
        embedded_postgres(tmp_path / "postgres", tmp_path / "log") as url,
        psycopg.connect(url) as connection,
    ):
        assert connection.execute("SELECT 1").fetchone() == (1,)
    assert not part.exists()


def test_it_is_reached_through_a_closed_folder_only(made: Path, tmp_path: Path) -> None:
    """As root the server is another user, who must get through; permissions stay as they were."""
    closed = tmp_path / "closed"
    closed.mkdir(mode=0o700)
    folder = closed / "postgres"
    subprocess.run(["cp", "-a", str(made), str(folder)], check=True)
    with embedded_postgres(folder, closed / "log") as url:
        assert kept(url) == [(1,)]
        assert folder.stat().st_mode & 0o077 == 0
    assert closed.stat().st_mode & 0o777 == 0o700


def test_an_unusable_data_folder_is_reported_with_the_log(tmp_path: Path) -> None:
    broken = tmp_path / "postgres"
    broken.mkdir(mode=0o700)
    expected = pytest.raises(ServiceError, match=r"Postgres ended by itself(.|\n)*log")
    with expected, embedded_postgres(broken, tmp_path / "log"):
        pass
