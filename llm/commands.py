"""What the commands of all stages have in common: an endpoint, a limit, and where the work is done."""

from __future__ import annotations

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from llm.models import Endpoint, Run
from llm.progress import follow
from llm.services import set_workers


class StageCommand(BaseCommand):
    """A command that starts one run and follows it. Subclasses say how to start it."""

    needs_endpoint = True

    def add_arguments(self, parser: ArgumentParser) -> None:
        if self.needs_endpoint:
            parser.add_argument("--endpoint", required=True, help="name of the endpoint to ask")
        parser.add_argument("--limit", type=positive, help="take only the first N that wait")
        parser.add_argument(
            "--here", action="store_true", help="do the work in this process, without a worker"
        )

        parser.add_argument("--workers", type=positive, default=1, help="how many workers may share the run")

    def handle(self, *args: Any, **options: Any) -> None:
        run = self.start(options)
        if options["workers"] > 1:
            set_workers(run_id=run.pk, count=options["workers"])
        self.follow(run, options)

    def start(self, options: dict[str, Any]) -> Run:
        raise NotImplementedError

    def follow(self, run: Run, options: dict[str, Any]) -> None:
        follow(run, here=options["here"])


def endpoint_named(name: str) -> Endpoint:
    """Raises CommandError that lists the endpoints there are."""
    try:
        return Endpoint.objects.get(name=name)
    except Endpoint.DoesNotExist:
        known = ", ".join(Endpoint.objects.values_list("name", flat=True)) or "none yet"
        raise CommandError(
            f"there is no endpoint {name!r} (there are: {known}); make one with manage.py endpoint"
        ) from None


def positive(text: str) -> int:
    """An argument that counts something."""
    number = int(text)
    if number < 1:
        raise ValueError(text)
    return number
