"""How far reviewers agree, whether they drift, and who reads too fast."""

from __future__ import annotations

from typing import Any

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from curation.api.base import RoleView
from curation.quality import agreement, pace


class IntervalSerializer(serializers.Serializer[Any]):
    low = serializers.FloatField()
    high = serializers.FloatField()
    level = serializers.FloatField()


class CoefficientSerializer(serializers.Serializer[Any]):
    """`value` is null when it is undefined, for the `reason` given; `n` counts the items rated by two."""

    value = serializers.FloatField(allow_null=True)
    n = serializers.IntegerField()
    reason = serializers.CharField()
    observed = serializers.FloatField(allow_null=True)
    interval = IntervalSerializer(allow_null=True)


class ShareSerializer(serializers.Serializer[Any]):
    count = serializers.IntegerField()
    n = serializers.IntegerField()


class AgreementRowSerializer(serializers.Serializer[Any]):
    """One check, or the decision; `same` counts the items on which both gave the same. `kappa` is null unless
    exactly two people share items."""

    label: Any = serializers.CharField()
    same = ShareSerializer()
    alpha = CoefficientSerializer()
    kappa = CoefficientSerializer(allow_null=True)


class PairSerializer(serializers.Serializer[Any]):
    """`kappas` are in the order of `labels`."""

    first = serializers.CharField()
    second = serializers.CharField()
    n = serializers.IntegerField()
    kappas = CoefficientSerializer(many=True)


class AgreementSerializer(serializers.Serializer[Any]):
    """`not_blind` counts the items left out because a researcher may have seen an earlier decision."""

    labels = serializers.ListField(child=serializers.CharField())
    rows = AgreementRowSerializer(many=True)
    pairs = PairSerializer(many=True)
    not_blind = serializers.IntegerField()


class DifferenceOfSharesSerializer(serializers.Serializer[Any]):
    """With its 95% interval; `clear` says that the interval leaves out 0."""

    value = serializers.FloatField()
    low = serializers.FloatField()
    high = serializers.FloatField()
    clear = serializers.BooleanField()


class RateSerializer(serializers.Serializer[Any]):
    """A reviewer's share, that of all others in the same stretch of time, and, but for the first third, the
    reviewer's own in the first; with how far it lies from each of them."""

    own = ShareSerializer()
    others = ShareSerializer()
    first = ShareSerializer(allow_null=True)
    difference = DifferenceOfSharesSerializer(allow_null=True)
    change = DifferenceOfSharesSerializer(allow_null=True)


class PartSerializer(serializers.Serializer[Any]):
    """The first, middle or latest third of a reviewer's reviews; `passes` is by check."""

    part = serializers.CharField(source="third.part")
    start = serializers.DateTimeField()
    end = serializers.DateTimeField()
    accepted = RateSerializer(source="third.accepted")
    passes = serializers.DictField(source="third.passes", child=RateSerializer())


class ReviewerSerializer(serializers.Serializer[Any]):
    """`fast` of `timed` reviews, those whose time is known, were too fast."""

    name = serializers.CharField()
    reviews = serializers.IntegerField()
    fast = serializers.IntegerField(source="fast.count")
    timed = serializers.IntegerField(source="fast.n")
    parts = PartSerializer(many=True)


class FastReviewSerializer(serializers.Serializer[Any]):
    review = serializers.IntegerField(source="record.review_id")
    reconstruction = serializers.IntegerField(source="reconstruction_id")
    name = serializers.CharField()
    seconds = serializers.FloatField(source="record.seconds")


class PaceSerializer(serializers.Serializer[Any]):
    """Of the latest reviews, `looked_at` of them; `fastest` is in characters per second."""

    reviewers = ReviewerSerializer(many=True)
    fast = FastReviewSerializer(many=True)
    fast_count = serializers.IntegerField()
    untimed = serializers.IntegerField()
    looked_at = serializers.IntegerField()
    more = serializers.BooleanField()
    fastest = serializers.FloatField()


class QualitySerializer(serializers.Serializer[Any]):
    agreement = AgreementSerializer()
    pace = PaceSerializer()


class Quality(RoleView):
    @extend_schema(responses=QualitySerializer)
    def get(self, request: Request) -> Response:
        """Figures over the standing reviews by people of items that nobody has to judge blind any more."""
        return Response(QualitySerializer({"agreement": agreement(), "pace": pace()}).data)
