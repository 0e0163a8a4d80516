"""The `mine` command."""

from __future__ import annotations

from argparse import ArgumentParser
from dataclasses import fields
from typing import Any

from django.core.management.base import CommandError

from llm.commands import StageCommand, endpoint_named, positive
from llm.models import Run
from rubrics.construction import AcceptanceBounds
from rubrics.models import Rubric
from rubrics.services import start_mining
from rubrics.steps import CONSTRUCTORS


class Command(StageCommand):
    help = "Makes a rubric by one method for every accepted prompt that has none of it by the endpoint."

    def add_arguments(self, parser: ArgumentParser) -> None:
        super().add_arguments(parser)
        parser.add_argument(
            "--method",
            choices=[str(method) for method in CONSTRUCTORS],
            default=str(Rubric.Method.IRG),
            help="irg: three stages; drg: one call, the baseline; rubricgen: one call to a trained generator",
        )
        for bound in fields(AcceptanceBounds):
            option = f"--{bound.name.replace('_', '-')}"
            parser.add_argument(
                option, type=positive, default=bound.default, help="acceptance bound (default: %(default)s)"
            )

    def start(self, options: dict[str, Any]) -> Run:
        try:
            bounds = AcceptanceBounds(
                **{bound.name: options[bound.name] for bound in fields(AcceptanceBounds)}
            )
        except ValueError as error:
            raise CommandError(str(error)) from None
        return start_mining(
            endpoint=endpoint_named(options["endpoint"]),
            method=options["method"],
            limit=options["limit"],
            bounds=bounds,
        )
