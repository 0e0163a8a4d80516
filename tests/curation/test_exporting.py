"""Exports: the same bytes of text in a file that any reader splits alike; flat, continued, and blind."""

from __future__ import annotations

import asyncio
import csv
import hashlib
import io
import json
import resource
from pathlib import Path
from typing import Any

import pytest
from django.core.management import call_command
from django.core.management.base import CommandError
from django.db import connection
from django.utils import timezone
from hypothesis import given
from hypothesis import strategies as st

from curation import export_files, export_rows
from curation.export_files import BeingWrittenError, export_path, write_export
from curation.export_services import ExportRequestError, finished_file, start_export
from curation.exporting import CHECKS, csv_header, csv_lines, json_lines
from curation.models import CheckVerdict, CorpusPrompt, ExportFile, Reconstruction, Review, SourcePrompt
from curation.spreadsheet import escape_cell, unescape_cell
from llm.access import Role
from llm.audit import history_of
from llm.engine.worker import work_on_run
from llm.models import Run
from tests.samples import corpus, corpus_prompt, person, reconstruction, review, source_prompt

TEXTS = (
    "commas, \"quotes\", and 'more'",
    "lines\r\nCRLF\nLF\rCR\r",
    "\ttab first",
    "=1+1",
    "'=1+1",
    "@SUM(A1)",
    "-minus and +plus",
    "emoji 👩‍👩‍👧 🏴󠁧󠁢󠁥󠁮󠁧󠁿",
    "运河手工业的展览，不用感叹号。",
    "no-break\u00a0space, narrow\u202f, ideographic\u3000",
    "separators \u2028 and \u2029 and \u0085 and \x0b\x0c\x1c\x1d\x1e",
    "\u202eright to left\u202c שלום مرحبا",
    " leading and trailing ",
    "\\u2028 written out, \\ and \\n",
)


@pytest.fixture(autouse=True)
def media(settings: Any, tmp_path: Path) -> Path:
    settings.MEDIA_ROOT = tmp_path
    return tmp_path


def written(kind: str, format: str = "jsonl", **filters: str) -> bytes:
    export = start_export(kind=kind, format=format, filters=filters, user=None)
    write_export(export)
    return export_path(export).read_bytes()


def lines(content: bytes) -> list[dict[str, Any]]:
    return [json.loads(line) for line in content.splitlines()]


def records(content: bytes) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(content.decode(), newline="")))


# The form of a row


