"""What was assessed before judges had names keeps its judge and its candidate."""

from __future__ import annotations

import pytest
from django.db import connection
from django.db.migrations.executor import MigrationExecutor

from rubrics.models import Assessment
from tests.samples import candidate, rubric
from training.models import Candidate

BEFORE = ("training", "0001_initial")


@pytest.mark.django_db(transaction=True)
def test_old_assessments_get_their_judge_and_stand_among_the_readings() -> None:
    read = candidate(rubric(), 0, value=0.75)
    bare = candidate(rubric(), 0)
    later = MigrationExecutor(connection).loader.graph.leaf_nodes("training")
    MigrationExecutor(connection).migrate([BEFORE])
    MigrationExecutor(connection).migrate(later)

    read, bare = Candidate.objects.get(pk=read.pk), Candidate.objects.get(pk=bare.pk)
    made = Assessment.objects.get()
    assert (read.assessment, list(read.assessments.all())) == (made, [made])
    assert list(bare.assessments.all()) == []
    assert made.endpoint == made.completion.endpoint
    assert (made.judge, made.template) == ("test-model-2026", "assess@1")
