"""The stack's command line.

python -m config.stack demo                  everything on one machine, with the examples
python -m config.stack services -- CMD …     CMD with an embedded database and broker
python -m config.stack model                 makes the model server's environment and weights
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys

from config.stack.demo import console, run_demo
from config.stack.model import make_model
from config.stack.paths import LOGS, STATE
from config.stack.processes import ServiceError
from config.stack.services import services


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("demo")
    commands.add_parser("model")
    run = commands.add_parser("services")
    run.add_argument("program", nargs=argparse.REMAINDER)
    options = parser.parse_args()
    if options.command == "demo":
        return run_demo()
    try:
        if options.command == "model":
            make_model(lambda text: console.print(text, highlight=False, markup=False))
            return 0
        return _with_services([part for part in options.program if part != "--"])
    except ServiceError as error:
        console.print(str(error), style="red", markup=False)
        return 1


def _with_services(program: list[str]) -> int:
    with services(STATE, LOGS) as addresses:
        environment = {
            "WORKBENCH_MODE": "development",
            "WORKBENCH_STATE": str(STATE),
            **os.environ,
            **addresses,
        }
        return subprocess.run(program, env=environment, check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
