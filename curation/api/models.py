"""Tokens by which programs act for people."""

from __future__ import annotations

from django.conf import settings
from django.db import models


class ApiToken(models.Model):
    """A token of one person. Only its digest is stored; what it opens is what the person may do."""

    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="api_tokens")
    name = models.CharField(max_length=80, help_text="What it is for")
    digest = models.CharField(max_length=64, unique=True, help_text="SHA-256 of the token")
    beginning = models.CharField(max_length=12, help_text="Enough of it to tell it from others")
    created_at = models.DateTimeField(auto_now_add=True)
    expires_at = models.DateTimeField()
    last_used_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ("-id",)
        verbose_name = "API token"

    def __str__(self) -> str:
        return self.name
