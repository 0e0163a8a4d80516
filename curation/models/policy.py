"""The curation room's settings, which researchers change on a page."""

from __future__ import annotations

from django.core.validators import MaxValueValidator, MinValueValidator
from django.db import models


class CurationPolicy(models.Model):
    """One row, number 1. What a setting was when something was decided is stored with the decision."""

    second_review_share = models.FloatField(
        default=0.1,
        validators=[MinValueValidator(0), MaxValueValidator(1)],
        help_text="Share of the items that a second reviewer reads, blind to the first",
    )
    second_review_seed = models.IntegerField(default=0, help_text="Another seed picks other items")
    lease_minutes = models.PositiveSmallIntegerField(
        default=20,
        validators=[MinValueValidator(1), MaxValueValidator(24 * 60)],
        help_text="How long an item stays with a reviewer whose page says nothing",
    )
    fastest_characters_per_second = models.FloatField(
        default=60,
        validators=[MinValueValidator(1)],
        help_text="A review is flagged as too fast when both texts were read at more than this",
    )
    tokenizer = models.CharField(
        max_length=300,
        default="qwen3",
        help_text="qwen3 (bundled), the path of a tokenizer.json, or a hub name",
    )
    minimum_shared_trigrams = models.PositiveIntegerField(
        default=0, help_text="Overlap with fewer shared trigrams never discards; 0 is the paper's rule"
    )
    repetition_limits = models.JSONField(
        default=dict, blank=True, help_text="Limits of the repetition filter that differ from the usual ones"
    )
    updated_at = models.DateTimeField(auto_now=True)

    def __str__(self) -> str:
        return "curation settings"

    @classmethod
    def current(cls) -> CurationPolicy:
        """The settings in force; the usual ones before anybody has stored any."""
        return cls.objects.filter(pk=1).first() or cls(pk=1)
