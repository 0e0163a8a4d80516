"""Where local state lives: one folder, ignored by git, removed by `make clean`."""

from __future__ import annotations

import os
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
STATE = Path(os.environ.get("WORKBENCH_STATE") or ROOT / ".workbench").resolve()
LOGS = STATE / "logs"
MODEL_VENV = STATE / "model-venv"
MODEL_FOLDER = STATE / "models" / "smollm2"
MODEL_NAME = "smollm2-135m-instruct"
REQUIREMENTS = ROOT / "config" / "requirements"
EXAMPLES = ROOT / "curation" / "examples"
