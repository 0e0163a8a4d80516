"""Finding texts: terms, the index, and what is not indexed yet."""

from __future__ import annotations

import asyncio

import pytest
from django.core.management import call_command
from hypothesis import given
from hypothesis import strategies as st

from curation.indexing import IndexStep, start_indexing
from curation.models import Reconstruction, SourcePrompt
from curation.search import matching
from curation.search_terms import MOST_BYTES, parse_query, search_terms
from llm.engine.worker import work_on_run
from llm.models import Run
from tests.samples import CHINESE, ENGLISH, reconstruction, source_prompt

MIXED = "Write a 运河手工业 essay about Ｃａｆé   life.\nKeep to 300 words; don't use snake_case."


def test_words_and_pairs_of_characters() -> None:
    assert search_terms("The Canal's end") == ["the", "canal", "the canal", "s", "canal s", "end", "s end"]
    assert search_terms("运河展") == ["运河", "河展", "展"]
    assert search_terms("展") == ["展"]
    assert search_terms("ＡＢＣ ①") == ["abc", "1", "abc 1"]
    assert search_terms("one 运 two") == ["one", "运", "two"], "neighbours are those without anything between"
    assert search_terms("… — !") == []


def test_the_last_word_of_a_query_may_be_unfinished() -> None:
    assert parse_query("village libr").expression() == "'village libr':*"
    assert parse_query("a small libr").expression() == "'a small' & 'small libr':*"
    assert parse_query("a 运河 b").expression() == "'a' & '运河' & 'b':*"
    assert parse_query("运河展").expression() == "'运河' & '河展'"
    assert parse_query("河").expression() == "'河':*"
    assert parse_query("?!").empty


@given(st.text(max_size=40), st.text(alphabet="ab运河展é1 -'", max_size=12), st.text(max_size=40))
def test_a_text_that_holds_a_phrase_has_its_terms(before: str, phrase: str, after: str) -> None:
    """Whatever stands around it, as long as no word goes on into the phrase."""
    terms = search_terms(f"{before} {phrase} {after}")
    query = parse_query(phrase)
    assert set(query.whole) <= set(terms)
    assert all(any(term.startswith(one) for term in terms) for one in query.beginnings)


def test_a_huge_text_keeps_the_terms_of_its_beginning() -> None:
    terms = search_terms(" ".join(f"word{number}" for number in range(200_000)))
    assert terms[0] == "word0"
    assert MOST_BYTES - 100 < sum(map(len, terms)) <= MOST_BYTES


def index_everything() -> None:
    run = start_indexing()
    assert run is not None
    asyncio.run(work_on_run(run.pk))
    assert not Reconstruction.objects.filter(search__isnull=True).exclude(text="").exists()
    assert not SourcePrompt.objects.filter(search__isnull=True).exclude(text="").exists()


CASES = [
    ("village library", "english"),
    ("VILLAGE LIBR", "english"),
    ("library.\n\nKeep", "english"),
    ("library village", None),
    ("运河", ("chinese", "mixed")),
    ("河手工业的", "chinese"),
    ("河手工业", ("chinese", "mixed")),
    ("号。", "chinese"),
    ("河运", None),
    ("canal_", None),
    ("cafÉ life", "mixed"),
    ("essay about CAFÉ life", "mixed"),
    ("to the closing", None),
    ("about the closing of", "english"),
    ("library keep", "english"),
    ("village, library", "english"),
    ("ｃａｆé life", "mixed"),
    ("life. keep", "mixed"),
    ("don't use", "mixed"),
    ("snake_case", "mixed"),
    ("a 运河", "mixed"),
    ("30", ("english", "mixed")),
    ("' | 'x", None),
    ("\\", None),
    (";", "mixed"),
]


@pytest.mark.django_db(transaction=True)
def test_the_same_is_found_before_and_after_indexing() -> None:
    rows = {
        "english": reconstruction(text=ENGLISH),
        "chinese": reconstruction(text=CHINESE, language="zh"),
        "mixed": reconstruction(text=MIXED),
        "planned": reconstruction("planned"),
    }
    for indexed in (False, True):
        if indexed:
            index_everything()
        for typed, wanted in CASES:
            names = () if wanted is None else (wanted,) if isinstance(wanted, str) else wanted
            found = set(matching(Reconstruction.objects.all(), typed).values_list("pk", flat=True))
            assert found == {rows[name].pk for name in names}, (typed, indexed)
    assert start_indexing() is None


@pytest.mark.django_db(transaction=True)
def test_a_text_that_changes_while_it_is_indexed_keeps_waiting() -> None:
    item = reconstruction(text=ENGLISH)
    run = start_indexing()
    assert run is not None
    step = IndexStep(run)
    loaded = step.load(list(run.items.values_list("subject_id", flat=True)))
    outcomes = [(key, asyncio.run(step.execute(texts, None))) for key, texts in loaded.items()]  # type: ignore[arg-type]
    Reconstruction.objects.filter(pk=item.pk).update(text="Something else")
    step.store(outcomes)
    item.refresh_from_db()
    assert item.search is None
    assert list(matching(Reconstruction.objects.all(), "something el")) == [item]
    assert list(matching(Reconstruction.objects.all(), "village")) == []


@pytest.mark.django_db(transaction=True)
def test_the_command_fills_the_index_and_then_has_nothing_to_do(capsys: pytest.CaptureFixture[str]) -> None:
    source_prompt(CHINESE, "zh")
    call_command("index_texts", here=True)
    assert Run.objects.get(kind="index").state == "done"
    assert matching(SourcePrompt.objects.all(), "手工").count() == 1
    call_command("index_texts", here=True)
    assert "Every text is indexed." in capsys.readouterr().out
    assert Run.objects.filter(kind="index").count() == 1
