"""Versions that people make: rows stay as they are, nothing is made twice, nobody's work is lost."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest
from django.contrib.auth.models import User
from django.db import connection

from llm.audit import history_of
from llm.models import AuditEntry
from rubrics.lint import LINT_VERSION
from rubrics.models import Rubric
from rubrics.rubric import Rubric as RubricValue
from rubrics.versions import (
    MissingNoteError,
    NewerVersionError,
    line_of,
    newest_of,
    save_version,
    write_rubric,
)
from tests.samples import dimensions, person, rubric


def value(*names: str) -> RubricValue:
    return RubricValue.from_json(dimensions(names or ("Voice", "Rhyme", "Restraint")))


@pytest.mark.django_db
def test_a_version_is_a_new_row_at_the_end_of_its_line() -> None:
    rosa = person("rosa")
    first = rubric(templates=["irg-discovery@1"])
    before = Rubric.objects.values().get(pk=first.pk)
    second = save_version(parent=first, value=value(), note=" Rhyme was missing ", user=rosa, seen=first.pk)
    third = save_version(
        parent=second.rubric, value=value("Voice"), note="Less", user=rosa, seen=second.rubric.pk
    )
    row = third.rubric
    assert Rubric.objects.values().get(pk=first.pk) == before
    assert (row.version, row.root_id, row.parent_id) == (3, first.pk, second.rubric.pk)
    assert (row.method, row.constructor, row.created_by, row.templates) == ("human", "rosa", rosa, [])
    assert row.digest == value("Voice").digest
    assert row.lint_version == LINT_VERSION
    assert row.lint
    assert second.rubric.note == "Rhyme was missing"
    assert [each.version for each in line_of(row)] == [1, 2, 3]
    assert newest_of(first) == row
    (entry,) = history_of(second.rubric)
    assert (entry.action, entry.actor, entry.reason) == ("version saved", rosa, "Rhyme was missing")
    assert entry.after == {"version": 2, "made_from_rubric": first.pk, "dimensions": 3, "maximum": 24}


@pytest.mark.django_db
def test_what_says_the_same_is_not_saved() -> None:
    first = rubric()
    saved = save_version(
        parent=first, value=value("Voice", "Structure", "Restraint"), note="x", user=person("rosa"), seen=0
    )
    assert (saved.rubric, saved.changed) == (first, False)
    assert not AuditEntry.objects.exists()


@pytest.mark.django_db
def test_saving_twice_makes_one_row_and_answers_as_the_first_time() -> None:
    rosa, first = person("rosa"), rubric()
    once = save_version(parent=first, value=value(), note="x", user=rosa, seen=first.pk)
    again = save_version(parent=first, value=value(), note="x", user=rosa, seen=first.pk)
    assert (again.rubric, again.changed) == (once.rubric, True)
    assert (Rubric.objects.count(), AuditEntry.objects.count()) == (2, 1)
    new = write_rubric(prompt=first.prompt, value=value(), note="", user=rosa)
    assert write_rubric(prompt=first.prompt, value=value(), note="", user=rosa) == new
    assert (new.rubric.version, new.rubric.root, new.rubric.method) == (1, None, "human")
    assert (Rubric.objects.count(), AuditEntry.objects.count()) == (3, 2)
    other = write_rubric(prompt=first.prompt, value=value(), note="", user=person("ann"))
    assert other.rubric != new.rubric


@pytest.mark.django_db
def test_a_version_needs_a_reason() -> None:
    first = rubric()
    with pytest.raises(MissingNoteError):
        save_version(parent=first, value=value(), note=" ", user=person("rosa"), seen=first.pk)
    assert Rubric.objects.count() == 1


@pytest.mark.django_db
def test_an_older_version_can_be_brought_back() -> None:
    rosa, first = person("rosa"), rubric()
    second = save_version(parent=first, value=value(), note="x", user=rosa, seen=first.pk).rubric
    old = RubricValue.from_json(first.dimensions)
    back = save_version(parent=first, value=old, note="As it was", user=rosa, seen=second.pk)
    assert (back.rubric.version, back.rubric.parent_id, back.changed) == (3, first.pk, True)


@pytest.mark.django_db
def test_the_second_of_two_people_is_told_and_can_keep_both() -> None:
    first = rubric()
    theirs = save_version(parent=first, value=value(), note="a", user=person("ann"), seen=first.pk).rubric
    rosa = person("rosa")
    with pytest.raises(NewerVersionError) as caught:
        save_version(parent=first, value=value("Voice"), note="b", user=rosa, seen=first.pk)
    assert caught.value.newest == theirs
    assert Rubric.objects.count() == 2
    mine = save_version(parent=first, value=value("Voice"), note="b", user=rosa, seen=theirs.pk).rubric
    assert (mine.version, mine.parent_id) == (3, first.pk)


@pytest.mark.django_db(transaction=True)
def test_two_people_at_the_very_same_moment_lose_nothing() -> None:
    first = rubric()
    people = [person(f"person-{number}") for number in range(4)]
    together = threading.Barrier(len(people))

    def save(user: User) -> str:
        together.wait()
        try:
            save_version(parent=first, value=value(user.username), note="x", user=user, seen=first.pk)
        except NewerVersionError:
            return "told"
        finally:
            connection.close()
        return "saved"

    with ThreadPoolExecutor(len(people)) as threads:
        outcomes = sorted(threads.map(save, people))
    assert outcomes == ["saved", "told", "told", "told"]
    assert [each.version for each in line_of(first)] == [1, 2]
