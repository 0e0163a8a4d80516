"""Rubrics, how each was mined, and the assessments made with them."""

from __future__ import annotations

from django.db import models

from curation.models import CorpusPrompt
from llm.models import Completion, Run


class Rubric(models.Model):
    """A frozen rubric of one prompt. `dimensions` is the canonical form; `digest` its SHA-256."""

    class Method(models.TextChoices):
        IRG = "irg", "IRG"

    prompt = models.ForeignKey(CorpusPrompt, on_delete=models.PROTECT, related_name="rubrics")
    method = models.CharField(max_length=10, choices=Method.choices)
    constructor = models.CharField(max_length=200, help_text="The model that made it, as its server named it")
    dimensions = models.JSONField()
    digest = models.CharField(max_length=64)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ("id",)
        constraints = (
            models.UniqueConstraint(
                fields=["prompt", "method", "constructor"], name="one_rubric_per_prompt_method_constructor"
            ),
        )

    def __str__(self) -> str:
        return f"rubric {self.pk}"


class MiningTrace(models.Model):
    """What one attempt to mine a rubric went through, kept when it fails too.

    `discovered` and `consolidated` are lists of {name, reason}; `specifications` holds for each
    consolidated dimension its intervals or the reason why it has none.
    """

    prompt = models.ForeignKey(CorpusPrompt, on_delete=models.PROTECT, related_name="mining_traces")
    run = models.ForeignKey(Run, on_delete=models.SET_NULL, null=True, related_name="+")
    rubric = models.OneToOneField(Rubric, on_delete=models.CASCADE, null=True, related_name="trace")
    discovered = models.JSONField(default=list)
    consolidated = models.JSONField(default=list)
    specifications = models.JSONField(default=list)
    failure = models.TextField(blank=True)
    completions = models.ManyToManyField(Completion, related_name="+", help_text="The raw replies")
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ("-id",)

    def __str__(self) -> str:
        return f"mining of prompt {self.prompt_id}"


class Assessment(models.Model):
    """One judge's reading of one response against one rubric (B.5).

    `value` is the normalised reward in [0, 1]. With `fallback` set it is the paper's 0.4 and says
    nothing about the response. `items` is a list of {name, score, maximum, comment}.
    """

    rubric = models.ForeignKey(Rubric, on_delete=models.PROTECT, related_name="assessments")
    rubric_digest = models.CharField(max_length=64)
    response_digest = models.CharField(max_length=64, help_text="SHA-256 of the response that was read")
    completion = models.ForeignKey(Completion, on_delete=models.PROTECT, related_name="+")
    policy = models.CharField(max_length=10, default="paper")
    value = models.FloatField()
    fallback = models.BooleanField()
    items = models.JSONField()
    missing = models.JSONField(default=list, help_text="Dimensions of the rubric that the judge left out")
    unknown = models.JSONField(default=list, help_text="Names that the rubric does not have")
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ("id",)
        constraints = (
            models.CheckConstraint(
                condition=models.Q(value__gte=0, value__lte=1), name="assessment_value_in_unit_interval"
            ),
        )

    def __str__(self) -> str:
        return f"{self.value:.2f}"
