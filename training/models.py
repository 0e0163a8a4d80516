"""Candidates, the demonstration among them, and corpus snapshots."""

from __future__ import annotations

from django.conf import settings
from django.db import models
from django.db.models import Q

from curation.models import CorpusPrompt
from llm.models import Completion, Run
from rubrics.models import Assessment, Rubric


class Candidate(models.Model):
    """One response of the writer to request + rubric."""

    prompt = models.ForeignKey(CorpusPrompt, on_delete=models.PROTECT, related_name="candidates")
    rubric = models.ForeignKey(Rubric, on_delete=models.PROTECT, related_name="candidates")
    index = models.PositiveSmallIntegerField()
    text = models.TextField()
    cut = models.BooleanField(default=False, help_text="Ends where the token limit fell")
    characters = models.PositiveIntegerField()
    completion = models.ForeignKey(Completion, on_delete=models.PROTECT, related_name="+")
    assessment = models.OneToOneField(Assessment, on_delete=models.PROTECT, null=True, blank=True)
    demonstration = models.BooleanField(default=False)
    selection_reason = models.TextField(blank=True)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ("rubric", "index")
        constraints = (
            models.UniqueConstraint(fields=["rubric", "index"], name="one_candidate_per_place"),
            models.UniqueConstraint(
                fields=["rubric"], condition=Q(demonstration=True), name="one_demonstration_per_rubric"
            ),
        )

    def __str__(self) -> str:
        return f"candidate {self.index} of prompt {self.prompt_id}"


class CorpusSnapshot(models.Model):
    """One export: what was asked for, what came out, and the files with their SHA-256."""

    class State(models.TextChoices):
        PENDING = "pending"
        DONE = "done"
        FAILED = "failed"

    name = models.CharField(max_length=120, unique=True)
    state = models.CharField(max_length=8, choices=State.choices, default=State.PENDING)
    error = models.TextField(blank=True)
    run = models.ForeignKey(Run, on_delete=models.SET_NULL, null=True, blank=True, related_name="+")
    parameters = models.JSONField(default=dict)
    manifest = models.JSONField(default=dict)
    created_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.SET_NULL, null=True, blank=True, related_name="+"
    )
    created_at = models.DateTimeField(auto_now_add=True)
    finished_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ("-id",)

    def __str__(self) -> str:
        return self.name
