"""The web server: Granian with what this application wants of it.

    python -m config.server [--host 127.0.0.1] [--port 8000] [--workers 2] [--threads 4]

A stop signal lets requests at work finish; a worker that dies is replaced; the death of this process, however
it comes about, ends its workers.
"""

from __future__ import annotations

import argparse
import sys
from typing import Any

from granian import Granian
from granian.constants import Interfaces
from granian.log import LogLevels

from llm.processes import end_with_parent

APPLICATION = "config.wsgi:application"
LONGEST_STOP = 30
"""Seconds that requests at work have after a stop signal."""

IDLE_THREAD = 600
"""Seconds after which a thread without work ends, and its connection to the database with it."""


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, default=8000)
    parser.add_argument("--workers", type=int, default=2, help="processes")
    parser.add_argument("--threads", type=int, default=4, help="of each process")
    parser.add_argument("--access-log", action="store_true", help="a line for each request")
    options = parser.parse_args()
    server = Granian(
        APPLICATION,
        address=options.host,
        port=options.port,
        interface=Interfaces.WSGI,
        workers=options.workers,
        blocking_threads=options.threads,
        blocking_threads_idle_timeout=IDLE_THREAD,
        websockets=False,
        respawn_failed_workers=True,
        workers_kill_timeout=LONGEST_STOP,
        log_level=LogLevels.warning,
        log_access=options.access_log,
    )
    server.serve(target_loader=_application, wrap_loader=False)
    return 0


def _application() -> Any:
    """Called in each worker."""
    end_with_parent()
    from config.wsgi import application

    return application


if __name__ == "__main__":
    sys.exit(main())
