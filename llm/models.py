"""Endpoints, stored calls, and runs: batches of work whose queue is Postgres."""

from __future__ import annotations

from django.conf import settings
from django.db import models
from django.db.models import F, Q

from llm import types


class Endpoint(models.Model):
    """An OpenAI-compatible server and one model on it."""

    name = models.CharField(max_length=80, unique=True)
    base_url = models.CharField(max_length=300, help_text="Up to and including /v1; or replay:FILE")
    model = models.CharField(max_length=200)
    api_key_env = models.CharField(
        max_length=80,
        blank=True,
        help_text="Name of the environment variable that holds the key; the key itself is never stored",
    )
    max_in_flight = models.PositiveIntegerField(default=32, help_text="Calls at once, per worker process")
    timeout_seconds = models.PositiveIntegerField(default=600)
    context_window = models.PositiveIntegerField(null=True, blank=True, help_text="Tokens, prompt and reply")
    max_output_tokens = models.PositiveIntegerField(
        null=True, blank=True, help_text="Upper bound for a reply"
    )
    constrained = models.BooleanField(
        default=False, help_text="Constrained decoding (vLLM structured outputs), for small models"
    )
    extra_body = models.JSONField(
        default=dict, blank=True, help_text='Sent with every call, e.g. {"chat_template_kwargs": …}'
    )
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ("name",)

    def __str__(self) -> str:
        return self.name


class Run(models.Model):
    """One batch of work of one kind: its items are the queue, its counters what the calls have cost."""

    class State(models.TextChoices):
        RUNNING = "running"
        PAUSED = "paused"
        DONE = "done"
        CANCELLED = "cancelled"

    kind = models.CharField(max_length=40)
    state = models.CharField(max_length=12, choices=State.choices, default=State.RUNNING)
    notice = models.TextField(blank=True, help_text="Why it is paused, or what it is waiting for")
    parameters = models.JSONField(default=dict)
    endpoint = models.ForeignKey(
        Endpoint, on_delete=models.PROTECT, null=True, blank=True, related_name="runs"
    )
    max_calls = models.PositiveBigIntegerField(
        null=True, blank=True, help_text="Made so many calls, the run pauses"
    )
    max_tokens = models.PositiveBigIntegerField(
        null=True, blank=True, help_text="Read and written so many tokens, the run pauses"
    )
    pilot_items = models.PositiveIntegerField(
        null=True,
        blank=True,
        help_text="Taken up so many items, the run pauses, with an estimate for the rest",
    )
    parallelism = models.PositiveSmallIntegerField(default=1, help_text="Worker processes wanted")
    created_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.SET_NULL, null=True, blank=True, related_name="+"
    )
    created_at = models.DateTimeField(auto_now_add=True)
    started_at = models.DateTimeField(null=True, blank=True)
    finished_at = models.DateTimeField(null=True, blank=True)
    total = models.PositiveIntegerField(default=0)
    calls = models.PositiveBigIntegerField(default=0, help_text="Calls made and stored")
    replayed = models.PositiveBigIntegerField(default=0, help_text="Calls answered from the store")
    prompt_tokens = models.PositiveBigIntegerField(default=0)
    completion_tokens = models.PositiveBigIntegerField(default=0)

    class Meta:
        ordering = ("-id",)
        indexes = (models.Index(fields=["state"]),)

    def __str__(self) -> str:
        return f"{self.kind} #{self.pk}"


class RunItem(models.Model):
    """One subject in a run. A leased item whose lease has expired is claimable at once."""

    class State(models.TextChoices):
        PENDING = "pending"
        LEASED = "leased"
        DONE = "done"
        FAILED = "failed"

    run = models.ForeignKey(Run, on_delete=models.CASCADE, related_name="items")
    subject_id = models.BigIntegerField()
    state = models.CharField(max_length=8, choices=State.choices, default=State.PENDING)
    retries = models.PositiveSmallIntegerField(default=0, help_text="How often a person asked for it again")
    claims = models.PositiveSmallIntegerField(default=0, help_text="How often a worker has taken it up")
    lease_holder = models.UUIDField(null=True, blank=True)
    lease_expires_at = models.DateTimeField(null=True, blank=True)
    error_kind = models.CharField(max_length=40, blank=True)
    error_message = models.TextField(blank=True)
    finished_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ("id",)
        constraints = (
            models.UniqueConstraint(fields=["run", "subject_id"], name="one_item_per_subject_and_run"),
            models.CheckConstraint(
                condition=Q(state="leased", lease_holder__isnull=False, lease_expires_at__isnull=False)
                | (~Q(state="leased") & Q(lease_holder__isnull=True, lease_expires_at__isnull=True)),
                name="a_lease_has_holder_and_end",
            ),
        )
        indexes = (
            models.Index(fields=["run", "state", "id"]),
            models.Index(F("run"), F("error_kind"), condition=Q(state="failed"), name="failed_items_by_kind"),
        )

    def __str__(self) -> str:
        return f"{self.run_id}/{self.subject_id}"


