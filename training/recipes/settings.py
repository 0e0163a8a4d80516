"""Recipes as typed objects. Pure.

Every setting says where its default is from: a section of the paper, or our own choice with its reason. A
recipe that deviates (the tiny one) keeps that, so that a page can show both.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, StringConstraints, model_validator

SECTION, BECAUSE = "section", "because"

Name = Annotated[str, StringConstraints(pattern=r"^[a-z0-9][a-z0-9-]{0,59}$")]
Model = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9][A-Za-z0-9._/-]{0,199}$")]
"""A name on a hub, or the name of a folder below the one for models; never a path that leads elsewhere."""


Stage = Annotated[Literal[0, 3], BeforeValidator(lambda value: {"0": 0, "3": 3}.get(value, value))]
"""0 is without DeepSpeed."""


class Rubrics(StrEnum):
    """Which rubrics the training rows hold: Table 3's ablations compare them."""

    IRG = "irg"
    DRG = "drg"
    NONE = "none"


def given(default: Any, section: str, **bounds: Any) -> Any:
    """A setting whose value the paper gives in `section`."""
    return Field(default, json_schema_extra={SECTION: section}, **bounds)


def ours(default: Any, because: str, **bounds: Any) -> Any:
    """A setting that the paper does not give."""
    return Field(default, json_schema_extra={BECAUSE: because}, **bounds)


class Recipe(BaseModel):
    """What both kinds of training have in common. Raises pydantic's ValidationError for what cannot be."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: Name
    model: Model
    template: Annotated[str, StringConstraints(pattern=r"^[a-z0-9_]{1,40}$")]
    rubrics: Rubrics = Rubrics.IRG
    on_cpu: bool = False

    full_parameters: Literal[True] = given(True, "B.3")
    precision: Literal["bfloat16", "float32"] = given("bfloat16", "B.3")
    zero_stage: Stage = given(3, "B.3")
    evaluate_every: int = given(20, "B.3", ge=1)
    save_every: int = given(20, "B.3", ge=1)
    log_every: int = ours(1, "a plot of every step", ge=1)
    keep_checkpoints: int = ours(3, "an 8B model with its optimizer state takes about 130 GB", ge=1)
    seed: int = ours(42, "any number; it is written down", ge=0, le=2**31 - 1)
    max_steps: int | None = ours(None, "the number of epochs decides", ge=1)
    nodes: int = ours(1, "one machine holds a model of this size", ge=1, le=64)
    master_address: Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9.:-]{0,253}$")] = ours(
        "", "only for several machines without Slurm: the first one's"
    )
    master_port: int = ours(29_500, "torchrun's own default", ge=1, le=65_535)
    tracker: Literal["none", "wandb", "mlflow"] = ours("none", "TensorBoard gets the metrics in any case")
    stall_minutes: int = ours(30, "a step of GSPO with long responses takes minutes", ge=1, le=1_440)


class SftRecipe(Recipe):
    """Supervised training by LLaMA-Factory: the writer on demonstrations, or RubricGen on rubrics (B.1)."""

    kind: Literal["sft"] = "sft"
    trains: Literal["writer", "rubricgen"] = "writer"
    processes: int = ours(4, "as in the second stage", ge=1, le=64)
    cutoff: int = ours(
        16_384, "prompt, rubric and a long response; longer rows are refused, not cut", ge=64, le=131_072
    )
    learning_rate: float = ours(1e-5, "usual for full-parameter training of 4B to 8B", gt=0, lt=1e-2)
    epochs: float = ours(3.0, "usual for 15K demonstrations", gt=0, le=20)
    device_batch: int = ours(1, "16,384 tokens fill an 80 GB GPU", ge=1)
    accumulation: int = ours(8, "32 rows a step with four processes", ge=1)
    schedule: Literal["cosine", "linear", "constant"] = ours("cosine", "usual")
    warmup: float = ours(0.1, "usual", ge=0, lt=1)

    @property
    def rows_per_step(self) -> int:
        return self.nodes * self.processes * self.device_batch * self.accumulation

    @model_validator(mode="after")
    def _generators_have_rubrics(self) -> SftRecipe:
        if self.trains == "rubricgen" and self.rubrics is Rubrics.NONE:
            raise ValueError("a rubric generator is trained on rubrics: choose irg or drg")
        return self


class GspoRecipe(Recipe):
    """Group sequence policy optimization by MS-Swift, rewarded by the rubric (3.4, B.2)."""

    kind: Literal["gspo"] = "gspo"
    trains: Literal["writer"] = "writer"
    group: int = given(8, "B.2", ge=2, le=64)
    resamples: int = given(3, "B.2", ge=0, le=16)
    clip_below: float = given(3e-4, "B.2", gt=0, lt=1)
    clip_above: float = given(4e-4, "B.2", gt=0, lt=1)
    temperature: float = given(1.0, "B.2", gt=0, le=2)
    top_p: float = given(0.9, "B.2", gt=0, le=1)
    top_k: int = given(50, "B.2", ge=1)
    response_tokens: int = given(4_096, "B.2", ge=1, le=131_072)
    input_cutoff: int = given(8_192, "B.3", ge=64, le=131_072)
    truncation: Literal["left"] = given("left", "B.3")
    processes: int = given(4, "B.3", ge=1, le=64)
    accumulation: int = given(4, "B.3", ge=1)
    importance: Literal["sequence"] = given("sequence", "B.3")
    steps_per_generation: int = ours(
        8, "more than the accumulation steps: else every update is on-policy and clipping never acts", ge=1
    )
    device_batch: int = ours(2, "12,288 tokens twice fit an 80 GB GPU", ge=1)
    learning_rate: float = ours(1e-6, "usual for policy optimization of this size", gt=0, lt=1e-3)
    epochs: float = ours(1.0, "each prompt once", gt=0, le=20)
    beta: float = ours(0.0, "GSPO as published has no KL term", ge=0, le=1)
    warmup: float = ours(0.05, "usual", ge=0, lt=1)
    fallback_limit: float = ours(0.2, "more would teach the writer about the judge's outages", gt=0, le=1)
    judging_seconds: int = ours(
        900, "a judge with 32 calls in flight answers a batch in less", ge=1, le=86_400
    )

    @property
    def completions_per_generation(self) -> int:
        return self.nodes * self.processes * self.device_batch * self.steps_per_generation

    @model_validator(mode="after")
    def _the_engine_can_run_it(self) -> GspoRecipe:
        if self.rubrics is Rubrics.NONE:
            raise ValueError("the reward reads a rubric: choose irg or drg")
        if self.completions_per_generation % self.group:
            raise ValueError(
                f"{self.nodes * self.processes} processes x {self.device_batch} x "
                f"{self.steps_per_generation} steps make {self.completions_per_generation} completions, "
                f"which groups of {self.group} do not divide"
            )
        if self.steps_per_generation <= self.accumulation:
            raise ValueError(
                f"steps_per_generation is {self.steps_per_generation} and accumulation {self.accumulation}: "
                "clipping acts only where it is greater"
            )
        if self.clip_below > self.clip_above:
            raise ValueError("the lower clipping offset is greater than the upper one")
        return self


AnyRecipe = Annotated[SftRecipe | GspoRecipe, Field(discriminator="kind")]
