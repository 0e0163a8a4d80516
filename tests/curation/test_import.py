"""Importing into the database: what goes in, what is refused by line, and that nothing else is lost."""

from __future__ import annotations

import io
import json

import pytest

from curation.jsonl import EmptyFileError, NotJsonLinesError
from curation.models import Reconstruction, ScreeningSample, Source, SourcePrompt
from curation.services import (
    ImportOptions,
    ImportReport,
    import_prompts,
    import_screening_samples,
    plan_reconstructions,
)

pytestmark = pytest.mark.django_db


def bring_in(content: bytes, field: str | None = None, name: str = "requests") -> ImportReport:
    return import_prompts(file=io.BytesIO(content), file_name="r.jsonl", source_name=name, field_name=field)


def line(text: str, **extra: object) -> bytes:
    return json.dumps({"prompt": text, **extra}, ensure_ascii=False).encode() + b"\n"


def test_texts_languages_and_lengths() -> None:
    report = bring_in(
        line("Write a letter to the mayor about the bridge.", id=7)
        + line("请写一封给校长的信，谈谈操场的灯。")
    )
    first, second = SourcePrompt.objects.order_by("line")
    assert (report.read, report.added, report.refused, report.duplicates) == (2, 2, 0, 0)
    assert (first.language, first.segments, first.external_id, first.line) == ("en", 9, "7", 1)
    assert (second.language, second.segments, second.characters) == ("zh", 1, 17)


def test_importing_again_adds_nothing_and_says_why() -> None:
    content = line("Write a letter to the mayor.") + line("Write a speech for the harvest festival.")
    bring_in(content)
    again = bring_in(content)
    assert (again.added, again.duplicates) == (0, 2)
    elsewhere = bring_in(content + line("Write an obituary for a lighthouse."), name="more")
    assert (elsewhere.added, elsewhere.duplicates) == (1, 2)
    assert elsewhere.duplicate_lines[0].reason == "already imported (source requests)"
    assert SourcePrompt.objects.count() == 3


def test_every_bad_line_is_named_and_every_good_one_goes_in() -> None:
    good = [f"Write a short story about a door, version {n}." for n in range(6)]
    content = b"".join(
        [
            b"\xef\xbb\xbf" + line(good[0]),
            b'{"text": "a missing field"}\n',
            line(good[1]),
            b'{"prompt": "' + b"x" * 5_000_000 + b'"}\n',
            line(good[2]),
            b"not json\n",
            b'{"prompt": "NUL \\u0000 in a request for a poem about rain"}\n',
            b'{"prompt": "A lone \\ud800 surrogate in a request for a poem"}\n',
            line(good[0]),
            b'{"prompt": 12}\n',
            b'{"prompt": "  "}\n',
            b'\xff\xfe{"prompt": "x"}\n',
            line("⍟⍟⍟ ⌘⌘ ⍾⍾⍾⍾"),
            line(good[3]),
            line(good[4]),
            line(good[5]).rstrip(b"\n"),
        ]
    )
    report = bring_in(content)
    assert [entry.line for entry in report.refused_lines] == [2, 4, 6, 10, 11, 12]
    assert "prompt" in report.refused_lines[0].reason
    assert [entry.line for entry in report.duplicate_lines] == [9]
    assert report.duplicate_lines[0].reason == "the same text as line 1"
    assert {7, 8, 13} <= {entry.line for entry in report.noted_lines}
    assert report.added == 9
    assert report.read == report.added + report.duplicates + report.refused == 16
    texts = set(SourcePrompt.objects.values_list("text", flat=True))
    assert set(good) <= texts
    assert "A lone � surrogate in a request for a poem" in texts
    assert not any("\x00" in text or "\ufeff" in text for text in texts)
    assert SourcePrompt.objects.get(line=13).language == "und"
    assert Source.objects.get().report["refused"] == 6


@pytest.mark.parametrize("content", [b"", b"\n\n  \n", b"\xef\xbb\xbf"])
def test_an_empty_file_is_said_to_be_empty(content: bytes) -> None:
    with pytest.raises(EmptyFileError):
        bring_in(content)
    assert not Source.objects.exists()


