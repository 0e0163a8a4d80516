"""What the engines read: LLaMA-Factory's YAML, MS-Swift's arguments, DeepSpeed's JSON. Pure.

The tiny recipes ran as rendered on LLaMA-Factory 0.9.5 and MS-Swift 4.6.0. Those for GPUs use the same names
of options, with DeepSpeed and MS-Swift's vLLM in place of the CPU.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import yaml

from training.recipes.settings import GspoRecipe, Recipe, SftRecipe

SFT_FILE, DEEPSPEED_FILE = "sft.yaml", "deepspeed.json"


@dataclass(frozen=True, slots=True)
class Places:
    """Where a job's things are on the machine that trains: the folders of model, rows and output, for GSPO
    the file of the reward plugin, and the checkpoint that it goes on from."""

    model: str
    data: str
    output: str
    plugin: str = ""
    resume: str = ""


@dataclass(frozen=True, slots=True)
class Launch:
    """The files that an engine reads, by name, its arguments, and what its environment needs."""

    files: Mapping[str, str]
    arguments: tuple[str, ...]
    environment: Mapping[str, str]


def render(recipe: Recipe, places: Places, *, prunes: bool = True) -> Launch:
    """`prunes` is whether the engine itself deletes older checkpoints.

    Raises ValueError for GSPO without a plugin.
    """
    if isinstance(recipe, SftRecipe):
        return _sft(recipe, places, prunes)
    assert isinstance(recipe, GspoRecipe)
    return _gspo(recipe, places, prunes)


def _sft(recipe: SftRecipe, places: Places, prunes: bool) -> Launch:
    options: dict[str, Any] = {
        "model_name_or_path": places.model,
        "stage": "sft",
        "do_train": True,
        "finetuning_type": "full",
        "dataset_dir": places.data,
        "dataset": "train",
        "eval_dataset": "valid",
        "template": recipe.template,
        "enable_thinking": False,
        "cutoff_len": recipe.cutoff,
        "output_dir": places.output,
        "per_device_train_batch_size": recipe.device_batch,
        "per_device_eval_batch_size": recipe.device_batch,
        "gradient_accumulation_steps": recipe.accumulation,
        "learning_rate": recipe.learning_rate,
        "num_train_epochs": recipe.epochs,
        "lr_scheduler_type": recipe.schedule,
        "warmup_ratio": recipe.warmup,
        "bf16": recipe.precision == "bfloat16",
        "eval_strategy": "steps",
        "eval_steps": recipe.evaluate_every,
        "save_steps": recipe.save_every,
        "logging_steps": recipe.log_every,
        "seed": recipe.seed,
        # `true` would delete trainer_log.jsonl, from which the job's plots are drawn.
        "overwrite_output_dir": False,
        "report_to": _trackers(recipe),
    }
    if prunes:
        options["save_total_limit"] = recipe.keep_checkpoints
    if places.resume:
        options["resume_from_checkpoint"] = places.resume
    if recipe.max_steps:
        options["max_steps"] = recipe.max_steps
    if recipe.on_cpu:
        options["use_cpu"] = True
    files = {}
    if recipe.zero_stage:
        options["deepspeed"] = DEEPSPEED_FILE
        files[DEEPSPEED_FILE] = _deepspeed(recipe)
    files[SFT_FILE] = yaml.safe_dump(options, sort_keys=False, allow_unicode=True)
    environment = {"FORCE_TORCHRUN": "1", "NPROC_PER_NODE": str(recipe.processes)}
    if recipe.on_cpu:
        environment = {}
    environment |= _meeting(recipe)
    return Launch(files, ("llamafactory-cli", "train", SFT_FILE), environment)


def _gspo(recipe: GspoRecipe, places: Places, prunes: bool) -> Launch:
    if not places.plugin:
        raise ValueError("GSPO needs the file of the reward plugin")
    options: dict[str, Any] = {
        "rlhf_type": "grpo",
        "model": places.model,
        "model_type": "llama" if recipe.template == "smollm2" else "qwen3",
        "template": "chatml" if recipe.template == "smollm2" else "qwen3_nothinking",
        "tuner_type": "full",
        "torch_dtype": recipe.precision,
        "dataset": f"{places.data}/train.jsonl",
        "val_dataset": f"{places.data}/valid.jsonl",
        "eval_strategy": "steps",
        "external_plugins": places.plugin,
        "reward_funcs": "rubric",
        "importance_sampling_level": recipe.importance,
        "loss_type": "grpo",
        "beta": recipe.beta,
        "epsilon": recipe.clip_below,
        "epsilon_high": recipe.clip_above,
        "num_generations": recipe.group,
        "dynamic_sample": _flag(recipe.resamples > 0),
        # The last resample is generated and never looked at: one more gives the wanted number in effect.
        "max_resample_times": recipe.resamples + 1,
        "temperature": recipe.temperature,
        "top_p": recipe.top_p,
        "top_k": recipe.top_k,
        "max_length": recipe.input_cutoff,
        "truncation_strategy": recipe.truncation,
        "max_completion_length": recipe.response_tokens,
        "per_device_train_batch_size": recipe.device_batch,
        "per_device_eval_batch_size": recipe.device_batch,
        "gradient_accumulation_steps": recipe.accumulation,
        "steps_per_generation": recipe.steps_per_generation,
        "learning_rate": recipe.learning_rate,
        "warmup_ratio": recipe.warmup,
        "num_train_epochs": recipe.epochs,
        "use_vllm": _flag(not recipe.on_cpu),
        "save_steps": recipe.save_every,
        "eval_steps": recipe.evaluate_every,
        "logging_steps": recipe.log_every,
        "log_completions": "true",
        "seed": recipe.seed,
        "output_dir": places.output,
        "add_version": "false",
    }
    if prunes:
        options["save_total_limit"] = recipe.keep_checkpoints
    if places.resume:
        options["resume_from_checkpoint"] = places.resume
    if recipe.max_steps:
        options["max_steps"] = recipe.max_steps
    if recipe.on_cpu:
        options["use_cpu"] = "true"
    else:
        options["vllm_mode"] = "colocate"
    files = {}
    if recipe.zero_stage:
        options["deepspeed"] = DEEPSPEED_FILE
        files[DEEPSPEED_FILE] = _deepspeed(recipe)
    arguments = [word for name, value in options.items() for word in (f"--{name}", str(value))]
    arguments += ["--report_to", *_trackers(recipe)]
    environment = {"NPROC_PER_NODE": str(recipe.processes), "USE_HF": "1", "HF_HUB_OFFLINE": "1"}
    if recipe.on_cpu:
        del environment["NPROC_PER_NODE"]
    environment |= _meeting(recipe)
    return Launch(files, ("swift", "rlhf", *arguments), environment)


def _trackers(recipe: Recipe) -> list[str]:
    return ["tensorboard", *([recipe.tracker] if recipe.tracker != "none" else [])]


def _meeting(recipe: Recipe) -> dict[str, str]:
    """Where the processes of several machines find each other; each machine is told its NODE_RANK."""
    if recipe.nodes == 1:
        return {}
    return {
        "NNODES": str(recipe.nodes),
        "MASTER_ADDR": recipe.master_address,
        "MASTER_PORT": str(recipe.master_port),
    }


def _deepspeed(recipe: Recipe) -> str:
    """ZeRO stage 3; `auto` leaves to the engine what the recipe tells it elsewhere."""
    options = {
        "train_batch_size": "auto",
        "train_micro_batch_size_per_gpu": "auto",
        "gradient_accumulation_steps": "auto",
        "gradient_clipping": "auto",
        "bf16": {"enabled": recipe.precision == "bfloat16"},
        "zero_optimization": {
            "stage": recipe.zero_stage,
            "overlap_comm": True,
            "contiguous_gradients": True,
            "reduce_bucket_size": "auto",
            "stage3_prefetch_bucket_size": "auto",
            "stage3_param_persistence_threshold": "auto",
            # Without this a checkpoint holds shards that vLLM cannot load.
            "stage3_gather_16bit_weights_on_model_save": True,
        },
    }
    return json.dumps(options, indent=2) + "\n"


def _flag(value: bool) -> str:
    return "true" if value else "false"
