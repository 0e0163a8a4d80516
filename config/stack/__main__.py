"""The stack's command line.

python -m config.stack demo                  everything on one machine, with the examples
python -m config.stack services -- CMD …     CMD with the local database and broker
python -m config.stack services --fresh -- CMD …    CMD with ones that are removed afterwards
python -m config.stack model                 makes the model server's environment and weights
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from config.stack.demo import console, run_demo
from config.stack.model import make_model
from config.stack.paths import STATE
from config.stack.processes import ServiceError
from config.stack.services import BROKER, DATABASE, services


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("demo")
    commands.add_parser("model")
    run = commands.add_parser("services")
    run.add_argument("--fresh", action="store_true", help="an empty database, removed afterwards")
    run.add_argument("program", nargs="+")
    options = parser.parse_args()
    if options.command == "demo":
        return run_demo()
    try:
        if options.command == "model":
            make_model(lambda text: console.print(text, highlight=False, markup=False))
            return 0
        if not options.fresh:
            return _with_services(STATE, options.program)
        for variable in (DATABASE, BROKER):  # never a database that somebody uses
            os.environ.pop(variable, None)
        with tempfile.TemporaryDirectory(prefix="workbench-") as folder:
            return _with_services(Path(folder), options.program)
    except KeyboardInterrupt:
        return 130
    except ServiceError as error:
        console.print(str(error), style="red", markup=False)
        return 1


def _with_services(state: Path, program: list[str]) -> int:
    os.environ.setdefault("WORKBENCH_MODE", "development")
    os.environ["WORKBENCH_STATE"] = str(state)
    with services(state, state / "logs") as addresses:
        return subprocess.run(program, env={**os.environ, **addresses}, check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
