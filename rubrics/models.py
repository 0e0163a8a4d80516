"""Rubrics, how each was mined, and the assessments made with them."""

from __future__ import annotations

from django.conf import settings
from django.db import models

from curation.models import CorpusPrompt
from llm.models import Completion, Endpoint, Run
from rubrics import rubric as value


class Rubric(models.Model):
    """A frozen rubric of one prompt. `dimensions` is the canonical form; `digest` its SHA-256.

    A row never changes what it says. Editing one makes a new version, whose `root` is the first version of
    the line and whose `parent` is the version that it was made from. `lint` holds the findings of
    `rubrics.lint` at `lint_version` (0: not read yet).
    """

    class Method(models.TextChoices):
        IRG = "irg", "IRG"
        DRG = "drg", "DRG"
        RUBRICGEN = "rubricgen", "RubricGen"
        HUMAN = "human", "Human"

    prompt = models.ForeignKey(CorpusPrompt, on_delete=models.PROTECT, related_name="rubrics")
    method = models.CharField(max_length=10, choices=Method.choices)
    constructor = models.CharField(
        max_length=200, help_text="The model that made it, as its server named it, or the person's name"
    )
    endpoint = models.ForeignKey(Endpoint, on_delete=models.PROTECT, null=True, blank=True, related_name="+")
    templates = models.JSONField(default=list, help_text="Identities of the templates that it came from")
    dimensions = models.JSONField()
    digest = models.CharField(max_length=64)
    version = models.PositiveIntegerField(default=1)
    root = models.ForeignKey(
        "self", on_delete=models.PROTECT, null=True, blank=True, related_name="later_versions"
    )
    parent = models.ForeignKey("self", on_delete=models.PROTECT, null=True, blank=True, related_name="+")
    note = models.TextField(blank=True, help_text="Why this version was made")
    created_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.SET_NULL, null=True, blank=True, related_name="+"
    )
    lint = models.JSONField(default=list)
    lint_version = models.PositiveSmallIntegerField(default=0)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ("id",)
        constraints = (
            models.UniqueConstraint(
                fields=["prompt", "method", "constructor"],
                condition=~models.Q(method="human"),
                name="one_rubric_per_prompt_method_constructor",
            ),
            models.UniqueConstraint(fields=["root", "version"], name="one_rubric_per_version"),
            models.CheckConstraint(
                condition=models.Q(version=1, root=None, parent=None)
                | models.Q(version__gt=1, root__isnull=False, parent__isnull=False),
                name="later_versions_have_root_and_parent",
            ),
        )

    def __str__(self) -> str:
        return f"rubric {self.pk}"

    @property
    def maximum(self) -> int:
        """The sum of the dimensions' maxima."""
        return value.Rubric.from_json(self.dimensions).maximum


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
    nothing about the response; with `failure` set there is no value at all, and why (policy `checked`).
    `items` is a list of {name, score, maximum, comment}. `sample_index` counts the times that one judge
    read the same response.
    """

    class Policy(models.TextChoices):
        PAPER = "paper", "paper (B.5)"
        CHECKED = "checked", "checked"

    rubric = models.ForeignKey(Rubric, on_delete=models.PROTECT, related_name="assessments")
    rubric_digest = models.CharField(max_length=64)
    response_digest = models.CharField(max_length=64, help_text="SHA-256 of the response that was read")
    response_cut = models.BooleanField(
        default=False, help_text="The judge read a part of the response: the whole did not fit"
    )
    completion = models.ForeignKey(Completion, on_delete=models.PROTECT, related_name="+")
    endpoint = models.ForeignKey(Endpoint, on_delete=models.PROTECT, null=True, related_name="+")
    judge = models.CharField(
        max_length=200, blank=True, help_text="The model that read, as its server named it"
    )
    template = models.CharField(max_length=80, blank=True)
    sample_index = models.PositiveSmallIntegerField(default=0)
    policy = models.CharField(max_length=10, choices=Policy.choices, default=Policy.PAPER)
    value = models.FloatField(null=True)
    fallback = models.BooleanField()
    failure = models.TextField(blank=True, help_text="Why the replies gave no value")
    items = models.JSONField()
    missing = models.JSONField(default=list, help_text="Dimensions of the rubric that the judge left out")
    unknown = models.JSONField(default=list, help_text="Names that the rubric does not have")
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ("id",)
        indexes = (models.Index(fields=["rubric", "response_digest"]),)
        constraints = (
            models.CheckConstraint(
                condition=models.Q(value__gte=0, value__lte=1), name="assessment_value_in_unit_interval"
            ),
            models.CheckConstraint(
                condition=models.Q(value__isnull=False, failure="")
                | (models.Q(value=None, fallback=False) & ~models.Q(failure="")),
                name="assessment_has_a_value_or_a_failure",
            ),
        )

    def __str__(self) -> str:
        return "no value" if self.value is None else f"{self.value:.2f}"
