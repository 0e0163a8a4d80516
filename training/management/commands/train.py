"""Starts trainings, and lists, cancels and resumes them."""

from __future__ import annotations

import signal
import threading
from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.db import IntegrityError

from llm.models import Endpoint
from training.job_services import cancel_job, resume_job, start_job
from training.jobs.runner import work_on_job
from training.models import Checkpoint, CorpusSnapshot, TrainingJob


class Command(BaseCommand):
    help = "Queues a training for a worker on a GPU machine, or lists, cancels or resumes trainings."
    requires_system_checks = ()

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("name", nargs="?", help="of the training; without it they are listed")
        parser.add_argument("--recipe", help="what it is trained with, see manage.py recipe")
        parser.add_argument("--snapshot", help="name of a finished corpus")
        parser.add_argument(
            "--set", action="append", default=[], metavar="SETTING=VALUE", help="change a setting"
        )
        parser.add_argument("--judge", help="name of the endpoint that rewards, for GSPO")
        parser.add_argument("--starts-from", type=int, metavar="ID", help="a checkpoint in the model's place")
        doing = parser.add_mutually_exclusive_group()
        doing.add_argument("--cancel", action="store_true")
        doing.add_argument("--resume", action="store_true")
        parser.add_argument("--here", action="store_true", help="work on it in this process")

    def handle(self, *args: Any, **options: Any) -> None:
        if options["name"] is None:
            for each in TrainingJob.objects.order_by("pk"):
                self.stdout.write(_line(each))
            return
        if options["cancel"]:
            job = _named(options["name"])
            said = "cancelled" if cancel_job(job_id=job.pk) else f"has ended before: {job.state}"
            self.stdout.write(f"{job.name} {said}")
            return
        job = self._resumed(options) if options["resume"] else self._started(options)
        if options["here"]:
            self._work(job)

    def _resumed(self, options: dict[str, Any]) -> TrainingJob:
        job = _named(options["name"])
        if not resume_job(job_id=job.pk):
            raise CommandError(f"{job.name} is {job.state}; only what failed or was cancelled is resumed")
        self.stdout.write(f"{job.name} waits for a worker, to go on")
        return job

    def _started(self, options: dict[str, Any]) -> TrainingJob:
        if not options["recipe"] or not options["snapshot"]:
            raise CommandError("a new training needs --recipe and --snapshot")
        try:
            job = start_job(
                name=options["name"],
                recipe=options["recipe"],
                snapshot=CorpusSnapshot.objects.get(name=options["snapshot"]),
                changes=dict(_pair(text) for text in options["set"]),
                judge=Endpoint.objects.get(name=options["judge"]) if options["judge"] else None,
                starts_from=Checkpoint.objects.get(pk=options["starts_from"])
                if options["starts_from"]
                else None,
            )
        except CorpusSnapshot.DoesNotExist:
            raise CommandError(f"there is no corpus {options['snapshot']!r}") from None
        except Endpoint.DoesNotExist:
            raise CommandError(f"there is no endpoint {options['judge']!r}") from None
        except Checkpoint.DoesNotExist:
            raise CommandError(f"there is no checkpoint {options['starts_from']}") from None
        except IntegrityError:
            raise CommandError(f"a training {options['name']} was asked for just now") from None
        except ValueError as error:
            raise CommandError(str(error)) from error
        self.stdout.write(f"{job.name} waits for a worker on the queue gpu")
        return job

    def _work(self, job: TrainingJob) -> None:
        stop = threading.Event()
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, lambda *_: stop.set())
        work_on_job(job.pk, stop)
        job.refresh_from_db()
        self.stdout.write(_line(job))
        if job.state != TrainingJob.State.DONE:
            raise CommandError(job.error or job.notice or f"{job.name} is {job.state}")


def _line(job: TrainingJob) -> str:
    steps = f", step {job.step} of {job.total_steps}" if job.total_steps else ""
    said = job.error or job.notice
    return f"{job.name}: {job.state}{steps}, {job.recipe['name']} on {job.snapshot.name}" + (
        f" ({said})" if said else ""
    )


def _named(name: str) -> TrainingJob:
    try:
        return TrainingJob.objects.get(name=name)
    except TrainingJob.DoesNotExist:
        raise CommandError(f"there is no training {name!r}") from None


def _pair(text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not equals:
        raise CommandError(f"--set {text}: write it as SETTING=VALUE")
    return name, value
