"""Recipes: the paper's values, what cannot be, and what the engines are given."""

from __future__ import annotations

import json
import subprocess
from io import StringIO
from pathlib import Path

import pytest
import yaml
from django.core.management import CommandError, call_command
from django.test import Client
from django.urls import reverse

from llm.access import Role
from tests.samples import person
from training.recipes.catalogue import RECIPES, with_changes
from training.recipes.comparison import Standing, compared
from training.recipes.rendering import Launch, Places, render

PLACES = Places(model="/models/m", data="/data", output="/out", plugin="/plugin.py")
PAPER = {
    "group": 8,
    "resamples": 3,
    "clip_below": 3e-4,
    "clip_above": 4e-4,
    "temperature": 1.0,
    "top_p": 0.9,
    "top_k": 50,
    "response_tokens": 4096,
    "input_cutoff": 8192,
    "truncation": "left",
    "processes": 4,
    "accumulation": 4,
    "evaluate_every": 20,
    "save_every": 20,
    "precision": "bfloat16",
    "zero_stage": 3,
}
"""Of GSPO, B.2 and B.3."""


def swift_options(launch: Launch) -> dict[str, str]:
    assert launch.arguments[:2] == ("swift", "rlhf")
    words = launch.arguments[2:]
    return dict(zip((word.removeprefix("--") for word in words[::2]), words[1::2], strict=True))


@pytest.mark.parametrize("name", [name for name in RECIPES if name.startswith("writer-gspo")])
def test_the_papers_gspo_has_the_papers_values(name: str) -> None:
    recipe = RECIPES[name]
    assert {key: getattr(recipe, key) for key in PAPER} == PAPER
    rows = {row.name: row for row in compared(recipe)}
    assert {key for key, row in rows.items() if row.section} >= set(PAPER)
    assert Standing.DIFFERS not in {row.standing for row in rows.values()}
    assert rows["learning_rate"].because


def test_every_training_of_the_paper_and_its_ablations_is_there() -> None:
    for size in ("4b", "8b"):
        assert {f"writer-sft-{size}{end}" for end in ("", "-drg", "-no-rubric")} <= set(RECIPES)
        assert {f"writer-gspo-{size}{end}" for end in ("", "-drg")} <= set(RECIPES)
        base = RECIPES[f"writer-sft-{size}"].model_dump(exclude={"name", "rubrics"})
        for end in ("-drg", "-no-rubric"):
            assert RECIPES[f"writer-sft-{size}{end}"].model_dump(exclude={"name", "rubrics"}) == base
    assert {"rubricgen-sft-4b", "rubricgen-sft-4b-drg", "tiny-sft", "tiny-gspo"} <= set(RECIPES)


def test_llama_factory_is_given_its_yaml() -> None:
    launch = render(RECIPES["writer-sft-8b"], PLACES)
    assert launch.arguments == ("llamafactory-cli", "train", "sft.yaml")
    options = yaml.safe_load(launch.files["sft.yaml"])
    assert options["model_name_or_path"] == "/models/m"
    assert options["finetuning_type"] == "full"
    assert options["deepspeed"] == "deepspeed.json"
    assert (options["bf16"], options["save_steps"], options["eval_steps"]) == (True, 20, 20)
    assert isinstance(options["learning_rate"], float)
    assert json.loads(launch.files["deepspeed.json"])["zero_optimization"]["stage"] == 3


@pytest.mark.parametrize("name", [name for name in RECIPES if RECIPES[name].kind == "sft"])
def test_nothing_that_loses_logs_or_teaches_think_tags(name: str) -> None:
    options = yaml.safe_load(render(RECIPES[name], PLACES).files["sft.yaml"])
    assert options["overwrite_output_dir"] is False
    assert options["enable_thinking"] is False
    assert options["template"] != "qwen3"


