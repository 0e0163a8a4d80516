"""An engine's folder with a program that trains nothing, for what goes wrong: it reads the recipe's file and
writes what LLaMA-Factory writes, or fails as `behaviour.txt` says."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from tokenizers import Tokenizer
from tokenizers.models import WordLevel
from tokenizers.pre_tokenizers import Whitespace

from config.environment import TrainingEnvironment
from tests.samples import candidate, corpus_prompt, rubric
from training.models import CorpusSnapshot
from training.snapshots import write_snapshot

PROGRAM = """#!{python}
import json, os, sys, time
from pathlib import Path
import yaml

behaviour = Path({behaviour!r}).read_text()
options = yaml.safe_load(Path("sft.yaml").read_text())
output = Path(options["output_dir"])
output.mkdir(parents=True, exist_ok=True)
resumed = options.get("resume_from_checkpoint", "")
first = int(resumed.rpartition("-")[2]) + 1 if resumed else 1
Path("starts.txt").open("a").write(f"{{first}} {{os.getpid()}}\\n")
print("environment", json.dumps(sorted(os.environ)), flush=True)
for step in range(first, options["max_steps"] + 1):
    if behaviour == f"memory {{step}}":
        sys.exit("torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB.")
    if behaviour == f"disk {{step}}":
        (output / f"checkpoint-{{step}}").mkdir()
        (output / f"checkpoint-{{step}}" / "model.safetensors").write_bytes(b"half")
        sys.exit("OSError: [Errno 28] No space left on device")
    if behaviour == f"node {{step}}":
        sys.exit("torch.distributed.DistNetworkError: Connection reset by peer")
    while behaviour == f"hang {{step}}":
        time.sleep(0.1)
    line = {{"current_steps": step, "total_steps": options["max_steps"], "loss": 3.0 - step / 10, "lr": 1e-5,
            "remaining_time": "0:00:10", "throughput": 100.0 + step}}
    with (output / "trainer_log.jsonl").open("a") as log:
        log.write(json.dumps(line) + "\\n")
        if step % options["eval_steps"] == 0:
            log.write(json.dumps({{"current_steps": step, "total_steps": options["max_steps"],
                                  "eval_loss": 2.0 + abs(step - 2)}}) + "\\n")
    checkpoint = output / f"checkpoint-{{step}}"
    checkpoint.mkdir()
    (checkpoint / "model.safetensors").write_bytes(bytes([step]) * 100)
    (checkpoint / "trainer_state.json").write_text("{{}}")
print("done", flush=True)
"""

PYTHON = """#!/bin/sh
PYTHONPATH={site} exec {python} "$@"
"""


def training_machine(folder: Path, **changes: Any) -> TrainingEnvironment:
    """Settings of a machine that trains, with a model of a few bytes and the engine above."""
    binaries, site, model = folder / "engine" / "bin", folder / "site", folder / "models" / "smollm2"
    for each in (binaries, site, model):
        each.mkdir(parents=True)
    behaviour = folder / "behaviour.txt"
    behaviour.write_text("")
    for name, text in (
        ("llamafactory-cli", PROGRAM.format(python=sys.executable, behaviour=str(behaviour))),
        ("python", PYTHON.format(python=sys.executable, site=site)),
    ):
        (binaries / name).write_text(text)
        (binaries / name).chmod(0o755)
    for package in ("llamafactory", "torch", "transformers"):
        (site / f"{package}-1.2.dist-info").mkdir()
        (site / f"{package}-1.2.dist-info" / "METADATA").write_text(f"Name: {package}\nVersion: 1.2\n")
    tokenizer = Tokenizer(WordLevel({"[UNK]": 0}, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = Whitespace()
    tokenizer.save(str(model / "tokenizer.json"))
    (model / "config.json").write_text(json.dumps({"model_type": "llama"}))
    (model / "model.safetensors").write_bytes(b"weights")
    values = {
        "host": "trainer-1", "root": folder / "training", "models": folder / "models", "storage": "",
        "storage_options": {}, "llamafactory": folder / "engine", "swift": folder / "engine",
        "vllm": folder / "engine", "vllm_options": (), "serving_host": "127.0.0.1", "launcher": "local",
        "slurm_options": (),
    }  # fmt: skip
    return TrainingEnvironment(**{**values, **changes})


def finished_snapshot(name: str = "first", prompts: int = 4) -> CorpusSnapshot:
    for number in range(prompts):
        of = rubric(corpus_prompt(f"Write letter {number} of {name}."))
        candidate(of, 0, f"Dear {number}, a letter of {name}.", value=0.8, demonstration=True)
    snapshot = CorpusSnapshot.objects.create(name=name, parameters={"seed": 0, "sft_share": "1"})
    snapshot.manifest, snapshot.state = write_snapshot(snapshot), "done"
    snapshot.save()
    return snapshot
