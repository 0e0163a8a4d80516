"""A checkpoint behind a vLLM server on its machine, and the endpoint that stands for it."""

from __future__ import annotations

import logging
import os
import re
import shlex
import threading
from datetime import timedelta
from pathlib import Path
from urllib.error import URLError
from urllib.request import urlopen

from django.conf import settings
from django.db import DatabaseError, close_old_connections, connection, transaction
from django.db.models import Q, QuerySet
from django.utils import timezone

from llm.audit import record
from llm.models import Endpoint
from llm.processes import free_port
from training.jobs.guard import LOG
from training.jobs.launchers import Guarded, is_held
from training.jobs.launching import environment_for
from training.jobs.queue import SILENT_SECONDS
from training.jobs.reading import tail
from training.models import Checkpoint

logger = logging.getLogger(__name__)

LOOK_SECONDS = 2.0
ASK_SECONDS = 5
CALLS_IN_FLIGHT = 32
Serving = Checkpoint.Serving
_OTHER = re.compile(r"[^A-Za-z0-9._-]+")


def takeable() -> QuerySet[Checkpoint]:
    """Checkpoints on this machine that are to be served and that no worker serves now."""
    silent = timezone.now() - timedelta(seconds=SILENT_SECONDS)
    left_alone = Q(serving__in=[Serving.STARTING, Serving.SERVING]) & (
        Q(serving_seen_at=None) | Q(serving_seen_at__lt=silent)
    )
    return Checkpoint.objects.filter(
        Q(serving=Serving.WANTED) | left_alone, host=settings.TRAINING.host, state=Checkpoint.State.KEPT
    ).order_by("pk")


def served_name(checkpoint: Checkpoint) -> str:
    """The model's name on the server, and the endpoint's."""
    return f"{_OTHER.sub('-', checkpoint.job.name)}-step-{checkpoint.step}"


def command(checkpoint: Checkpoint, host: str, port: int) -> list[str]:
    """vLLM's arguments, without the program."""
    return [
        *("--model", checkpoint.folder, "--served-model-name", served_name(checkpoint)),
        *("--host", host, "--port", str(port), *settings.TRAINING.vllm_options),
    ]


def command_elsewhere(checkpoint: Checkpoint) -> str:
    """The command for another machine, to which the checkpoint's folder has been copied."""
    options = ("--served-model-name", served_name(checkpoint), "--dtype", "float16", "--port", "8000")
    return shlex.join(["vllm", "serve", Path(checkpoint.folder).name, *options])


def serve(checkpoint_id: int, stop: threading.Event) -> None:
    """Starts a server where one is wanted and follows it until it is not, or until `stop`."""
    folder = settings.TRAINING.root / "serving" / str(checkpoint_id)
    if is_held(folder) or not _claim(checkpoint_id):
        return
    checkpoint = Checkpoint.objects.select_related("job", "endpoint").get(pk=checkpoint_id)
    folder.mkdir(parents=True, exist_ok=True)
    python = Path(settings.TRAINING.vllm) / "bin" / "python"
    if not python.exists():
        return _fail(checkpoint, f"vLLM has no environment at {settings.TRAINING.vllm} (TRAINING_VLLM)")
    host, port = settings.TRAINING.serving_host, free_port()
    arguments = [str(python), "-m", "vllm.entrypoints.openai.api_server", *command(checkpoint, host, port)]
    environment = {**environment_for(python.parent), **_vllm_variables()}
    (folder / LOG).unlink(missing_ok=True)
    server = Guarded(folder, arguments, environment)
    try:
        _follow(checkpoint, server, f"http://{host}:{port}/v1", stop, folder)
    finally:
        server.stop()


def _follow(
    checkpoint: Checkpoint, server: Guarded, address: str, stop: threading.Event, folder: Path
) -> None:
    while not stop.is_set():
        status = server.poll()
        try:
            close_old_connections()
            wanted = Checkpoint.objects.filter(pk=checkpoint.pk).exclude(serving=Serving.NO)
            if not wanted.update(serving_seen_at=timezone.now()):
                return
            if not status.running:
                said = tail(folder / LOG, 4_000).strip().splitlines()
                return _fail(checkpoint, f"vLLM ended with status {status.code}: {' '.join(said[-3:])[:600]}")
            if wanted.filter(serving=Serving.STARTING).exists() and _answers(address):
                _register(checkpoint, address)
        except DatabaseError as error:
            logger.warning("serving %s: the database does not answer: %s", checkpoint, error)
            connection.close()
        stop.wait(LOOK_SECONDS)


def _claim(checkpoint_id: int) -> bool:
    return bool(
        takeable()
        .order_by()
        .filter(pk=checkpoint_id)
        .update(serving=Serving.STARTING, serving_seen_at=timezone.now(), serving_notice="")
    )


def _register(checkpoint: Checkpoint, address: str) -> None:
    """The endpoint of a checkpoint that answers; served again, it only moves."""
    with transaction.atomic():
        endpoint = checkpoint.endpoint
        if endpoint is None:
            name = served_name(checkpoint)
            taken = Endpoint.objects.filter(name=name).exists()
            endpoint = Endpoint.objects.create(
                name=f"{name}-{checkpoint.pk}" if taken else name,
                base_url=address,
                model=served_name(checkpoint),
                max_in_flight=CALLS_IN_FLIGHT,
            )
        else:
            Endpoint.objects.filter(pk=endpoint.pk).update(base_url=address)
        checkpoint.endpoint = endpoint
        Checkpoint.objects.filter(pk=checkpoint.pk, serving=Serving.STARTING).update(
            serving=Serving.SERVING, endpoint=endpoint
        )
        record(checkpoint, "served", after={"address": address, "endpoint": endpoint.name})


def _fail(checkpoint: Checkpoint, why: str) -> None:
    with transaction.atomic():
        Checkpoint.objects.filter(pk=checkpoint.pk).update(serving=Serving.FAILED, serving_notice=why)
        record(checkpoint, "serving failed", after={"serving": Serving.FAILED}, reason=why)


def _answers(address: str) -> bool:
    try:
        with urlopen(f"{address}/models", timeout=ASK_SECONDS) as answer:  # noqa: S310
            return bool(answer.status == 200)
    except (URLError, OSError):
        return False


def _vllm_variables() -> dict[str, str]:
    """The worker's own settings of vLLM, and no look-ups on the network."""
    own = {name: value for name, value in os.environ.items() if name.startswith("VLLM_")}
    return {"HF_HUB_OFFLINE": "1", "VLLM_NO_USAGE_STATS": "1", **own}
