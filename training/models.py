"""Candidates, the demonstration among them, corpus snapshots, checks of judges for bias, and trainings."""

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


class TrainingJob(models.Model):
    """One training: a recipe over a snapshot, worked by whichever GPU machine takes it up.

    Its folder is on `host` from then on, so only that machine goes on with it. `handle` is Slurm's number
    where Slurm runs it. `read_to` says how many bytes of the engine's files have been read.
    """

    class State(models.TextChoices):
        WAITING = "waiting"
        RUNNING = "running"
        DONE = "done"
        FAILED = "failed"
        CANCELLED = "cancelled"

    name = models.CharField(max_length=60, unique=True)
    recipe = models.JSONField(help_text="All settings, as they were when it was asked for")
    snapshot = models.ForeignKey(CorpusSnapshot, on_delete=models.PROTECT, related_name="jobs")
    judge = models.ForeignKey(
        Endpoint, on_delete=models.PROTECT, null=True, blank=True, related_name="judged_jobs"
    )
    starts_from = models.ForeignKey(
        "Checkpoint", on_delete=models.PROTECT, null=True, blank=True, related_name="continued_by"
    )
    clone_of = models.ForeignKey("self", on_delete=models.SET_NULL, null=True, blank=True, related_name="+")
    state = models.CharField(max_length=10, choices=State.choices, default=State.WAITING)
    notice = models.TextField(blank=True, help_text="What it waits for, or what it does now")
    ending = models.CharField(max_length=24, blank=True, help_text="Why it ended, one word for each kind")
    error = models.TextField(blank=True)
    cancel_wanted = models.BooleanField(default=False)
    host = models.CharField(max_length=200, blank=True)
    handle = models.CharField(max_length=40, blank=True)
    attempts = models.PositiveSmallIntegerField(default=0)
    interruptions = models.PositiveSmallIntegerField(
        default=0, help_text="How often it has gone on by itself since a person last said so"
    )
    step = models.PositiveIntegerField(default=0)
    total_steps = models.PositiveIntegerField(default=0)
    expected_end = models.DateTimeField(null=True, blank=True)
    rows = models.JSONField(default=dict, help_text="How many are trained on and evaluated on")
    versions = models.JSONField(default=dict, help_text="Of the engine and of what it is built on")
    log_tail = models.TextField(blank=True)
    read_to = models.JSONField(default=dict)
    created_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.SET_NULL, null=True, blank=True, related_name="+"
    )
    created_at = models.DateTimeField(auto_now_add=True)
    started_at = models.DateTimeField(null=True, blank=True)
    last_seen_at = models.DateTimeField(null=True, blank=True)
    last_step_at = models.DateTimeField(null=True, blank=True)
    finished_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ("-id",)
        indexes = (models.Index(fields=["state"]),)

    def __str__(self) -> str:
        return self.name


class TrainingMetric(models.Model):
    """What the engine logged at one step; a step that is done again after a resume replaces its values."""

    job = models.ForeignKey(TrainingJob, on_delete=models.CASCADE, related_name="metrics")
    step = models.PositiveIntegerField()
    values = models.JSONField()

    class Meta:
        ordering = ("step",)
        constraints = (models.UniqueConstraint(fields=["job", "step"], name="one_metric_row_per_step"),)

    def __str__(self) -> str:
        return f"step {self.step} of job {self.job_id}"


class Rollout(models.Model):
    """One sampled completion with the assessment that rewarded it; `place` is its byte in the job's file."""

    job = models.ForeignKey(TrainingJob, on_delete=models.CASCADE, related_name="rollouts")
    place = models.PositiveBigIntegerField()
    batch = models.PositiveIntegerField()
    prompt = models.ForeignKey(
        CorpusPrompt, on_delete=models.PROTECT, null=True, blank=True, related_name="rollouts"
    )
    rubric_digest = models.CharField(max_length=64)
    reward = models.FloatField()
    fallback = models.BooleanField()
    failure = models.TextField(blank=True)
    items = models.JSONField(default=list)
    text = models.TextField()
    at = models.DateTimeField()

    class Meta:
        ordering = ("place",)
        constraints = (
            models.UniqueConstraint(fields=["job", "place"], name="a_rollout_is_read_once"),
            models.CheckConstraint(
                condition=Q(reward__gte=0, reward__lte=1), name="a_reward_is_between_0_and_1"
            ),
        )

    def __str__(self) -> str:
        return f"rollout {self.place} of job {self.job_id}"


class Checkpoint(models.Model):
    """A folder of weights on `host`, with what was measured at its step.

    `digest` is the SHA-256 over the names and contents of its weight files. Its endpoint is registered when
    it is first served, and stays as the provenance of what it answered.
    """

    class State(models.TextChoices):
        KEPT = "kept"
        PRUNED = "pruned"
        MISSING = "missing"

    class Serving(models.TextChoices):
        NO = "no"
        WANTED = "wanted"
        STARTING = "starting"
        SERVING = "serving"
        FAILED = "failed"

    job = models.ForeignKey(TrainingJob, on_delete=models.PROTECT, related_name="checkpoints")
    step = models.PositiveIntegerField()
    state = models.CharField(max_length=8, choices=State.choices, default=State.KEPT)
    host = models.CharField(max_length=200)
    folder = models.CharField(max_length=500)
    metrics = models.JSONField(default=dict)
    digest = models.CharField(max_length=64)
    bytes = models.PositiveBigIntegerField()
    pinned = models.BooleanField(default=False, help_text="Kept whatever the rule says")
    serving = models.CharField(max_length=8, choices=Serving.choices, default=Serving.NO)
    serving_notice = models.TextField(blank=True)
    serving_seen_at = models.DateTimeField(null=True, blank=True)
    endpoint = models.OneToOneField(
        Endpoint, on_delete=models.PROTECT, null=True, blank=True, related_name="checkpoint"
    )
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ("job", "step")
        constraints = (models.UniqueConstraint(fields=["job", "step"], name="one_checkpoint_per_step"),)

    def __str__(self) -> str:
        return f"{self.job.name}, step {self.step}"
