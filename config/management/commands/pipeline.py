"""The whole way, from a file of requests to exported corpora."""

from __future__ import annotations

from argparse import ArgumentParser
from fractions import Fraction
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from curation.automatic import review_automatically
from curation.management.commands.import_prompts import import_file
from curation.models import Reconstruction, ScreeningSample, Source
from curation.services import start_filtering, start_reconstruction, usable_source_prompts
from llm.commands import endpoint_named, positive
from llm.models import Run
from llm.progress import console, follow
from llm.services import continue_run
from rubrics.models import Rubric
from rubrics.services import start_mining
from rubrics.steps import CONSTRUCTORS
from training.corpora import SFT_SHARE
from training.models import CorpusSnapshot
from training.rubric_choice import RubricChoice
from training.services import request_snapshot, start_assessing, start_selecting, start_writing
from training.snapshots import corpus_digest


class Command(BaseCommand):
    help = (
        "Runs every stage: import, reconstruct, filter, review (by people, or automatically for a trial), "
        "mine, write, assess, select, export. Run again, it does only what is missing."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("path", type=Path, help="JSON lines of writing requests")
        parser.add_argument("--field", help="the text's field; see import_prompts")
        parser.add_argument("--name", help="name of the source and of the export; without it the file's name")
        parser.add_argument(
            "--endpoint", required=True, help="the endpoint that rewrites, mines, writes and judges"
        )
        parser.add_argument(
            "--method",
            choices=[str(method) for method in CONSTRUCTORS],
            default=str(Rubric.Method.IRG),
            help="how the rubrics are made",
        )
        parser.add_argument("--writer", help="another endpoint for the candidates")
        parser.add_argument("--judge", help="another endpoint for the assessments")
        parser.add_argument("--limit", type=positive, help="a trial: only the first N source prompts")
        parser.add_argument(
            "--per-source", type=positive, default=1, help="reconstructions per source prompt"
        )
        parser.add_argument("--seed", type=int, default=0)
        parser.add_argument("--sft-share", type=Fraction, default=SFT_SHARE)
        parser.add_argument("--review-automatically", action="store_true")
        parser.add_argument("--leave-for-people", type=int, default=0)
        parser.add_argument(
            "--here", action="store_true", help="do the work in this process, without a worker"
        )

    def handle(self, *args: Any, **options: Any) -> None:
        endpoint = endpoint_named(options["endpoint"])
        writer = endpoint_named(options["writer"]) if options["writer"] else endpoint
        judge = endpoint_named(options["judge"]) if options["judge"] else endpoint
        name = options["name"] or options["path"].stem
        self.here = options["here"]

        import_file(options["path"], name, options["field"])
        source = Source.objects.get(name=name)
        among = usable_source_prompts(source=source, limit=options["limit"])
        self._finish("reconstruct")
        self._follow(
            start_reconstruction(
                endpoint=endpoint,
                per_source=options["per_source"],
                seed=options["seed"],
                limit=options["limit"],
                source=source,
            )
        )
        if not ScreeningSample.objects.exists():
            console.print("No benchmark samples are imported: nothing can be found to overlap.")
        self._finish("filter")
        self._follow(start_filtering(among=among))
        self._review(options, among)
        self._finish("mine")
        self._follow(start_mining(endpoint=endpoint, method=options["method"], among=among))
        self._finish("write")
        self._follow(start_writing(endpoint=writer, method=options["method"], among=among))
        self._finish("assess")
        self._follow(start_assessing(endpoint=judge, among=among))
        self._finish("select")
        self._follow(start_selecting(among=among))
        self._export(name, options["seed"], options["sft_share"], RubricChoice(method=options["method"]))

    def _finish(self, kind: str) -> None:
        """A run that was broken off is finished first: a new one leaves its subjects to it."""
        unfinished = Run.objects.filter(kind=kind, state__in=[Run.State.RUNNING, Run.State.PAUSED])
        for run in unfinished.order_by("pk"):
            continue_run(run_id=run.pk)
            self._follow(Run.objects.get(pk=run.pk))

    def _follow(self, run: Run) -> None:
        follow(run, here=self.here)

    def _review(self, options: dict[str, Any], among: list[int]) -> None:
        if options["review_automatically"]:
            accepted = review_automatically(leave_for_people=options["leave_for_people"], among=among)
            console.print(f"Automatic review: {accepted} accepted, none of them read by a person")
        in_review = Reconstruction.objects.filter(state=Reconstruction.State.IN_REVIEW)
        waiting = in_review.filter(source_prompt__in=among).count()
        if waiting:
            console.print(f"{waiting} reconstructions wait for a person's review; run this again afterwards")

    def _export(self, name: str, seed: int, sft_share: Fraction, rubrics: RubricChoice) -> None:
        snapshots = CorpusSnapshot.objects.filter(name__startswith=name)
        latest = snapshots.filter(state=CorpusSnapshot.State.DONE).first()
        if latest and latest.manifest["content"] == corpus_digest(seed, sft_share, rubrics):
            console.print(f"Export: nothing has changed since {latest.name}")
            return
        count = snapshots.count()
        snapshot = request_snapshot(
            name=f"{name}-{count + 1}" if count else name, seed=seed, sft_share=sft_share, rubrics=rubrics
        )
        assert snapshot.run is not None
        self._follow(snapshot.run)
        snapshot.refresh_from_db()
        if snapshot.state != CorpusSnapshot.State.DONE:
            raise CommandError(f"the export failed: {snapshot.error}")
        rows = ", ".join(f"{corpus} {count}" for corpus, count in snapshot.manifest["rows"].items())
        console.print(f"Export {snapshot.name}: {rows} rows")
