"""The recipes that come with the workbench: the paper's trainings, its ablations, and one for a CPU. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from pydantic import TypeAdapter, ValidationError

from training.recipes.settings import AnyRecipe, GspoRecipe, Recipe, Rubrics, SftRecipe

QWEN = {"4b": "Qwen/Qwen3-4B", "8b": "Qwen/Qwen3-8B"}
"""The writers' backbones (B.3); RubricGen is the 4B model (A.1)."""

QWEN_TEMPLATE = "qwen3_nothink"
"""LLaMA-Factory's `qwen3` puts empty think tags into what is learned."""

TINY = {"model": "smollm2", "template": "smollm2", "on_cpu": True, "zero_stage": 0, "processes": 1}
"""The bundled model on a CPU: shows that everything runs, not that anything is learned."""

_ADAPTER: TypeAdapter[SftRecipe | GspoRecipe] = TypeAdapter(AnyRecipe)


def _all() -> Iterator[SftRecipe | GspoRecipe]:
    for rubrics in (Rubrics.IRG, Rubrics.DRG):
        variant = "" if rubrics is Rubrics.IRG else f"-{rubrics}"
        for size, model in QWEN.items():
            common: dict[str, Any] = {"model": model, "template": QWEN_TEMPLATE, "rubrics": rubrics}
            yield SftRecipe(name=f"writer-sft-{size}{variant}", **common)
            yield GspoRecipe(name=f"writer-gspo-{size}{variant}", **common)
        yield SftRecipe(
            name=f"rubricgen-sft-4b{variant}",
            model=QWEN["4b"],
            template=QWEN_TEMPLATE,
            rubrics=rubrics,
            trains="rubricgen",
        )
    for size, model in QWEN.items():
        yield SftRecipe(
            name=f"writer-sft-{size}-no-rubric", model=model, template=QWEN_TEMPLATE, rubrics=Rubrics.NONE
        )
    short: dict[str, Any] = {"evaluate_every": 1, "save_every": 1, "max_steps": 2, **TINY}
    sft: dict[str, Any] = {"cutoff": 2_048, "accumulation": 2, **short}
    yield SftRecipe(name="tiny-sft", **sft)
    yield SftRecipe(name="tiny-rubricgen", trains="rubricgen", **sft)
    yield GspoRecipe(
        name="tiny-gspo",
        input_cutoff=1_024,
        response_tokens=32,
        device_batch=8,
        accumulation=1,
        steps_per_generation=2,
        **short,
    )


RECIPES: Mapping[str, SftRecipe | GspoRecipe] = {recipe.name: recipe for recipe in _all()}


def recipe_from(settings: Mapping[str, Any]) -> SftRecipe | GspoRecipe:
    """The recipe whose settings were stored. Raises ValueError for settings that are none."""
    try:
        return _ADAPTER.validate_python(dict(settings))
    except ValidationError as error:
        raise ValueError("; ".join(_said(each) for each in error.errors())) from error


def with_changes(recipe: Recipe, changes: Mapping[str, str]) -> SftRecipe | GspoRecipe:
    """The recipe with some settings replaced, as text from a form or a command; empty text takes a limit off.

    Raises ValueError that names each setting that is unknown or has an impossible value.
    """
    unknown = sorted(set(changes) - set(type(recipe).model_fields) | (set(changes) & {"kind", "trains"}))
    if unknown:
        raise ValueError(f"{recipe.name} has no setting {', '.join(unknown)}")
    fields = type(recipe).model_fields
    values = {
        name: None if text == "" and fields[name].default is None else text for name, text in changes.items()
    }
    try:
        return _ADAPTER.validate_python({**recipe.model_dump(), **values})
    except ValidationError as error:
        raise ValueError("; ".join(_said(each) for each in error.errors())) from error


def _said(error: Any) -> str:
    place = ".".join(str(part) for part in error["loc"] if part not in ("sft", "gspo"))
    message = str(error["msg"]).removeprefix("Value error, ")
    return f"{place}: {message}" if place else message