def test_a_binary_file_is_refused_whole() -> None:
    with pytest.raises(NotJsonLinesError):
        bring_in(b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR" + bytes(range(256)) * 50)
    assert not SourcePrompt.objects.exists()


def test_chat_rows_give_their_first_user_turn() -> None:
    row = {"messages": [{"role": "system", "content": "s"}, {"role": "user", "content": "Write a toast."}]}
    bring_in(json.dumps(row).encode())
    assert SourcePrompt.objects.get().text == "Write a toast."


def test_a_source_of_over_8000_segments_goes_in_and_is_excluded() -> None:
    bring_in(line("word " * 8_000) + line("word " * 8_001))
    kept, excluded = SourcePrompt.objects.order_by("line")
    assert kept.excluded_because == ""
    assert excluded.excluded_because == "8,001 segments: sources over 8,000 are left out"


def test_text_is_kept_to_the_byte() -> None:
    text = 'Tabs\tand "quotes", CRLF\r\n, emoji 👩‍🚀, 中文，NBSP\u00a0, \u2028, \u0085, עברית'
    bring_in(line(text))
    assert SourcePrompt.objects.get().text == text


def test_benchmark_samples_are_refreshed_by_id() -> None:
    assert import_screening_samples(benchmark="B", samples={"1": "one text", "2": "two"}) == 2
    assert import_screening_samples(benchmark="B", samples={"1": "one text", "2": "changed"}) == 1
    assert ScreeningSample.objects.get(external_id="2").text == "changed"


# Reconstructions that come along


def with_reconstructions(*rows: dict[str, object]) -> ImportReport:
    content = b"".join(json.dumps(row).encode() + b"\n" for row in rows)
    options = ImportOptions(text_field="prompt", reconstruction_field="better")
    return import_prompts(file=io.BytesIO(content), file_name="r", source_name="r", options=options)


def test_a_row_may_bring_its_own_reconstruction() -> None:
    report = with_reconstructions({"prompt": "Write a toast.", "better": "Write a toast to \0 a lighthouse."})
    row = Reconstruction.objects.select_related("source_prompt").get()
    assert row.source_prompt.text == "Write a toast."
    assert (row.index, row.strategy, row.state, row.imported) == (0, "length_aware", "rewritten", True)
    assert (row.text, row.characters, row.segments) == ("Write a toast to  a lighthouse.", 31, 6)
    assert (row.language, row.length_policy) == ("en", "paper")
    assert (report.added, report.reconstructions) == (1, 1)
    assert report.noted_lines[0].reason == "in its reconstruction, NUL characters were removed"
    assert plan_reconstructions(per_source=1, seed=0) == [], "it counts as the one that is wanted"
    plan_reconstructions(per_source=2, seed=0)
    assert [r.index for r in Reconstruction.objects.order_by("index")] == [0, 1]


@pytest.mark.parametrize(
    ("better", "note"),
    [
        (None, "it comes without a reconstruction: 'better' is null, not a text"),
        (7, "it comes without a reconstruction: 'better' is a number, not a text"),
        (" ", "it comes without a reconstruction: the text in 'better' is empty"),
        ("Write  a\ntoast.", "its reconstruction is the request itself again; left out"),
    ],
)
def test_a_reconstruction_that_is_none_costs_the_prompt_nothing(better: object, note: str) -> None:
    report = with_reconstructions({"prompt": "Write a toast.", "better": better})
    assert [entry.reason for entry in report.noted_lines] == [note]
    assert (report.added, report.reconstructions, Reconstruction.objects.count()) == (1, 0, 0)


def test_a_source_that_is_too_long_goes_in_without_its_reconstruction() -> None:
    report = with_reconstructions({"prompt": "word " * 8_001, "better": "Write a toast."})
    assert (report.added, report.reconstructions, Reconstruction.objects.count()) == (1, 0, 0)


def test_a_second_reconstruction_of_the_same_text_is_left_out_and_said() -> None:
    first = {"prompt": "Write a toast.", "better": "Write a toast to a king."}
    report = with_reconstructions(first, {**first, "better": "Write a toast to a queen."})
    assert report.duplicate_lines[0].reason == "the same text as line 1; its reconstruction was left out"
    assert Reconstruction.objects.get().text == "Write a toast to a king."


def test_an_id_field_that_is_named_is_taken_and_its_absence_noted() -> None:
    content = line("Write a toast.", id=1, key="k1") + line("Write a speech.", id=2)
    report = import_prompts(
        file=io.BytesIO(content), file_name="r", source_name="r", options=ImportOptions("prompt", "key")
    )
    assert list(SourcePrompt.objects.order_by("line").values_list("external_id", flat=True)) == ["k1", ""]
    assert [(entry.line, entry.reason) for entry in report.noted_lines] == [(2, "it has no id in 'key'")]


def test_stored_values_are_those_that_django_would_store() -> None:
    with_reconstructions({"prompt": "Write a toast.", "better": "Write a toast to a king."})
    prompt, reconstruction = SourcePrompt.objects.get(), Reconstruction.objects.get()
    for row in (prompt, reconstruction):
        row.full_clean(exclude=["search"])
        assert row.created_at is not None
    assert reconstruction.repetition is None
    assert not Reconstruction.objects.filter(repetition__isnull=False).exists()
    later = SourcePrompt.objects.create(
        source=prompt.source, line=2, text="x", digest="1" * 64, language="en", characters=1, segments=1
    )
    assert later.pk > prompt.pk, "keys given by COPY are taken from the sequence"
