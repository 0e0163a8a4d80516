"""From an imported writing request to an accepted corpus prompt."""

from __future__ import annotations

from django.conf import settings
from django.db import models

from curation.reconstruction import Strategy
from llm.models import Completion


class Source(models.Model):
    """One collection of imported requests, with the report of its last import."""

    name = models.CharField(max_length=120, unique=True)
    file_name = models.CharField(max_length=300)
    imported_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.SET_NULL, null=True, blank=True, related_name="+"
    )
    imported_at = models.DateTimeField(auto_now=True)
    report = models.JSONField(default=dict, help_text="Counts, refusals and notes by line of the last import")

    class Meta:
        ordering = ("name",)

    def __str__(self) -> str:
        return self.name


class SourcePrompt(models.Model):
    """A request as imported. The digest of the text is unique: the same text is never in twice."""

    source = models.ForeignKey(Source, on_delete=models.PROTECT, related_name="prompts")
    line = models.PositiveIntegerField(help_text="Line of the imported file, counted from 1")
    external_id = models.CharField(max_length=200, blank=True)
    text = models.TextField()
    digest = models.CharField(max_length=64, unique=True, help_text="SHA-256 of the text")
    language = models.CharField(max_length=8)
    characters = models.PositiveIntegerField()
    segments = models.PositiveIntegerField(help_text="Whitespace-delimited segments (A.1)")
    excluded_because = models.CharField(max_length=300, blank=True)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ("id",)

    def __str__(self) -> str:
        return f"source prompt {self.pk}"


class Reconstruction(models.Model):
    """One planned rewriting of a source prompt, and how far it has come."""

    class State(models.TextChoices):
        PLANNED = "planned"
        FAILED = "failed", "not reconstructed"
        REWRITTEN = "rewritten", "waiting for filters"
        REPETITIVE = "repetitive", "discarded: repetition"
        CONTAMINATED = "contaminated", "discarded: overlap with a benchmark"
        IN_REVIEW = "in_review", "waiting for review"
        ACCEPTED = "accepted"
        REJECTED = "rejected"

    source_prompt = models.ForeignKey(SourcePrompt, on_delete=models.PROTECT, related_name="reconstructions")
    index = models.PositiveSmallIntegerField(help_text="Which of the source's reconstructions, from 0")
    strategy = models.CharField(
        max_length=20, choices=[(s.value, s.value.replace("_", " ")) for s in Strategy]
    )
    state = models.CharField(max_length=14, choices=State.choices, default=State.PLANNED)
    state_reason = models.TextField(blank=True)
    text = models.TextField(blank=True)
    language = models.CharField(max_length=8, blank=True)
    characters = models.PositiveIntegerField(default=0)
    segments = models.PositiveIntegerField(default=0)
    overlap = models.FloatField(
        null=True, blank=True, help_text="Largest share of a benchmark sample's trigrams"
    )
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ("id",)
        constraints = (
            models.UniqueConstraint(fields=["source_prompt", "index"], name="one_reconstruction_per_place"),
        )
        indexes = (models.Index(fields=["state", "id"]),)

    def __str__(self) -> str:
        return f"reconstruction {self.pk}"


class ReconstructionDraft(models.Model):
    """The rewrite (number 0) and every enrichment after it, with lengths: the enrichment trail."""

    reconstruction = models.ForeignKey(Reconstruction, on_delete=models.CASCADE, related_name="drafts")
    number = models.PositiveSmallIntegerField()
    kind = models.CharField(max_length=12)
    text = models.TextField()
    characters = models.PositiveIntegerField()
    segments = models.PositiveIntegerField()
    completion = models.ForeignKey(Completion, on_delete=models.PROTECT, related_name="+")

    class Meta:
        ordering = ("number",)
        constraints = (
            models.UniqueConstraint(fields=["reconstruction", "number"], name="one_draft_per_number"),
        )

    def __str__(self) -> str:
        return f"{self.kind} {self.number}"


