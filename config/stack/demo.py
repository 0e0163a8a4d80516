"""`make demo`: the whole stack on one machine, the example requests through all of it, then a place to look.

database, broker ─► migrate ─► web ─► model server ─► worker ─► pipeline ─► address and sign-ins ─► Ctrl-C
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import secrets
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import TextIO

from rich.console import Console
from rich.panel import Panel

from config.stack import model
from config.stack.paths import EXAMPLES, LOGS, MODEL_NAME, ROOT, STATE
from config.stack.processes import Child, ServiceError
from config.stack.services import DATABASE, services
from llm.processes import end_with_parent, free_port
from llm.replay import is_replay

ROLES = ("annotator", "expert", "researcher")
ENDPOINT = "demo-model"
LEFT_FOR_PEOPLE = 3

console = Console()


class AlreadyRunningError(Exception):
    """Another demo holds the state folder."""


def run_demo() -> int:
    """Runs until Ctrl-C; 0 then, 1 when something could not be started."""
    for ending in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(ending, _as_ctrl_c)
    try:
        with _only_one(), ExitStack() as stack:
            try:
                _run(stack)
            except KeyboardInterrupt:
                console.print()
                _say("Stopping (calls in flight have 20 seconds to finish)")
                raise
    except KeyboardInterrupt:
        console.print("Stopped. `make demo` goes on from here; `make clean` removes everything.")
        return 0
    except (ServiceError, AlreadyRunningError) as error:
        console.print(str(error), style="red", markup=False)
        return 1
    except subprocess.CalledProcessError as error:
        console.print(
            f"This step failed, the message is above: {' '.join(error.cmd[1:])}", style="red", markup=False
        )
        return 1
    return 0


def _run(stack: ExitStack) -> None:
    _say("Starting database and broker")
    complete = STATE / f"demo-complete-{_database_name()}"
    os.environ.update(stack.enter_context(services(STATE, LOGS)))
    passwords = _set_environment()
    _manage("migrate", "--verbosity", "0")
    _manage("demo_accounts")
    address = _start_web(stack)
    _say(f"The web application answers at {address}; the model follows")
    wait_for_model = _make_endpoint(stack)
    worker = Child(
        "worker",
        _python("celery", "-A", "config", "worker", "--pool", "threads", "-c", "4"),
        LOGS / "worker.log",
        # Asked to stop, it finishes its calls; without the database it would wait for it.
        death_signal=signal.SIGKILL,
    )
    worker.start()
    stack.callback(worker.stop)
    held_out = str(EXAMPLES / "held_out.jsonl")
    _manage("import_benchmark", held_out, "--name", "held-out", "--field", "prompt", "--id-field", "id")
    if complete.exists():
        _say("The examples have been through the pipeline; the model server gets ready in the background")
        _show(address, passwords)
        wait_for_model()
    else:
        wait_for_model()
        _manage(
            *("pipeline", str(EXAMPLES / "requests.jsonl"), "--field", "prompt", "--name", "demo"),
            *("--endpoint", ENDPOINT, "--review-automatically", "--leave-for-people", str(LEFT_FOR_PEOPLE)),
        )
        complete.touch()
        _show(address, passwords)
    worker.wait()
    raise ServiceError(f"The worker ended by itself.\n{worker.log_tail()}")


def _database_name() -> str:
    """Tells databases apart: whether the examples are through is true of one of them."""
    address = os.environ.get(DATABASE, "")
    return hashlib.sha256(address.encode()).hexdigest()[:8] if address else "embedded"


def _say(text: str) -> None:
    console.print(f"• {text}", highlight=False, markup=False)


def _as_ctrl_c(*_: object) -> None:
    raise KeyboardInterrupt


@contextmanager
def _only_one() -> Iterator[TextIO]:
    STATE.mkdir(parents=True, exist_ok=True)
    with (STATE / "demo.lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise AlreadyRunningError(
                f"A demo is running on {STATE} already. Stop it with Ctrl-C, "
                "or set WORKBENCH_STATE to another folder."
            ) from None
        yield lock


def _set_environment() -> dict[str, str]:
    """The settings of a local installation; secrets are made once and kept readable by their owner only."""
    file = STATE / "secrets.json"
    if file.exists():
        kept = json.loads(file.read_text())
    else:
        kept = {"DJANGO_SECRET_KEY": secrets.token_urlsafe(50)}
        kept |= {f"DEMO_PASSWORD_{role.upper()}": f"{role}-{secrets.token_hex(4)}" for role in ROLES}
        descriptor = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(descriptor, "w") as target:
            json.dump(kept, target)
    os.environ.update(kept, WORKBENCH_MODE="development", WORKBENCH_STATE=str(STATE))
    return {role: kept[f"DEMO_PASSWORD_{role.upper()}"] for role in ROLES}


def _python(*module_and_arguments: str) -> list[str]:
    return [sys.executable, "-m", *module_and_arguments]


def _manage(*arguments: str) -> None:
    """A management command in the foreground, with its progress bars."""
    subprocess.run(
        [sys.executable, str(ROOT / "manage.py"), *arguments],
        check=True,
        cwd=ROOT,
        preexec_fn=end_with_parent,
    )


def _start_web(stack: ExitStack) -> str:
    port = free_port(preferred=8000)
    command = _python("config.server", "--port", str(port), "--workers", "1")
    web = Child("web application", command, LOGS / "web.log")
    web.start()
    stack.callback(web.stop)
    address = f"http://127.0.0.1:{port}"
    web.wait_until(lambda: model.answers(f"{address}/healthz"), seconds=60)
    return address


def _make_endpoint(stack: ExitStack) -> Callable[[], None]:
    """An endpoint on the server that LLM_BASE_URL names, or on a small model started here.

    Returns what waits until the model answers.
    """
    base_url = os.environ.get("LLM_BASE_URL")
    if base_url:
        name = os.environ.get("LLM_MODEL") or ("replay" if is_replay(base_url) else "")
        if not name:
            raise ServiceError("LLM_BASE_URL is set: set LLM_MODEL too, to the model's name on that server.")
        key = ["--api-key-env", "LLM_API_KEY"] if os.environ.get("LLM_API_KEY") else []
        _manage("endpoint", ENDPOINT, "--base-url", base_url, "--model", name, "--max-in-flight", "32", *key)
        return lambda: None
    model.make_model(_say)
    server, address = model.model_server()
    server.start()
    stack.callback(server.stop)
    limits = ["--context-window", str(model.CONTEXT_WINDOW), "--max-output-tokens", "1024"]
    _manage(
        *("endpoint", ENDPOINT, "--base-url", address, "--model", MODEL_NAME, "--constrained"),
        *("--max-in-flight", "32", *limits),
    )
    return lambda: _wait_for_model(server, address)


def _wait_for_model(server: Child, address: str) -> None:
    with console.status("The model server is starting") as status:
        model.wait_for_model(
            server, address, lambda waited: status.update(f"The model server is starting ({waited:.0f} s)")
        )


def _show(address: str, passwords: dict[str, str]) -> None:
    lines = [f"Open  {address}", "", "Sign in as one of"]
    lines += [f"  {role:<12} {password}" for role, password in passwords.items()]
    lines += ["", "The home page shows what waits for a person.", "Ctrl-C stops everything."]
    console.print(Panel("\n".join(lines), title="Writer-R1 Workbench", expand=False), highlight=False)