def test_ms_swift_is_given_its_arguments() -> None:
    launch = render(RECIPES["writer-gspo-4b"], PLACES)
    options = swift_options(launch)
    assert options["max_resample_times"] == "4"  # the last one is generated and never looked at
    assert (options["epsilon"], options["epsilon_high"]) == ("0.0003", "0.0004")
    assert (options["num_generations"], options["importance_sampling_level"]) == ("8", "sequence")
    assert options["external_plugins"] == "/plugin.py"
    assert launch.environment["NPROC_PER_NODE"] == "4"
    with pytest.raises(ValueError, match="reward plugin"):
        render(RECIPES["writer-gspo-4b"], Places("m", "d", "o"))


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"group": "7"}, "64 completions, which groups of 7 do not divide"),
        ({"steps_per_generation": "4"}, "clipping acts only where it is greater"),
        ({"clip_below": "0.01"}, "lower clipping offset is greater"),
        ({"top_p": "1.5"}, "top_p: Input should be less than or equal to 1"),
        ({"rubrics": "none"}, "the reward reads a rubric"),
        ({"precision": "float16"}, "precision"),
        ({"shell": "x", "kind": "sft"}, "no setting kind, shell"),
        ({"model": "../../etc"}, "model"),
        ({"model": "a; rm -rf /"}, "model"),
        ({"template": "$(id)"}, "template"),
    ],
)
def test_what_cannot_be_is_refused_by_name(changes: dict[str, str], said: str) -> None:
    with pytest.raises(ValueError, match="^" if not said else said.replace("(", r"\(")):
        with_changes(RECIPES["writer-gspo-4b"], changes)


def test_a_change_is_seen_beside_the_paper() -> None:
    changed = with_changes(RECIPES["writer-gspo-4b"], {"group": "16", "max_steps": "5", "beta": "0.1"})
    rows = {row.name: row for row in compared(changed)}
    assert (rows["group"].value, rows["group"].usual, rows["group"].standing) == (16, 8, Standing.DIFFERS)
    assert rows["beta"].standing is Standing.OURS
    assert rows["beta"].changed
    assert swift_options(render(changed, PLACES))["max_steps"] == "5"
    assert with_changes(changed, {"max_steps": ""}).max_steps is None


def test_no_setting_of_a_recipe_is_lost_on_the_way_to_its_engine() -> None:
    """Each setting that the comparison shows changes what the engine is given."""
    other = {
        "precision": "float32", "zero_stage": "0", "schedule": "linear", "seed": "7", "max_steps": "9",
        "group": "16", "processes": "8", "accumulation": "2", "device_batch": "4",
        "tracker": "wandb", "master_address": "10.0.0.7",
    }  # fmt: skip
    fixed = {"full_parameters", "truncation", "importance"}
    for_the_workbench = {"stall_minutes", "fallback_limit", "judging_seconds"}
    for name in ("writer-sft-4b", "writer-gspo-4b"):
        recipe = with_changes(RECIPES[name], {"nodes": "3"})
        before = render(recipe, PLACES)
        for row in compared(recipe):
            if row.name in fixed | for_the_workbench:
                continue
            factor = 0.5 if row.name in ("top_p", "clip_below") else 2
            text = other.get(row.name) or str(type(row.value)((row.value or 0.05) * factor))
            assert render(with_changes(recipe, {row.name: text}), PLACES) != before, row.name


def test_the_command_lists_compares_and_writes(tmp_path: Path) -> None:
    out = StringIO()
    call_command("recipe", stdout=out)
    assert out.getvalue().count("\n") == len(RECIPES)
    out = StringIO()
    call_command("recipe", "tiny-sft", "--set", "epochs=1", "--output", str(tmp_path / "it"), stdout=out)
    assert "zero_stage = 0 (the paper: 3)" in out.getvalue()
    assert yaml.safe_load((tmp_path / "it" / "sft.yaml").read_text())["num_train_epochs"] == 1.0
    script = (tmp_path / "it" / "run.sh").read_text()
    assert "llamafactory-cli train sft.yaml" in script
    subprocess.run(["bash", "-n", str(tmp_path / "it" / "run.sh")], check=True)
    for wrong in (["nothing"], ["tiny-sft", "--set", "epochs"], ["tiny-sft", "--set", "epochs=-1"]):
        with pytest.raises(CommandError):
            call_command("recipe", *wrong, stdout=StringIO())


@pytest.mark.django_db
def test_the_page_shows_the_recipe_beside_the_paper_and_what_the_engine_reads(client: Client) -> None:
    client.force_login(person("rosa", Role.RESEARCHER))
    assert client.get(reverse("recipes")).content.count(b"<tr>") == len(RECIPES) + 1
    address = reverse("recipe", args=["tiny-gspo"])
    page = client.get(address).content.decode()
    assert "<strong>differs</strong> from B.3" in page
    assert "--max_resample_times 4" in page
    page = client.get(address, {"group": "4"}).content.decode()
    assert "--num_generations 4" in page
    assert "--set group=4" in page
    refused = client.get(address, {"group": "3<b>"})
    assert refused.status_code == 422
    assert "Not possible: group" in refused.content.decode()
    assert 'value="3&lt;b&gt;"' in refused.content.decode()
    assert client.get(reverse("recipe", args=["none"])).status_code == 404
