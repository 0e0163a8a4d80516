"""Child processes that end with their parent, each with a log file of its own."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from llm.processes import end_with_parent

STOP_SECONDS = 20.0


class ServiceError(Exception):
    """A service did not start or ended by itself; the message names its log."""


@dataclass
class Child:
    """One service. Started in a session of its own, so that Ctrl-C reaches it only through `stop`.

    `stop` sends `stop_signal`; the death of this process sends `death_signal`, or else the same.
    """

    name: str
    command: Sequence[str]
    log: Path
    environment: Mapping[str, str] = field(default_factory=dict)
    stop_signal: signal.Signals = signal.SIGTERM
    death_signal: signal.Signals | None = None
    process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        self.log.parent.mkdir(parents=True, exist_ok=True)
        with self.log.open("wb") as log:
            self.process = subprocess.Popen(
                self.command,
                env={**os.environ, **self.environment},
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
                # Children are started before any thread.
                preexec_fn=lambda: end_with_parent(self.death_signal or self.stop_signal),  # noqa: PLW1509
            )

    @property
    def running(self) -> bool:
        return self.process is not None and self.process.poll() is None

    def wait_until(
        self, ready: Callable[[], bool], seconds: float, tell: Callable[[float], None] | None = None
    ) -> None:
        """Waits for `ready`. Raises ServiceError with the log's end when the child ends or time runs out."""
        started = time.monotonic()
        while not ready():
            waited = time.monotonic() - started
            if not self.running:
                raise ServiceError(f"{self.name} ended by itself.\n{self.log_tail()}")
            if waited > seconds:
                raise ServiceError(f"{self.name} is not ready after {seconds:.0f} s.\n{self.log_tail()}")
            if tell:
                tell(waited)
            time.sleep(0.2)

    def wait(self) -> None:
        """Returns when the child has ended."""
        if self.process:
            self.process.wait()

    def log_tail(self, lines: int = 15) -> str:
        text = self.log.read_text(errors="replace") if self.log.exists() else ""
        return "\n".join([f"The end of {self.log}:", *text.splitlines()[-lines:]])

    def stop(self) -> None:
        """Ends the child and everything it started: asked first, then killed."""
        if self.process is None:
            return
        if self.running:
            self.process.send_signal(self.stop_signal)
            try:
                self.process.wait(STOP_SECONDS)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()
        try:
            os.killpg(self.process.pid, signal.SIGKILL)
        except ProcessLookupError:
            return  # nothing of it is left
