"""What has to be so on this machine before a training starts; each check says what is missing."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path
from urllib.error import URLError
from urllib.request import Request, urlopen

from django.conf import settings

from llm.replay import is_replay
from llm.services import endpoint_settings
from training.job_data import corpus_for
from training.jobs import storage
from training.jobs.launching import engine_folder, job_folder, model_folder
from training.models import TrainingJob
from training.recipes.catalogue import recipe_from
from training.recipes.settings import GspoRecipe, Recipe, SftRecipe

WEIGHTS = ("*.safetensors", "*.bin")
STATE_FACTOR = 7
"""A checkpoint with the optimizer's state, in sizes of the bf16 weights: 2 + 4 + 4 + 4 bytes a parameter."""

FREE_GPU_MIB = 1_024
"""A GPU with more memory in use than this is somebody's."""

ASK_SECONDS = 20
PACKAGES = {
    "sft": ("llamafactory", "torch", "transformers"),
    "gspo": ("ms-swift", "torch", "transformers", "trl"),
}
_VERSIONS = """
import importlib.metadata as m, json, sys
found = {}
for name in sys.argv[1:]:
    try: found[name] = m.version(name)
    except m.PackageNotFoundError: found[name] = ""
print(json.dumps(found))
"""


def problems(job: TrainingJob) -> list[str]:
    """Everything that keeps a job from starting here now; empty when it can start."""
    recipe = recipe_from(job.recipe)
    return [text for text in _all(job, recipe) if text]


def _all(job: TrainingJob, recipe: SftRecipe | GspoRecipe) -> Iterator[str]:
    yield from _environment(recipe)
    yield _model(job)
    yield _gpus(recipe)
    yield _disk(job, recipe)
    if not (job_folder(job) / "data").exists():
        yield storage.missing(job.snapshot, f"{corpus_for(recipe)}.jsonl")
    if recipe.nodes > 1 and settings.TRAINING.launcher == "local" and not recipe.master_address:
        yield "the recipe is for several machines: set master_address to the first one's"
    if job.judge:
        yield _judge(job)


def _environment(recipe: Recipe) -> Iterator[str]:
    assert isinstance(recipe, SftRecipe | GspoRecipe)
    folder = engine_folder(recipe)
    engine = "LLaMA-Factory" if recipe.kind == "sft" else "MS-Swift"
    variable = "TRAINING_LLAMAFACTORY" if recipe.kind == "sft" else "TRAINING_SWIFT"
    if not (folder / "bin" / "python").exists():
        yield f"{engine} has no environment at {folder}: make one there, or name its folder in {variable}"
        return
    absent = [name for name, version in versions(recipe).items() if not version]
    if absent:
        yield f"{', '.join(absent)} cannot be found in {folder} ({variable})"


def versions(recipe: SftRecipe | GspoRecipe) -> dict[str, str]:
    """The engine's packages with their versions in its environment, empty text for one that is not there."""
    wanted = [*PACKAGES[recipe.kind], *(["deepspeed"] if recipe.zero_stage else [])]
    return dict(_versions(engine_folder(recipe) / "bin" / "python", tuple(wanted)))


@lru_cache(maxsize=16)
def _versions(python: Path, names: tuple[str, ...]) -> tuple[tuple[str, str], ...]:
    shown = subprocess.run(  # noqa: S603 (the operator's folder, our own program)
        [python, "-c", _VERSIONS, *names], check=True, capture_output=True, text=True, timeout=60
    )
    return tuple(json.loads(shown.stdout).items())


def _model(job: TrainingJob) -> str:
    try:
        folder = model_folder(job)
    except ValueError as error:
        return str(error)
    if job.starts_from and job.starts_from.host != settings.TRAINING.host:
        return f"{job.starts_from} is on {job.starts_from.host}, this is {settings.TRAINING.host}"
    if not (folder / "config.json").exists():
        return f"there is no model at {folder}: put its folder there, or name another one in TRAINING_MODELS"
    if not any(file for pattern in WEIGHTS for file in folder.glob(pattern)):
        return f"the model at {folder} has no weights ({', '.join(WEIGHTS)})"
    return ""


def weights_bytes(folder: Path) -> int:
    return sum(file.stat().st_size for pattern in WEIGHTS for file in folder.glob(pattern))


def _disk(job: TrainingJob, recipe: Recipe) -> str:
    settings.TRAINING.root.mkdir(parents=True, exist_ok=True)
    # Until it is pruned a new checkpoint stands beside those that are kept and the best.
    wanted = weights_bytes(model_folder(job)) * STATE_FACTOR * (recipe.keep_checkpoints + 2)
    held = sum(each.bytes for each in job.checkpoints.filter(state="kept"))
    free = shutil.disk_usage(settings.TRAINING.root).free
    if free + held >= wanted:
        return ""
    return (
        f"{settings.TRAINING.root} has {free / 2**30:.1f} GiB free; "
        f"{recipe.keep_checkpoints} kept checkpoints need about {wanted / 2**30:.1f} GiB"
    )


def _gpus(recipe: Recipe) -> str:
    if recipe.on_cpu or settings.TRAINING.launcher == "slurm":
        return ""
    assert isinstance(recipe, SftRecipe | GspoRecipe)
    query = ["nvidia-smi", "--query-gpu=index,memory.used", "--format=csv,noheader,nounits"]
    try:
        shown = subprocess.run(  # noqa: S603 (constant)
            query, check=True, capture_output=True, text=True, timeout=ASK_SECONDS
        )
    except (OSError, subprocess.SubprocessError) as error:
        return f"no GPU can be seen here (nvidia-smi: {error}); the recipe needs {recipe.processes}"
    used = [int(line.split(",")[1]) for line in shown.stdout.splitlines() if line.strip()]
    free = sum(each < FREE_GPU_MIB for each in used)
    if free < recipe.processes:
        return f"{free} of {len(used)} GPUs are free; the recipe needs {recipe.processes}"
    return ""


def _judge(job: TrainingJob) -> str:
    assert job.judge is not None
    judge = endpoint_settings(job.judge)
    if is_replay(judge.base_url):
        return ""
    request = Request(f"{judge.base_url.rstrip('/')}/models")  # noqa: S310 (an address of the endpoints' page)
    if judge.api_key:
        request.add_header("Authorization", f"Bearer {judge.api_key}")
    try:
        with urlopen(request, timeout=ASK_SECONDS) as answer:  # noqa: S310
            answer.read(1)
    except (URLError, OSError, ValueError) as error:
        return f"the judge {job.judge.name} does not answer at {judge.base_url}: {error}"
    return ""
