"""Benchmark samples, against which reconstructions are screened."""

from __future__ import annotations

from collections.abc import Mapping

from curation.models import ScreeningSample
from curation.preparing import digest_of

BATCH = 500


def import_screening_samples(*, benchmark: str, samples: Mapping[str, str]) -> int:
    """Adds or refreshes a benchmark's samples by id; returns how many are new or changed."""
    known = dict(ScreeningSample.objects.filter(benchmark=benchmark).values_list("external_id", "digest"))
    rows = [
        ScreeningSample(benchmark=benchmark, external_id=sample_id, text=text, digest=digest)
        for sample_id, text in samples.items()
        if known.get(sample_id) != (digest := digest_of(text))
    ]
    ScreeningSample.objects.bulk_create(
        rows,
        batch_size=BATCH,
        update_conflicts=True,
        unique_fields=["benchmark", "external_id"],
        update_fields=["text", "digest"],
    )
    return len(rows)
