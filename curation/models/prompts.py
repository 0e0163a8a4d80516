"""Imported requests, their reconstructions, and the corpus prompts that come of them."""

from __future__ import annotations

from django.conf import settings
from django.contrib.postgres.indexes import GinIndex
from django.contrib.postgres.search import SearchVectorField
from django.db import models

from curation.reconstruction import Strategy
from llm.models import Completion
from llm.text import LengthPolicy

LENGTH_POLICIES = [(policy.value, policy.value) for policy in LengthPolicy]


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
    digest = models.CharField(max_length=64, help_text="SHA-256 of the text")
    language = models.CharField(max_length=8)
    characters = models.PositiveIntegerField()
    segments = models.PositiveIntegerField(help_text="Length in the units of `length_policy`")
    length_policy = models.CharField(max_length=8, choices=LENGTH_POLICIES, default=LengthPolicy.PAPER)
    excluded_because = models.CharField(max_length=300, blank=True)
    duplicate_of = models.ForeignKey(
        "self",
        on_delete=models.SET_NULL,
        null=True,
        blank=True,
        related_name="near_duplicates",
        db_index=False,
    )
    similarity = models.FloatField(
        null=True, blank=True, help_text="Jaccard similarity to `duplicate_of`, from 0 to 1"
    )
    search = SearchVectorField(null=True, editable=False, help_text="Tokens of the text, see curation.search")
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ("id",)
        constraints = (models.UniqueConstraint(fields=["digest"], name="one_source_prompt_per_text"),)
        indexes = (
            models.Index(
                fields=["duplicate_of"],
                condition=models.Q(duplicate_of__isnull=False),
                name="near_duplicates_of",
            ),
            GinIndex(
                fields=["search"],
                condition=models.Q(search__isnull=False),
                name="source_prompt_search",
            ),
        )

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
        FLAGGED = "flagged", "put aside with a flag"
        DISPUTED = "disputed", "waiting for adjudication"
        ACCEPTED = "accepted"
        REJECTED = "rejected"

    source_prompt = models.ForeignKey(
        SourcePrompt, on_delete=models.PROTECT, related_name="reconstructions", db_index=False
    )
    index = models.PositiveSmallIntegerField(help_text="Which of the source's reconstructions, from 0")
    strategy = models.CharField(
        max_length=20, choices=[(s.value, s.value.replace("_", " ")) for s in Strategy]
    )
    state = models.CharField(max_length=14, choices=State.choices, default=State.PLANNED)
    state_reason = models.TextField(blank=True)
    text = models.TextField(blank=True)
    language = models.CharField(max_length=8, blank=True)
    characters = models.PositiveIntegerField(default=0)
    segments = models.PositiveIntegerField(default=0, help_text="Length in the units of `length_policy`")
    length_policy = models.CharField(max_length=8, choices=LENGTH_POLICIES, default=LengthPolicy.PAPER)
    imported = models.BooleanField(default=False, help_text="Came with its source, was not written here")
    repetition = models.JSONField(
        null=True, blank=True, help_text="What the repetition filter found, and where"
    )
    overlap = models.FloatField(
        null=True, blank=True, help_text="Largest share of a benchmark sample's trigrams"
    )
    screened_with = models.CharField(
        max_length=300, blank=True, help_text="The tokenizer that it was screened with"
    )
    wanted_reviews = models.PositiveSmallIntegerField(default=0, help_text="Independent reviews asked for")
    agreement = models.FloatField(
        null=True, blank=True, help_text="Share of the five checks on which its reviewers agree, from 0 to 1"
    )
    search = SearchVectorField(null=True, editable=False, help_text="Tokens of the text, see curation.search")
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ("id",)
        constraints = (
            models.UniqueConstraint(fields=["source_prompt", "index"], name="one_reconstruction_per_place"),
        )
        indexes = (
            models.Index(fields=["state", "id"]),
            models.Index(fields=["strategy", "id"]),
            models.Index(fields=["language", "id"]),
            models.Index(fields=["characters", "id"]),
            models.Index(
                fields=["agreement", "id"],
                condition=models.Q(state="disputed"),
                name="disputed_by_agreement",
            ),
            GinIndex(
                fields=["search"],
                condition=models.Q(search__isnull=False),
                name="reconstruction_search",
            ),
        )

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


class CorpusPrompt(models.Model):
    """An accepted reconstruction: what rubrics, writers and corpora are made for."""

    reconstruction = models.OneToOneField(
        Reconstruction, on_delete=models.PROTECT, related_name="corpus_prompt"
    )
    text = models.TextField()
    language = models.CharField(max_length=8)
    excluded_because = models.TextField(blank=True, help_text="Why nothing of it is exported")
    withdrawn_at = models.DateTimeField(
        null=True, blank=True, help_text="When the decision that made it was withdrawn"
    )
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ("id",)

    def __str__(self) -> str:
        return f"prompt {self.pk}"
