"""Shows a run, or moves it."""

from __future__ import annotations

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from llm.models import Run
from llm.progress import follow
from llm.services import cancel_run, continue_run, pause_run, retry_failed


class Command(BaseCommand):
    help = "Pauses, continues, cancels or follows a run, or asks again for what failed in it."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("run", type=int)
        action = parser.add_mutually_exclusive_group()
        action.add_argument("--pause", action="store_true")
        action.add_argument("--continue", dest="go_on", action="store_true")
        action.add_argument("--cancel", action="store_true")
        action.add_argument("--retry-failed", action="store_true")
        parser.add_argument(
            "--here", action="store_true", help="do the work in this process, without a worker"
        )

    def handle(self, *args: Any, **options: Any) -> None:
        run_id = options["run"]
        if not Run.objects.filter(pk=run_id).exists():
            raise CommandError(f"there is no run {run_id}")
        if options["pause"]:
            self._say(pause_run(run_id=run_id), "paused", "it was not running")
            return
        if options["cancel"]:
            self._say(cancel_run(run_id=run_id), "cancelled", "it had ended already")
            return
        if options["go_on"]:
            self._say(continue_run(run_id=run_id), "going on", "it was not paused")
        if options["retry_failed"]:
            count = retry_failed(run_id=run_id)
            self.stdout.write(f"{count} failed items queued again")
        follow(Run.objects.get(pk=run_id), here=options["here"])

    def _say(self, moved: bool, done: str, not_done: str) -> None:
        self.stdout.write(done if moved else not_done)
