"""A recipe on this machine: its folders, the engine's command, and the environment that it sees."""

from __future__ import annotations

import os
import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from django.conf import settings

from llm.services import endpoint_settings
from training.models import TrainingJob
from training.recipes.catalogue import recipe_from
from training.recipes.rendering import Launch, Places, render
from training.recipes.settings import GspoRecipe, SftRecipe
from training.swift_plugin.settings import PREFIX

PLUGIN = Path(__file__).resolve().parent.parent / "swift_plugin" / "plugin.py"
ASSESSMENTS = "assessments.jsonl"
OUTPUT, DATA = "output", "data"

PASSED_ON = ("PATH", "HOME", "USER", "LANG", "LC_ALL", "TMPDIR", "LD_LIBRARY_PATH", "TZ")
PASSED_ON_PREFIXES = ("CUDA_", "NVIDIA_", "NCCL_", "GLOO_", "HF_", "TORCH_", "OMP_", "WANDB_", "MLFLOW_")
"""What of the worker's environment an engine sees: never the database's address or the secret key."""


@dataclass(frozen=True, slots=True)
class Command:
    """What is started: in `folder`, with nothing but this environment."""

    folder: Path
    arguments: tuple[str, ...]
    environment: Mapping[str, str]


def job_folder(job: TrainingJob) -> Path:
    """The job's own folder; its name is a number, so nothing that a person wrote is a path."""
    return settings.TRAINING.root / f"job-{job.pk}"


def engine_folder(recipe: SftRecipe | GspoRecipe) -> Path:
    """The virtual environment of the engine that works on a recipe."""
    return Path(settings.TRAINING.llamafactory if isinstance(recipe, SftRecipe) else settings.TRAINING.swift)


def model_folder(job: TrainingJob) -> Path:
    """The weights that a job starts from. Raises ValueError for a name that leads out of the models."""
    if job.starts_from:
        return Path(job.starts_from.folder)
    root = Path(settings.TRAINING.models)
    folder = (root / recipe_from(job.recipe).model).resolve()
    if not folder.is_relative_to(root.resolve()):
        raise ValueError(f"{job.recipe['model']} leads out of the folder of models")
    return folder


def launch_of(job: TrainingJob, resume: Path | None = None) -> Launch:
    folder = job_folder(job)
    places = Places(
        model=str(model_folder(job)),
        data=str(folder / DATA),
        output=str(folder / OUTPUT),
        plugin=str(PLUGIN),
        resume=str(resume) if resume else "",
    )
    return render(recipe_from(job.recipe), places, prunes=False)


def command_of(job: TrainingJob, resume: Path | None = None) -> Command:
    """Writes the engine's files into the job's folder; what is to be run there.

    `run.sh` is the same command for a further machine of the training (NODE_RANK says which one it is). It
    holds no key.
    """
    recipe, folder = recipe_from(job.recipe), job_folder(job)
    launch = launch_of(job, resume)
    for name, text in launch.files.items():
        (folder / name).write_text(text, encoding="utf-8")
    binary = engine_folder(recipe) / "bin" / launch.arguments[0]
    arguments = (str(binary), *launch.arguments[1:])
    told = {**launch.environment, **(_reward(job, recipe) if isinstance(recipe, GspoRecipe) else {})}
    shown = {name: value for name, value in told.items() if name != f"{PREFIX}JUDGE_KEY"}
    exports = "".join(f"export {name}={shlex.quote(value)}\n" for name, value in sorted(shown.items()))
    path = f"export PATH={shlex.quote(str(binary.parent))}:$PATH\n"
    script = f"cd -- {shlex.quote(str(folder))}\n{path}{exports}exec {shlex.join(arguments)}\n"
    (folder / "run.sh").write_text(script, encoding="utf-8")
    return Command(folder, arguments, {**environment_for(binary.parent), **told})


def environment_for(binaries: Path) -> dict[str, str]:
    """What a process of an engine sees: its own programs first, and nothing that is not its business."""
    passed = {
        name: value
        for name, value in os.environ.items()
        if name in PASSED_ON or name.startswith(PASSED_ON_PREFIXES)
    }
    passed["PATH"] = f"{binaries}:{passed.get('PATH', '/usr/bin:/bin')}"
    passed |= {"PYTHONUNBUFFERED": "1", "DO_NOT_TRACK": "1", "TOKENIZERS_PARALLELISM": "false"}
    return passed


def _reward(job: TrainingJob, recipe: GspoRecipe) -> dict[str, str]:
    """What the reward is told, see `training.swift_plugin.settings`."""
    assert job.judge is not None
    judge = endpoint_settings(job.judge)
    told = {
        "JUDGE_URL": judge.base_url,
        "JUDGE_MODEL": judge.model,
        "JUDGE_KEY": judge.api_key,
        "TIMEOUT": str(judge.timeout),
        "IN_FLIGHT": str(judge.max_in_flight),
        "MAX_TOKENS": str(judge.max_output_tokens or 4_096),
        "CONSTRAINED": "yes" if judge.constrained else "no",
        "DEADLINE": str(recipe.judging_seconds),
        "FALLBACK_LIMIT": str(recipe.fallback_limit),
        "ASSESSMENTS": str(job_folder(job) / ASSESSMENTS),
    }
    return {PREFIX + name: value for name, value in told.items()}
