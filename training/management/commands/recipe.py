"""Shows recipes, and writes one as its engine reads it."""

from __future__ import annotations

import shlex
from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from curation.tokenizer import BUNDLED, TokenizerError, load_encoder
from training.job_data import PreflightError, corpus_for, write_job_data
from training.models import CorpusSnapshot
from training.recipes.catalogue import RECIPES, with_changes
from training.recipes.comparison import Standing, compared
from training.recipes.rendering import Places, render
from training.recipes.settings import GspoRecipe, Rubrics, SftRecipe
from training.snapshots import snapshot_folder

AnyRecipe = SftRecipe | GspoRecipe


class Command(BaseCommand):
    help = "Lists the recipes, compares one with the paper, or writes what its engine reads into a folder."
    requires_system_checks = ()

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("name", nargs="?", help="a recipe; without it they are listed")
        parser.add_argument(
            "--set", action="append", default=[], metavar="SETTING=VALUE", help="change a setting"
        )
        parser.add_argument("--output", type=Path, metavar="FOLDER", help="write the engine's files here")
        parser.add_argument("--model", default="", help="folder of the model; without it the recipe's name")
        parser.add_argument("--data", default="data", help="folder of the rows")
        parser.add_argument(
            "--snapshot", help="name of a finished corpus: its rows are checked and written as the data"
        )
        parser.add_argument(
            "--tokenizer", default=BUNDLED, help="what lengths are counted with: qwen3, or a tokenizer.json"
        )
        parser.add_argument("--plugin", default="plugin.py", help="file of the reward plugin")

    def handle(self, *args: Any, **options: Any) -> None:
        if options["name"] is None:
            for each in RECIPES.values():
                self.stdout.write(f"{each.name}: {each.kind} of {each.model}, rubrics {each.rubrics}")
            return
        try:
            recipe = RECIPES[options["name"]]
        except KeyError:
            raise CommandError(f"no recipe {options['name']!r}; there are {', '.join(RECIPES)}") from None
        changes = dict(_pair(text) for text in options["set"])
        try:
            recipe = with_changes(recipe, changes)
        except ValueError as error:
            raise CommandError(str(error)) from error
        for row in compared(recipe):
            origin = row.section if row.standing is not Standing.OURS else f"ours: {row.because}"
            differs = f" (the paper: {row.usual})" if row.standing is Standing.DIFFERS else ""
            self.stdout.write(f"{row.name} = {row.value}{differs}  [{origin}]")
        if folder := options["output"]:
            if options["snapshot"]:
                self._write_rows(recipe, folder / "data", options)
            self._write(recipe, folder, options)
        elif options["snapshot"]:
            raise CommandError("--snapshot needs --output: where its rows are written to")

    def _write_rows(self, recipe: AnyRecipe, folder: Path, options: dict[str, Any]) -> None:
        snapshot = CorpusSnapshot.objects.filter(
            name=options["snapshot"], state=CorpusSnapshot.State.DONE
        ).first()
        if snapshot is None:
            raise CommandError(f"there is no finished corpus {options['snapshot']!r}")
        method = snapshot.manifest["rubrics"]["method"]
        if recipe.rubrics not in (Rubrics.NONE, method):
            raise CommandError(
                f"{recipe.name} trains on {recipe.rubrics} rubrics, {snapshot.name} has {method}"
            )
        rows = snapshot_folder(snapshot) / f"{corpus_for(recipe)}.jsonl"
        try:
            encode = load_encoder(options["tokenizer"]).encode
            written = write_job_data(rows, folder, recipe, lambda text: len(encode(text)))
        except (TokenizerError, PreflightError, OSError) as error:
            raise CommandError(str(error)) from error
        self.stdout.write(f"{written.train} rows to train on and {written.valid} to evaluate on, in {folder}")

    def _write(self, recipe: AnyRecipe, folder: Path, options: dict[str, Any]) -> None:
        places = Places(options["model"] or recipe.model, options["data"], "output", options["plugin"])
        launch = render(recipe, places)
        folder.mkdir(parents=True, exist_ok=True)
        for name, text in launch.files.items():
            (folder / name).write_text(text, encoding="utf-8")
        words = [f"{key}={value}" for key, value in launch.environment.items()]
        command = " ".join([*words, shlex.join(launch.arguments)])
        (folder / "run.sh").write_text(f'cd -- "$(dirname -- "$0")" && {command}\n', encoding="utf-8")
        self.stdout.write(f"written to {folder}; start it with: bash {folder / 'run.sh'}")


def _pair(text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not equals:
        raise CommandError(f"--set {text}: write it as SETTING=VALUE")
    return name, value
