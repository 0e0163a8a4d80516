"""Files that come in and go out: imports and exports of the curation room, each worked on by a run."""

from __future__ import annotations

from django.conf import settings
from django.db import models

from llm.models import Run


class Transfer(models.Model):
    """What an import and an export have in common."""

    class State(models.TextChoices):
        DRAFT = "draft", "waiting for a choice of fields"
        WAITING = "waiting"
        DONE = "done"
        FAILED = "failed"

    state = models.CharField(max_length=8, choices=State.choices)
    options = models.JSONField(default=dict)
    rows = models.PositiveBigIntegerField(default=0, help_text="Rows read or written so far")
    bytes = models.PositiveBigIntegerField(default=0, help_text="Bytes read or written so far")
    error = models.TextField(blank=True)
    run = models.ForeignKey(Run, on_delete=models.SET_NULL, null=True, blank=True, related_name="+")
    created_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.SET_NULL, null=True, blank=True, related_name="+"
    )
    created_at = models.DateTimeField(auto_now_add=True)
    finished_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        abstract = True
        ordering = ("-id",)


class ImportFile(Transfer):
    """A file of prompts or benchmark samples on its way in. `path` is within the media folder."""

    class Kind(models.TextChoices):
        PROMPTS = "prompts", "writing requests"
        SAMPLES = "samples", "benchmark samples"

    kind = models.CharField(max_length=8, choices=Kind.choices, default=Kind.PROMPTS)
    name = models.CharField(max_length=120, help_text="Of the source, or of the benchmark")
    file_name = models.CharField(max_length=300)
    path = models.CharField(max_length=300)
    format = models.CharField(max_length=12)
    size = models.PositiveBigIntegerField(help_text="Bytes")
    report = models.JSONField(default=dict)

    def __str__(self) -> str:
        return f"import of {self.file_name}"


class ExportFile(Transfer):
    """Rows of the curation room on their way out. `path` is within the media folder, once it is written."""

    class Kind(models.TextChoices):
        REVIEWS = "reviews"
        RECONSTRUCTIONS = "reconstructions"
        SOURCE_PROMPTS = "source_prompts", "source prompts"
        CORPUS_PROMPTS = "corpus_prompts", "corpus prompts"

    kind = models.CharField(max_length=16, choices=Kind.choices)
    format = models.CharField(max_length=8, help_text="jsonl or csv")
    path = models.CharField(max_length=300, blank=True)
    sha256 = models.CharField(max_length=64, blank=True)

    def __str__(self) -> str:
        return f"export of {self.kind}"
