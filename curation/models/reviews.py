"""The review room: wanted reviews, what people decided, drafts, skips and flags."""

from __future__ import annotations

from django.conf import settings
from django.db import models
from django.db.models import Q

from curation.models.prompts import Reconstruction


class Review(models.Model):
    """One reviewer's decision on one reconstruction."""

    class Decision(models.TextChoices):
        ACCEPT = "accept"
        REJECT = "reject"

    reconstruction = models.ForeignKey(Reconstruction, on_delete=models.PROTECT, related_name="reviews")
    reviewer = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="reviews", db_index=False
    )
    decision = models.CharField(max_length=6, choices=Decision.choices)
    automatic = models.BooleanField(default=False, help_text="Made by a program, not by a person")
    adjudication = models.BooleanField(default=False, help_text="Settles an item that reviewers disagree on")
    opened_at = models.DateTimeField(null=True, blank=True, help_text="When the reviewer took the item")
    seconds = models.FloatField(null=True, blank=True, help_text="Time with the item's page in view")
    created_at = models.DateTimeField(auto_now_add=True)
    withdrawn_at = models.DateTimeField(null=True, blank=True)
    withdrawn_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.PROTECT, null=True, blank=True, related_name="+"
    )
    withdrawn_because = models.TextField(blank=True)

    class Meta:
        ordering = ("-id",)
        constraints = (
            models.UniqueConstraint(
                fields=["reconstruction", "reviewer", "adjudication"],
                condition=Q(withdrawn_at__isnull=True),
                name="one_standing_review_per_reviewer",
            ),
            models.UniqueConstraint(
                fields=["reconstruction"],
                condition=Q(withdrawn_at__isnull=True, adjudication=True),
                name="one_standing_adjudication_per_item",
            ),
        )
        indexes = (
            models.Index(fields=["reviewer", "-id"]),
            models.Index(fields=["created_at"]),
            models.Index(
                fields=["reviewer", "created_at"],
                condition=Q(withdrawn_at__isnull=True),
                name="standing_reviews_by_time",
            ),
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

    review = models.ForeignKey(Review, on_delete=models.CASCADE, related_name="verdicts", db_index=False)
    check_name = models.CharField(max_length=24, choices=Check.choices)
    verdict = models.CharField(max_length=6, choices=Verdict.choices)
    note = models.TextField(blank=True)
    evidence = models.JSONField(
        null=True,
        blank=True,
        help_text="A passage: {side: source | reconstruction, start, end (characters), text}",
    )

    class Meta:
        ordering = ("id",)
        constraints = (
            models.UniqueConstraint(fields=["review", "check_name"], name="one_verdict_per_check"),
        )
        indexes = (models.Index(fields=["check_name", "verdict"]),)

    def __str__(self) -> str:
        return f"{self.check_name}: {self.verdict}"


class ReviewSlot(models.Model):
    """One wanted review of a reconstruction: free, held by a reviewer under a lease, or filled.

    An item has as many slots as reviews are wanted of it, so that no number of reviewers can hold more. A
    slot whose lease has run out is free at once. `suspended` ones are offered to nobody. No index holds the
    lease, so that renewing it costs next to nothing.
    """

    reconstruction = models.ForeignKey(
        Reconstruction, on_delete=models.CASCADE, related_name="slots", db_index=False
    )
    number = models.PositiveSmallIntegerField()
    holder = models.ForeignKey(
        settings.AUTH_USER_MODEL,
        on_delete=models.SET_NULL,
        null=True,
        blank=True,
        related_name="+",
        db_index=False,
    )
    held_since = models.DateTimeField(null=True, blank=True)
    lease_expires_at = models.DateTimeField(null=True, blank=True)
    suspended = models.BooleanField(default=False)
    review = models.OneToOneField(
        Review, on_delete=models.SET_NULL, null=True, blank=True, related_name="slot"
    )

    class Meta:
        ordering = ("id",)
        constraints = (
            models.UniqueConstraint(fields=["reconstruction", "number"], name="one_slot_per_number"),
            models.CheckConstraint(
                condition=Q(holder__isnull=True, lease_expires_at__isnull=True, held_since__isnull=True)
                | Q(
                    holder__isnull=False,
                    lease_expires_at__isnull=False,
                    held_since__isnull=False,
                    review__isnull=True,
                ),
                name="a_slot_is_held_or_filled",
            ),
        )
        indexes = (
            models.Index(
                fields=["id"], condition=Q(review__isnull=True, suspended=False), name="open_review_slots"
            ),
            models.Index(fields=["holder"], condition=Q(holder__isnull=False), name="review_slots_by_holder"),
        )

    def __str__(self) -> str:
        return f"slot {self.number} of {self.reconstruction_id}"


class ReviewDraft(models.Model):
    """What a reviewer has filled in so far, as the page last sent it."""

    reconstruction = models.ForeignKey(
        Reconstruction, on_delete=models.CASCADE, related_name="review_drafts", db_index=False
    )
    reviewer = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="review_drafts"
    )
    content = models.JSONField(default=dict, help_text="By check: {verdict, note, evidence}")
    seconds = models.FloatField(default=0, help_text="Time with the item's page in view, so far")
    saved_at = models.DateTimeField()

    class Meta:
        constraints = (
            models.UniqueConstraint(fields=["reconstruction", "reviewer"], name="one_draft_per_reviewer"),
        )

    def __str__(self) -> str:
        return f"draft on {self.reconstruction_id}"


class ReviewSkip(models.Model):
    """An item that a reviewer put back: offered to them again only after everything else."""

    reconstruction = models.ForeignKey(Reconstruction, on_delete=models.CASCADE, related_name="skips")
    reviewer = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="+", db_index=False
    )
    created_at = models.DateTimeField()

    class Meta:
        constraints = (
            models.UniqueConstraint(fields=["reviewer", "reconstruction"], name="one_skip_per_reviewer"),
        )

    def __str__(self) -> str:
        return f"skip of {self.reconstruction_id}"


class ReviewFlag(models.Model):
    """An item that a reviewer put aside for a researcher, with the reason, until it is resolved."""

    reconstruction = models.ForeignKey(Reconstruction, on_delete=models.CASCADE, related_name="flags")
    reviewer = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+")
    reason = models.TextField()
    created_at = models.DateTimeField(auto_now_add=True)
    resolved_at = models.DateTimeField(null=True, blank=True)
    resolved_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.PROTECT, null=True, blank=True, related_name="+"
    )
    resolution = models.TextField(blank=True)

    class Meta:
        ordering = ("-id",)
        constraints = (
            models.UniqueConstraint(
                fields=["reconstruction"],
                condition=Q(resolved_at__isnull=True),
                name="one_open_flag_per_item",
            ),
        )

    def __str__(self) -> str:
        return f"flag on {self.reconstruction_id}"


class ReviewPreference(models.Model):
    """One reviewer's own keys of the review room, where they differ from the usual ones."""

    reviewer = models.OneToOneField(
        settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="review_preference"
    )
    keys = models.JSONField(default=dict, help_text="By action: a single key")

    def __str__(self) -> str:
        return f"keys of {self.reviewer_id}"
