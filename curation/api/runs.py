"""Runs: how far work is; starting the curation room's stages, pausing, going on, cancelling, trying again.

plan (what it would add) ─► start ─► pause ◄─► continue
                               └───► retry what failed, cancel
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, ClassVar

from django.shortcuts import get_object_or_404
from drf_spectacular.utils import OpenApiExample, extend_schema
from rest_framework import serializers, status
from rest_framework.request import Request
from rest_framework.response import Response

from curation.api.base import ApiView, DetailView, ListView
from curation.api.pagination import NewestFirst
from curation.api.problems import ConflictError
from curation.api.review_serializers import CountSerializer
from curation.api.serializers import RunDetailSerializer, RunSerializer
from curation.indexing import start_indexing
from curation.models import Source
from curation.services import (
    LARGEST_SEED,
    MOST_PER_SOURCE,
    preview_plan,
    start_filtering,
    start_reconstruction,
)
from llm import services
from llm.listing import AnyFilter
from llm.models import Endpoint, Run
from llm.selectors import run_failures, run_filters, run_progress

RUNS = Run.objects.select_related("endpoint", "created_by")

STAGES = ("reconstruct", "filter", "index")


class PlanInputSerializer(serializers.Serializer[Any]):
    """How many to plan for each usable source prompt; what is there already counts."""

    per_source = serializers.IntegerField(min_value=1, max_value=MOST_PER_SOURCE, required=False)
    source: Any = serializers.PrimaryKeyRelatedField(
        queryset=Source.objects.all(), required=False, help_text="Only of this source"
    )
    limit = serializers.IntegerField(
        min_value=1, required=False, help_text="The first so many source prompts, in the order of import"
    )


class StartSerializer(PlanInputSerializer):
    """`reconstruct` needs an endpoint and takes a plan, `filter` takes a limit, `index` nothing more."""

    stage = serializers.ChoiceField(STAGES)
    endpoint = serializers.SlugRelatedField(
        slug_field="name", queryset=Endpoint.objects.all(), required=False, help_text="Name of an endpoint"
    )
    limit = serializers.IntegerField(min_value=1, required=False, help_text="At most so many, the first")
    seed = serializers.IntegerField(
        min_value=0, max_value=LARGEST_SEED, required=False, help_text="The same seed gives the same plan"
    )

    taken: ClassVar[dict[str, frozenset[str]]] = {
        "reconstruct": frozenset({"endpoint", "per_source", "seed", "source", "limit"}),
        "filter": frozenset({"limit"}),
        "index": frozenset(),
    }

    def validate(self, given: dict[str, Any]) -> dict[str, Any]:
        stage = given["stage"]
        foreign = given.keys() - self.taken[stage] - {"stage"}
        if foreign:
            raise serializers.ValidationError({name: [f"Not for '{stage}'."] for name in sorted(foreign)})
        if stage == "reconstruct" and "endpoint" not in given:
            raise serializers.ValidationError(
                {"endpoint": ["Reconstructing asks a model: name an endpoint."]}
            )
        return given


class PlanPreviewSerializer(serializers.Serializer[Any]):
    """`prompts` source prompts have `existing` reconstructions, of which `planned` are not written yet; `new`
    would be added."""

    prompts = serializers.IntegerField()
    existing = serializers.IntegerField()
    planned = serializers.IntegerField()
    new = serializers.IntegerField()


class RetrySerializer(serializers.Serializer[Any]):
    kind = serializers.CharField(required=False, help_text="Only failures of this kind; without it all")


class RunList(ListView):
    queryset = RUNS
    serializer_class = RunSerializer
    pagination_class = NewestFirst

    def filters(self) -> Sequence[AnyFilter]:
        return run_filters()

    @extend_schema(
        request=StartSerializer,
        responses={201: RunSerializer},
        examples=[
            OpenApiExample(
                "Two reconstructions of each prompt of a source",
                {"stage": "reconstruct", "endpoint": "writer", "per_source": 2, "seed": 7, "source": 3},
                request_only=True,
            ),
            OpenApiExample("Filter what is written", {"stage": "filter"}, request_only=True),
        ],
    )
    def post(self, request: Request) -> Response:
        """Starts a run over everything that waits for a stage; one over nothing is done at once."""
        given = StartSerializer(data=request.data)
        given.is_valid(raise_exception=True)
        run = self._start(**given.validated_data)
        return Response(RunSerializer(run).data, status=status.HTTP_201_CREATED)

    def _start(self, stage: str, **given: Any) -> Run:
        if stage == "reconstruct":
            return start_reconstruction(**given, user=self.person)
        if stage == "filter":
            return start_filtering(**given, user=self.person)
        run = start_indexing(user=self.person)
        if run is None:
            raise ConflictError("Every text is indexed.", "nothing_waits")
        return run


class RunPlan(ApiView):
    serializer_class = PlanInputSerializer

    @extend_schema(parameters=[PlanInputSerializer], responses=PlanPreviewSerializer)
    def get(self, request: Request) -> Response:
        """What a plan of reconstructions would add. Starts nothing."""
        given = PlanInputSerializer(data=request.query_params)
        given.is_valid(raise_exception=True)
        preview = preview_plan(**{"per_source": 1, **given.validated_data})
        return Response(PlanPreviewSerializer(preview).data)


def _with_progress(run: Run) -> Any:
    detailed: Any = run
    detailed.progress, detailed.failures = run_progress(run), run_failures(run)
    return detailed


class RunDetail(DetailView):
    """A run with how far it is, and its failures by kind."""

    queryset = RUNS
    serializer_class = RunDetailSerializer

    def get_object(self) -> Any:
        return _with_progress(super().get_object())


class RunAction(ApiView):
    """One button of a run's page."""

    does: ClassVar[Callable[..., bool]]
    otherwise: ClassVar[tuple[str, str]]
    """What is said, and its code, when the run is in no state for it."""

    @extend_schema(request=None, responses=RunDetailSerializer)
    def post(self, request: Request, pk: int) -> Response:
        get_object_or_404(Run, pk=pk)
        if not type(self).does(run_id=pk):
            raise ConflictError(*self.otherwise)
        return Response(RunDetailSerializer(_with_progress(RUNS.get(pk=pk))).data)


class Pause(RunAction):
    """No new calls; those in flight are finished and kept."""

    does = staticmethod(services.pause_run)
    otherwise = ("The run was not running; nothing changed.", "not_running")


class Continue(RunAction):
    """Goes on with a paused run."""

    does = staticmethod(services.continue_run)
    otherwise = ("The run was not paused; nothing changed.", "not_paused")


class Cancel(RunAction):
    """Ends a run for good; what it has done stays."""

    does = staticmethod(services.cancel_run)
    otherwise = ("The run had ended; nothing changed.", "ended")


class Retry(ApiView):
    serializer_class = RetrySerializer

    @extend_schema(responses=CountSerializer)
    def post(self, request: Request, pk: int) -> Response:
        """Queues failed items again and says how many; a cancelled run has none to try."""
        get_object_or_404(Run, pk=pk)
        return Response({"count": services.retry_failed(run_id=pk, kind=self.read().get("kind"))})