class RunWorker(models.Model):
    """A worker process at work on a run; gone quiet for a lease's length, it counts as dead."""

    id = models.UUIDField(primary_key=True)
    run = models.ForeignKey(Run, on_delete=models.CASCADE, related_name="workers")
    host = models.CharField(max_length=200)
    started_at = models.DateTimeField(auto_now_add=True)
    last_seen_at = models.DateTimeField()
    in_flight = models.PositiveIntegerField(default=0)
    allowed = models.PositiveIntegerField(default=0, help_text="Calls at once that the server bears now")
    held_because = models.CharField(max_length=80, blank=True, help_text="Why it is below the limit")

    def __str__(self) -> str:
        return self.host


class RunTick(models.Model):
    """What one worker did in one stretch of time: the points of a run's chart."""

    run = models.ForeignKey(Run, on_delete=models.CASCADE, related_name="ticks")
    at = models.DateTimeField()
    seconds = models.FloatField(help_text="Length of the stretch that ends at `at`")
    in_flight = models.PositiveIntegerField()
    calls = models.PositiveIntegerField()
    completion_tokens = models.PositiveIntegerField()

    class Meta:
        ordering = ("at",)
        indexes = (models.Index(fields=["run", "at"]),)

    def __str__(self) -> str:
        return f"{self.run_id} at {self.at:%H:%M:%S}"


class Completion(models.Model):
    """One call, stored as it finished: everything needed to read it again, and what it cost.

    The key is the identity of the question (`ChatRequest.key`), so a question is paid for once.
    """

    key = models.CharField(max_length=32, primary_key=True)
    endpoint = models.ForeignKey(Endpoint, on_delete=models.PROTECT, related_name="completions")
    run = models.ForeignKey(Run, on_delete=models.SET_NULL, null=True, related_name="completions")
    template = models.CharField(max_length=80)
    request = models.JSONField(help_text="Messages, sampling, structure, sample index, attempt")
    model = models.CharField(max_length=200, help_text="As asked for")
    resolved_model = models.CharField(max_length=200, help_text="As the server named it")
    text = models.TextField()
    finish_reason = models.CharField(max_length=40)
    prompt_tokens = models.PositiveIntegerField()
    completion_tokens = models.PositiveIntegerField()
    latency_ms = models.PositiveIntegerField()
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ("-created_at",)

    def __str__(self) -> str:
        return f"{self.template} {self.key[:8]}"

    def value(self) -> types.Completion:
        return types.Completion(
            key=self.key,
            text=self.text,
            finish_reason=self.finish_reason,
            resolved_model=self.resolved_model,
            prompt_tokens=self.prompt_tokens,
            completion_tokens=self.completion_tokens,
            latency_ms=self.latency_ms,
        )


class AuditEntry(models.Model):
    """One change of one object: who, when, and what it was before and after. Never changed, never deleted."""

    subject_kind = models.CharField(max_length=40, help_text="Model name, e.g. 'reconstruction'")
    subject_id = models.BigIntegerField()
    action = models.CharField(max_length=40)
    before = models.JSONField(default=dict)
    after = models.JSONField(default=dict)
    reason = models.TextField(blank=True)
    actor = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.SET_NULL, null=True, blank=True, related_name="+"
    )
    actor_name = models.CharField(max_length=150, help_text="As it was then: a person, or 'run 12'")
    at = models.DateTimeField()

    class Meta:
        ordering = ("-id",)
        verbose_name_plural = "audit entries"
        indexes = (models.Index(fields=["subject_kind", "subject_id", "id"]),)

    def __str__(self) -> str:
        return f"{self.action} of {self.subject_kind} {self.subject_id}"