class ScreeningSample(models.Model):
    """A benchmark sample that candidates must not overlap with."""

    benchmark = models.CharField(max_length=80)
    external_id = models.CharField(max_length=200)
    text = models.TextField()
    digest = models.CharField(max_length=64)

    class Meta:
        ordering = ("benchmark", "id")
        constraints = (
            models.UniqueConstraint(
                fields=["benchmark", "external_id"], name="one_sample_per_benchmark_and_id"
            ),
        )

    def __str__(self) -> str:
        return f"{self.benchmark} {self.external_id}"


class ScreeningMatch(models.Model):
    """The sample that a reconstruction shares the largest share of trigrams with, above zero."""

    reconstruction = models.OneToOneField(Reconstruction, on_delete=models.CASCADE, related_name="match")
    sample = models.ForeignKey(ScreeningSample, on_delete=models.PROTECT, related_name="+")
    shared = models.PositiveIntegerField(help_text="Distinct trigrams shared")
    total = models.PositiveIntegerField(help_text="Distinct trigrams of the sample")
    tokenizer = models.CharField(max_length=120)

    def __str__(self) -> str:
        return f"{self.shared} of {self.total}"


class Review(models.Model):
    """One reviewer's decision on one reconstruction."""

    class Decision(models.TextChoices):
        ACCEPT = "accept"
        REJECT = "reject"

    reconstruction = models.ForeignKey(Reconstruction, on_delete=models.PROTECT, related_name="reviews")
    reviewer = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="reviews")
    decision = models.CharField(max_length=6, choices=Decision.choices)
    automatic = models.BooleanField(default=False, help_text="Made by a program, not by a person")
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ("-id",)
        constraints = (
            models.UniqueConstraint(fields=["reconstruction", "reviewer"], name="one_review_per_reviewer"),
        )

    def __str__(self) -> str:
        return f"{self.decision} of {self.reconstruction_id}"


class CheckVerdict(models.Model):
    """What a review says on one of the five checks of A.1."""

    class Check(models.TextChoices):
        TASK_CLARITY = "task_clarity", "Task clarity"
        CONSTRAINT_CONSISTENCY = "constraint_consistency", "Intent and constraint consistency"
        CONTEXTUAL_COHERENCE = "contextual_coherence", "Contextual coherence"
        SUBSTANTIVE_VARIATION = "substantive_variation", "Substantive variation"
        USABLE_LENGTH = "usable_length", "Textual integrity and usable length"

    class Verdict(models.TextChoices):
        PASS = "pass"  # noqa: S105
        FAIL = "fail"
        UNSURE = "unsure"

    review = models.ForeignKey(Review, on_delete=models.CASCADE, related_name="verdicts")
    check_name = models.CharField(max_length=24, choices=Check.choices)
    verdict = models.CharField(max_length=6, choices=Verdict.choices)
    note = models.TextField(blank=True)

    class Meta:
        ordering = ("id",)
        constraints = (
            models.UniqueConstraint(fields=["review", "check_name"], name="one_verdict_per_check"),
        )

    def __str__(self) -> str:
        return f"{self.check_name}: {self.verdict}"


class ReviewLease(models.Model):
    """Who is reading a reconstruction, until when. One lease an item; an expired one is free to take."""

    reconstruction = models.OneToOneField(Reconstruction, on_delete=models.CASCADE, related_name="lease")
    holder = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="leases")
    expires_at = models.DateTimeField()

    class Meta:
        indexes = (models.Index(fields=["holder", "expires_at"]),)

    def __str__(self) -> str:
        return f"{self.reconstruction_id} until {self.expires_at:%H:%M}"


class CorpusPrompt(models.Model):
    """An accepted reconstruction: what rubrics, writers and corpora are made for."""

    reconstruction = models.OneToOneField(
        Reconstruction, on_delete=models.PROTECT, related_name="corpus_prompt"
    )
    text = models.TextField()
    language = models.CharField(max_length=8)
    excluded_because = models.TextField(blank=True, help_text="Why nothing of it is exported")
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ("id",)

    def __str__(self) -> str:
        return f"prompt {self.pk}"