@given(st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0")))
def test_any_text_comes_back_from_either_format(text: str) -> None:
    line = json_lines([{"prompt": text}])
    assert json.loads(line)["prompt"] == text
    assert line.decode().splitlines() == [line.decode().removesuffix("\n")]
    record = next(csv.reader(io.StringIO(csv_lines([{"prompt": text}]).decode(), newline="")))
    assert record[0] == "1"
    assert unescape_cell(record[1]) == text


@given(st.lists(st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0")), min_size=1))
def test_a_record_is_written_as_the_standard_writer_would(texts: list[str]) -> None:
    row = {f"column {at}": text for at, text in enumerate(texts)}
    expected = io.StringIO(newline="")
    csv.writer(expected, lineterminator="\r\n").writerow(["1", *map(escape_cell, texts)])
    assert csv_lines([row]).decode() == expected.getvalue()


def test_a_cell_never_begins_as_a_formula() -> None:
    for text in ("=1+1", "+1", "-1", "@A1", "\t=1", "\r=1"):
        record = next(csv.reader(io.StringIO(csv_lines([{"prompt": text}]).decode(), newline="")))
        assert record[1] == f"'{text}"


def test_the_header_names_what_a_record_holds() -> None:
    entry = {
        "verdict": "fail",
        "note": "why",
        "evidence": {"side": "source", "start": 0, "end": 1, "text": "="},
    }
    row = {"review_id": 1, "automatic": True, "seconds": None, CHECKS: {"a": entry, "b": entry}}
    file = csv_header(row, ["a", "b"]) + csv_lines([row])
    (record,) = records(file)
    assert record["workbench_format"] == "1"
    assert (record["review_id"], record["automatic"], record["seconds"]) == ("1", "true", "")
    assert record["b_note"] == "why"
    assert json.loads(record["a_evidence"])["text"] == "="


# What is exported


@pytest.mark.django_db
@pytest.mark.parametrize("format", ["jsonl", "csv"])
def test_texts_leave_with_the_bytes_that_they_came_with(format: str) -> None:
    for text in TEXTS:
        source_prompt(text)
    content = written("source_prompts", format)
    if format == "jsonl":
        found = [row["prompt"] for row in lines(content)]
    else:
        found = [unescape_cell(record["prompt"]) for record in records(content)]
    assert found == list(TEXTS)


@pytest.mark.django_db
def test_a_review_is_a_row_with_its_five_verdicts() -> None:
    item = reconstruction("rejected", "The rewritten text.")
    made = review(item, person("ann", Role.ANNOTATOR), "reject", seconds=12.5)
    evidence = {"side": "source", "start": 0, "end": 5, "text": "Write"}
    made.verdicts.filter(check_name="task_clarity").update(verdict="fail", note="=no", evidence=evidence)
    (row,) = lines(written("reviews"))
    assert (row["review_id"], row["reconstruction_id"], row["reviewer"]) == (made.pk, item.pk, "ann")
    assert (row["decision"], row["state"], row["seconds"]) == ("reject", "rejected", 12.5)
    assert row["prompt"] == item.source_prompt.text
    assert row["reconstruction"] == "The rewritten text."
    assert list(row["checks"]) == CheckVerdict.Check.values
    assert row["checks"]["task_clarity"] == {"verdict": "fail", "note": "=no", "evidence": evidence}
    assert row["checks"]["usable_length"] == {"verdict": "pass", "note": "", "evidence": None}
    (record,) = records(written("reviews", "csv"))
    assert record["task_clarity_note"] == "'=no"
    assert json.loads(record["task_clarity_evidence"]) == evidence


@pytest.mark.django_db
def test_without_texts_a_row_has_none() -> None:
    review(reconstruction("accepted"), person("ann", Role.ANNOTATOR))
    for kind in ExportFile.Kind.values:
        source_prompt()
        for format in ("jsonl", "csv"):
            export = start_export(kind=kind, format=format, filters={}, texts=False, user=None)
            write_export(export)
            assert b"village library" not in export_path(export).read_bytes()


@pytest.mark.django_db
def test_what_others_gave_stays_out_while_somebody_may_still_judge() -> None:
    ann, ben = person("ann", Role.ANNOTATOR), person("ben", Role.ANNOTATOR)
    waiting = reconstruction("in_review", wanted_reviews=2)
    flagged = reconstruction("flagged", agreement=0.2, wanted_reviews=2)
    settled = reconstruction("disputed", agreement=0.6, wanted_reviews=2)
    for item in (waiting, flagged, settled):
        review(item, ann)
    review(settled, ben, "reject")
    withdrawn = review(reconstruction("rejected"), ben, "reject")
    Review.objects.filter(pk=withdrawn.pk).update(withdrawn_at="2026-01-01T00:00:00Z", withdrawn_by=ben)
    assert {row["reconstruction_id"] for row in lines(written("reviews"))} == {settled.pk}
    assert lines(written("reviews", reviewer=str(ann.pk)))[0]["reviewer"] == "ann"
    agreement = {row["reconstruction_id"]: row["agreement"] for row in lines(written("reconstructions"))}
    assert (agreement[waiting.pk], agreement[flagged.pk], agreement[settled.pk]) == (None, None, 0.6)
    assert lines(written("reconstructions", failed="any")) == []
    assert [row["reconstruction_id"] for row in lines(written("reconstructions", reviewer=str(ben.pk)))] == [
        settled.pk
    ]


@pytest.mark.django_db
def test_that_an_item_judged_anew_was_accepted_before_is_not_told() -> None:
    settled, anew = corpus_prompt(), corpus_prompt(withdrawn_at=timezone.now())
    Reconstruction.objects.filter(pk=anew.reconstruction_id).update(state="in_review", wanted_reviews=1)
    told = {row["reconstruction_id"]: row["corpus_prompt_id"] for row in lines(written("reconstructions"))}
    assert told == {settled.reconstruction_id: settled.pk, anew.reconstruction_id: None}


@pytest.mark.django_db
def test_every_kind_has_every_row_and_the_same_columns_in_both_formats() -> None:
    corpus()
    counts = {
        "source_prompts": SourcePrompt.objects.count(),
        "reconstructions": Reconstruction.objects.count(),
        "reviews": 1,
        "corpus_prompts": CorpusPrompt.objects.count(),
    }
    for kind, count in counts.items():
        rows, table = lines(written(kind)), records(written(kind, "csv"))
        assert len(rows) == len(table) == count, kind
        flat = [name for name in rows[0] if name != CHECKS]
        assert [name for name in table[0] if name in flat] == flat
        assert {str(row[flat[0]]) for row in rows} == {record[flat[0]] for record in table}


@pytest.mark.django_db
def test_filters_narrow_and_a_wrong_one_is_refused() -> None:
    corpus_prompt(language="zh")
    corpus_prompt(language="en")
    assert [row["language"] for row in lines(written("corpus_prompts", language="zh"))] == ["zh"]
    assert [row["language"] for row in lines(written("reconstructions", language="en", q="Village "))] == [
        "en"
    ]
    asked = Run.objects.count()
    with pytest.raises(ExportRequestError) as refused:
        start_export(
            kind="reconstructions", format="xml", filters={"stat": "accepted", "state": "done"}, user=None
        )
    assert set(refused.value.messages) == {"format", "stat", "state"}
    assert "accepted" in refused.value.messages["state"]
    with pytest.raises(ExportRequestError) as refused:
        start_export(kind="people", format="csv", filters={"x": "y"}, user=None)
    assert set(refused.value.messages) == {"kind"}
    assert Run.objects.count() == asked


# How it is written


@pytest.mark.django_db
@pytest.mark.parametrize("format", ["jsonl", "csv"])
def test_a_broken_export_goes_on_where_it_stopped(format: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for number in range(25):
        source_prompt(f"request {number}\r\n运河")
    monkeypatch.setattr(export_rows, "BATCH_ROWS", 4)
    whole = written("source_prompts", format)
    export = start_export(kind="source_prompts", format=format, filters={}, user=None)
    encoded: list[int] = []
    encode = export_files._encode

    def break_at_the_fourth(of: ExportFile, batch: export_rows.Batch) -> bytes:
        encoded.append(batch.last)
        if len(encoded) == 4:
            raise OSError(28, "No space left on device")
        return encode(of, batch)

    monkeypatch.setattr(export_files, "_encode", break_at_the_fourth)
    with pytest.raises(OSError, match="No space left"):
        write_export(export)
    part = export_path(export).with_suffix(f".{format}.part")
    with part.open("ab") as file:
        file.write(b"half a batch that was never not")
    again = ExportFile.objects.get(pk=export.pk)
    assert again.rows == 12
    source_prompt("came later, and is not in it")
    done = write_export(again)
    assert export_path(export).read_bytes() == whole
    assert done.sha256 == hashlib.sha256(whole).hexdigest()
    assert (done.rows, done.bytes) == (25, len(whole))
    assert len(encoded) == len(set(encoded)) + 1
    assert not part.exists()


@pytest.mark.django_db
def test_a_part_file_that_is_gone_is_written_again() -> None:
    source_prompt("one")
    export = start_export(kind="source_prompts", format="csv", filters={}, user=None)
    first = write_export(export)
    export_path(export).unlink()
    again = write_export(ExportFile.objects.get(pk=export.pk))
    assert again == first
    assert hashlib.sha256(export_path(export).read_bytes()).hexdigest() == first.sha256


@pytest.mark.django_db
def test_two_processes_never_write_the_same_file() -> None:
    source_prompt("one")
    export = start_export(kind="source_prompts", format="jsonl", filters={}, user=None)
    part = export_path(export).with_suffix(".jsonl.part")
    part.parent.mkdir(parents=True)
    with export_files._alone(part), pytest.raises(BeingWrittenError):
        write_export(export)
    assert write_export(export).rows == 1


@pytest.mark.django_db
def test_a_batch_holds_no_more_than_it_may(monkeypatch: pytest.MonkeyPatch) -> None:
    keys = [source_prompt("x" * size).pk for size in (10, 60, 60, 500, 10, 10)]
    monkeypatch.setattr(export_rows, "BATCH_CHARACTERS", 100)
    rows = export_rows.rows_to_export("source_prompts", {})
    shape = export_rows.SHAPES["source_prompts"]
    batches = list(export_rows.read_batches(rows, shape, texts=True, after=0, until=keys[-1]))
    assert [len(batch.rows) for batch in batches] == [2, 1, 1, 2]
    assert [row["source_prompt_id"] for batch in batches for row in batch.rows] == keys


@pytest.mark.django_db(transaction=True)
def test_a_run_writes_it_and_its_history_says_who_asked(media: Path) -> None:
    rosa = person("rosa", Role.RESEARCHER)
    source_prompt("one")
    export = start_export(kind="source_prompts", format="jsonl", filters={}, user=rosa)
    assert (export.state, finished_file(export)) == ("waiting", None)
    assert export.run is not None
    asyncio.run(work_on_run(export.run.pk))
    export.refresh_from_db()
    assert (export.state, export.rows, export.error) == ("done", 1, "")
    path = finished_file(export)
    assert path is not None
    assert hashlib.sha256(path.read_bytes()).hexdigest() == export.sha256
    assert str(path.relative_to(media)) == export.path
    assert history_of(export).get(action="asked for").actor == rosa


@pytest.mark.django_db(transaction=True)
def test_the_command_writes_one_and_refuses_a_wrong_filter(capfd: pytest.CaptureFixture[str]) -> None:
    source_prompt("eins", "de")
    source_prompt("one", "en")
    out = io.StringIO()
    call_command("export_curation", "source_prompts", "--filter", "language=de", "--here", stdout=out)
    export = ExportFile.objects.get()
    assert export.sha256 in out.getvalue()
    assert [row["prompt"] for row in lines(export_path(export).read_bytes())] == ["eins"]
    with pytest.raises(CommandError, match="language: There is no such value"):
        call_command("export_curation", "source_prompts", "--filter", "language=xx", "--here")


@pytest.mark.django_db
def test_twenty_thousand_reviewed_items_are_flat_in_memory() -> None:
    """2 texts of 1,500 characters, five verdicts and a note each."""
    _load(20_000)
    export = start_export(kind="reviews", format="jsonl", filters={}, user=None)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    done = write_export(export)
    grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024
    assert done.rows == 20_000
    assert grown < 100


def _load(count: int) -> None:
    """Reviewed items, made by the database itself."""
    ann = person("ann", Role.ANNOTATOR)
    source = source_prompt().source
    with connection.cursor() as cursor:
        cursor.execute(
            """
            INSERT INTO curation_sourceprompt (source_id, line, external_id, text, digest, language,
                characters, segments, length_policy, excluded_because, created_at)
            SELECT %s, n, 'loaded', rpad('', 1500, 'request ' || n || ' 运河 '), md5(n::text), 'en',
                1500, 200, 'paper', '', now() FROM generate_series(1, %s) n
            """,
            [source.pk, count],
        )
        cursor.execute(
            """
            INSERT INTO curation_reconstruction (source_prompt_id, index, strategy, state, state_reason,
                text, language, characters, segments, length_policy, imported, screened_with,
                wanted_reviews, created_at)
            SELECT id, 0, 'length_recovery', 'accepted', '', rpad('', 1500, 'rewritten ' || id), 'en',
                1500, 200, 'paper', false, '', 1, now()
            FROM curation_sourceprompt WHERE external_id = 'loaded'
            """
        )
        cursor.execute(
            """
            INSERT INTO curation_review (reconstruction_id, reviewer_id, decision, automatic, adjudication,
                created_at, withdrawn_because)
            SELECT id, %s, 'accept', false, false, now(), '' FROM curation_reconstruction
            """,
            [ann.pk],
        )
        cursor.execute(
            """
            INSERT INTO curation_checkverdict (review_id, check_name, verdict, note)
            SELECT review.id, name, 'pass', CASE name WHEN 'task_clarity' THEN 'a note on it' ELSE '' END
            FROM curation_review review, unnest(%s::text[]) name
            """,
            [CheckVerdict.Check.values],
        )
        cursor.execute("ANALYZE")
