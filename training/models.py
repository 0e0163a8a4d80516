"""Candidates, the demonstration among them, corpus snapshots, and checks of judges for bias."""

from __future__ import annotations

from django.conf import settings
from django.db import models
from django.db.models import Q

from curation.models import CorpusPrompt
from llm.models import Completion, Endpoint, Run
from rubrics.models import Assessment, Rubric


class Candidate(models.Model):
    """One response of the writer to request + rubric.

    `assessments` are the readings of all judges; `assessment` is the first of the judge that selects
    (`rubrics.readings.selecting_judge`). A demonstration that a person chose says who, why and when.
    """

    prompt = models.ForeignKey(CorpusPrompt, on_delete=models.PROTECT, related_name="candidates")
    rubric = models.ForeignKey(Rubric, on_delete=models.PROTECT, related_name="candidates")
    index = models.PositiveSmallIntegerField()
    text = models.TextField()
    cut = models.BooleanField(default=False, help_text="Ends where the token limit fell")
    characters = models.PositiveIntegerField()
    completion = models.ForeignKey(Completion, on_delete=models.PROTECT, related_name="+")
    assessments = models.ManyToManyField(Assessment, related_name="candidates", blank=True)
    assessment = models.ForeignKey(
        Assessment, on_delete=models.PROTECT, null=True, blank=True, related_name="+"
    )
    demonstration = models.BooleanField(default=False)
    selection_reason = models.TextField(blank=True)
    overruled_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.SET_NULL, null=True, blank=True, related_name="+"
    )
    overruled_because = models.TextField(blank=True)
    overruled_at = models.DateTimeField(null=True, blank=True)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ("rubric", "index")
        constraints = (
            models.UniqueConstraint(fields=["rubric", "index"], name="one_candidate_per_place"),
            models.UniqueConstraint(
                fields=["rubric"], condition=Q(demonstration=True), name="one_demonstration_per_rubric"
            ),
            models.CheckConstraint(
                condition=Q(overruled_at=None, overruled_because="", overruled_by=None)
                | (Q(overruled_at__isnull=False, demonstration=True) & ~Q(overruled_because="")),
                name="an_overruling_has_a_reason",
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


class BiasCheck(models.Model):
    """What one judge gave to one response as it is, and to it in each of the ways of `rubrics.bias`.

    `trials` is a list of {name, value, fallback, failure, completion}; the first is the plain judgement.
    """

    run = models.ForeignKey(Run, on_delete=models.CASCADE, related_name="+")
    candidate = models.ForeignKey(Candidate, on_delete=models.PROTECT, related_name="bias_checks")
    endpoint = models.ForeignKey(Endpoint, on_delete=models.PROTECT, related_name="+")
    judge = models.CharField(max_length=200, blank=True)
    policy = models.CharField(max_length=10, choices=Assessment.Policy.choices)
    maximum = models.PositiveIntegerField(help_text="The sum of the rubric's maxima: points in all")
    trials = models.JSONField()
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ("id",)
        constraints = (
            models.UniqueConstraint(fields=["run", "candidate"], name="one_bias_check_per_run_and_candidate"),
        )

    def __str__(self) -> str:
        return f"bias check of run {self.run_id} on candidate {self.candidate_id}"
