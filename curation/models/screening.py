"""Held-out benchmark samples, and what a reconstruction shares with them."""

from __future__ import annotations

from django.db import models

from curation.models.prompts import Reconstruction


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
    tokenizer = models.CharField(max_length=300)

    def __str__(self) -> str:
        return f"{self.shared} of {self.total}"
