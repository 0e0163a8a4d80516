"""Keeping measurements: each with the machine and the commit that it was made on."""

from __future__ import annotations

import datetime as dt
import json
import os
import platform
import subprocess
import timeit
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parent / "results"


def keep(name: str, figures: dict[str, Any]) -> None:
    """Prints the figures and writes them to `benchmarks/results/NAME.json`."""
    record = {"benchmark": name, "figures": figures, **_circumstances()}
    FOLDER.mkdir(exist_ok=True)
    (FOLDER / f"{name}.json").write_text(json.dumps(record, indent=2) + "\n", encoding="utf-8")
    print(json.dumps(record, indent=2))


def loop_us() -> int:
    """How fast the machine is just now: microseconds that a thousand calls of `str` take. A shared machine
    may be twice as fast a minute later."""
    return round(1e6 * min(timeit.repeat("for number in range(1000): str(number)", number=20, repeat=5)) / 20)


def _circumstances() -> dict[str, Any]:
    commit = subprocess.run(
        ["git", "rev-parse", "--short", "HEAD"], capture_output=True, text=True, check=False
    )
    return {
        "at": dt.datetime.now(dt.UTC).isoformat(timespec="seconds"),
        "commit": commit.stdout.strip() or "unknown",
        "machine": {
            "processor": platform.machine(),
            "cores": os.cpu_count(),
            "python": platform.python_version(),
            "system": platform.system(),
            "loop_us": loop_us(),
        },
    }
