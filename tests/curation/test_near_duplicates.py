"""Pairs above the threshold are found, nothing below it is named, and the first of its kind is kept."""

from __future__ import annotations

import itertools
import random
import resource
from collections.abc import Iterator, Mapping, Sequence

import pytest
from django.core.management import CommandError, call_command

from curation.minhash import band_hashes, band_rows, jaccard, shingle_hashes, shingles
from curation.models import Reconstruction, Source, SourcePrompt
from curation.near_duplicates import Entry, find_near_duplicates
from curation.services import mark_near_duplicates
from llm.models import AuditEntry
from tests.samples import source, source_prompt


def words(count: int, seed: int) -> list[str]:
    chosen = random.Random(seed)
    return [f"word{chosen.randrange(5000)}" for _ in range(count)]


def find(
    texts: Sequence[str], threshold: float = 0.8, markable: Sequence[int] | None = None
) -> dict[int, int]:
    entries = (Entry(at, text, markable is None or at in markable) for at, text in enumerate(texts))
    found = find_near_duplicates(entries, lambda ids: {at: texts[at] for at in ids}, threshold=threshold)
    return {pair.later: pair.earlier for pair in found}


# Similarity


def test_jaccard_by_hand() -> None:
    one, other = shingles("a b c d e"), shingles("a b c d f")
    assert one == {"a b c", "b c d", "c d e"}
    assert jaccard(one, other) == pytest.approx(2 / 4)
    assert jaccard(one, one) == 1
    assert jaccard(one, shingles("x y z")) == 0


def test_case_punctuation_and_line_breaks_do_not_count() -> None:
    assert shingles("Write a “Letter”,\n now…") == shingles("write a letter now")


@pytest.mark.parametrize("text", ["写一封信给校长", "東京の春を書く", "เขียนเรื่องสั้นเกี่ยวกับแมว"])
def test_scripts_without_spaces_are_taken_by_characters(text: str) -> None:
    assert all(len(one) == 3 for one in shingles(text))
    assert shingles(text[:3] + "，\n" + text[3:]) == shingles(text)


@pytest.mark.parametrize("text", ["", "?!", "one", "one two", "信", "\ud800 broken", "\0"])
def test_short_and_odd_texts_have_a_shingle_too(text: str) -> None:
    assert len(shingles(text)) == 1
    assert jaccard(shingles(text), shingles(text)) == 1


def test_bands_miss_at_most_one_in_a_thousand_at_the_threshold() -> None:
    for threshold in (0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 1.0):
        rows = band_rows(threshold)
        assert (1 - threshold**rows) ** (128 // rows) <= 1e-3
    assert band_rows(0.8) == 5


ODD = [
    "",
    "?!",
    "one",
    "one two",
    "信",
    "写一 封 b",
    "\ud800 broken",
    "\0",
    "ß ﬁ Straße ab",
    "it's “end_of_line” 3.5",
]


def test_a_shingle_has_one_hash_wherever_it_stands() -> None:
    texts = [" ".join(words(60, seed)) for seed in range(40)] + [
        "写一封信给校长。" * 4,
        *ODD,
        "last of all of them",
    ]
    together, counts = shingle_hashes(texts)
    at = 0
    for text, count in zip(texts, counts, strict=True):
        alone, _ = shingle_hashes([text])
        assert alone.tolist() == together[at : at + count].tolist()
        assert len(set(alone.tolist())) == len(shingles(text))
        at += count
    assert at == len(together)


def test_texts_with_equal_shingles_have_equal_hashes() -> None:
    one, other = shingle_hashes(["Write a “Letter”,\n now…"])[0], shingle_hashes(["write a letter now"])[0]
    assert one.tolist() == other.tolist()
    assert not set(one.tolist()) & set(shingle_hashes(["now write letter a"])[0].tolist())


def test_hashes_do_not_depend_on_the_batch() -> None:
    texts = [" ".join(words(4_000, seed)) for seed in range(30)]  # more than one block
    together = band_hashes(texts, 5)
    assert together.shape == (30, 25)
    assert all((band_hashes([text], 5)[0] == row).all() for text, row in zip(texts, together, strict=True))
    assert band_hashes([], 5).shape == (0, 25)


# Finding


def test_hashes_that_are_known_lead_to_the_same_pairs() -> None:
    texts = [" ".join(words(80, seed // 2)) + f" {seed}" for seed in range(40)]
    hashes = band_hashes(texts, band_rows(0.8))
    entries = [Entry(at, hashes[at] if at % 3 else text) for at, text in enumerate(texts)]
    found = find_near_duplicates(entries, lambda ids: {at: texts[at] for at in ids}, threshold=0.8)
    assert (
        {pair.later: pair.earlier for pair in found} == find(texts) == {at + 1: at for at in range(0, 40, 2)}
    )


def test_every_pair_above_the_threshold_is_found_and_no_other() -> None:
    texts = []
    for group in range(300):
        base = words(120, group)
        texts.append(" ".join(base))
        changed = list(base)
        for place in range(0, 120, random.Random(group).choice([12, 30, 60])):
            changed[place] = f"other{place}"
        texts.append(" ".join(changed))
    above = {
        at + 1: at for at in range(0, 600, 2) if jaccard(shingles(texts[at]), shingles(texts[at + 1])) >= 0.8
    }
    assert 100 < len(above) < 250
    assert find(texts) == above


def test_copies_all_belong_to_the_first() -> None:
    texts = [" ".join(words(50, 1)), " ".join(words(50, 2)), *[" ".join(words(50, 1))] * 1000]
    assert find(texts) == dict.fromkeys(range(2, 1002), 0)


def test_of_a_chain_the_first_and_what_is_unlike_it_are_kept() -> None:
    base = words(100, 3)
    chain = []
    for step in range(0, 24, 6):
        base[step : step + 6] = [f"new{step}-{at}" for at in range(6)]
        chain.append(" ".join(base))
    similar = [jaccard(shingles(one), shingles(other)) for one, other in itertools.pairwise(chain)]
    assert min(similar) > 0.8 > jaccard(shingles(chain[0]), shingles(chain[2]))
    assert find(chain) == {1: 0, 3: 2}


def test_a_text_belongs_to_the_most_similar_of_several() -> None:
    base = words(100, 4)
    far, near = list(base), list(base)
    far[0:10] = words(10, 5)
    near[98:] = words(2, 6)
    texts = [" ".join(each) for each in (far, near, base)]
    assert jaccard(shingles(texts[0]), shingles(texts[1])) < 0.8
    assert jaccard(shingles(texts[0]), shingles(texts[2])) > 0.8
    assert find(texts) == {2: 1}


def test_what_may_not_be_marked_is_only_compared_with() -> None:
    text = " ".join(words(50, 7))
    assert find([text, text, text], markable=[2]) == {2: 0}
    assert find([text, text, text], markable=[]) == {}


def test_chinese_texts_are_compared_too() -> None:
    text = "请为一场关于运河手工业的展览写一篇前言，不少于四百字，语言平实，不用感叹号，面向普通观众。"
    assert find([text, text.replace("四百", "五百"), text[::-1]]) == {1: 0}


@pytest.mark.parametrize("threshold", [0.2, 1.1, float("nan")])
def test_a_threshold_that_means_nothing_is_refused(threshold: float) -> None:
    with pytest.raises(ValueError, match="threshold"):
        find(["a"], threshold)


def test_nothing_to_compare() -> None:
    assert find([]) == {}
    assert find(["alone"]) == {}


def test_memory_is_flat() -> None:
    """Of each text a few hundred bytes stay; as Python objects its shingles alone would be kilobytes."""
    count = 20_000

    def text(at: int) -> str:
        return " ".join(f"{at}-{place}" for place in range(30))

    def entries() -> Iterator[Entry]:
        return (Entry(at, text(at)) for at in range(count))

    def fetch(ids: Sequence[int]) -> Mapping[int, str]:
        return {at: text(at) for at in ids}

    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    assert list(find_near_duplicates(entries(), fetch)) == []
    grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    assert grown < 30 * 1024, "at 300,000 texts this would not stay under 300 MB"


# Marking


BASE = " ".join(words(60, 8))
NEAR = BASE.replace(words(60, 8)[5], "changed", 1)


def marks() -> list[tuple[str, int | None, bool]]:
    rows = SourcePrompt.objects.order_by("pk")
    return [(row.source.name, row.duplicate_of_id, bool(row.excluded_because)) for row in rows]


@pytest.mark.django_db
def test_the_later_one_is_marked_and_excluded() -> None:
    first = source_prompt(BASE)
    source_prompt("Something else altogether, about another thing.")
    later = source_prompt(NEAR)
    report = mark_near_duplicates(threshold=0.8)
    assert (report.compared, report.found, report.excluded, report.reconstructed) == (3, 1, 1, 0)
    later.refresh_from_db()
    assert later.duplicate_of == first
    assert later.similarity == pytest.approx(jaccard(shingles(BASE), shingles(NEAR)))
    assert later.excluded_because.startswith(f"near duplicate of source prompt {first.pk} (similarity 0.9")
    first.refresh_from_db()
    assert (first.duplicate_of, first.excluded_because) == (None, "")
    entry = AuditEntry.objects.get()
    assert (entry.subject_kind, entry.subject_id, entry.action) == (
        "source prompt",
        later.pk,
        "near duplicate",
    )
    assert entry.after["duplicate_of"] == first.pk


@pytest.mark.django_db
def test_only_reporting_excludes_nothing_and_takes_an_exclusion_back() -> None:
    source_prompt(BASE)
    source_prompt(NEAR)
    mark_near_duplicates(threshold=0.8)
    assert [excluded for _, _, excluded in marks()] == [False, True]
    report = mark_near_duplicates(threshold=0.8, exclude=False)
    assert (report.found, report.excluded) == (1, 0)
    assert [excluded for _, _, excluded in marks()] == [False, False]
    assert SourcePrompt.objects.filter(duplicate_of__isnull=False).count() == 1
    mark_near_duplicates(threshold=1.0)
    assert not SourcePrompt.objects.filter(duplicate_of__isnull=False).exists()
    assert AuditEntry.objects.count() == 3


@pytest.mark.django_db
def test_searching_twice_changes_nothing() -> None:
    for _ in range(3):
        source_prompt(BASE)
    mark_near_duplicates(threshold=0.8)
    before = marks()
    mark_near_duplicates(threshold=0.8)
    assert marks() == before
    assert AuditEntry.objects.count() == 2


@pytest.mark.django_db
def test_what_is_reconstructed_already_is_reported_and_kept() -> None:
    source_prompt(BASE)
    later = source_prompt(NEAR)
    Reconstruction.objects.create(source_prompt=later, index=0, strategy="length_aware")
    report = mark_near_duplicates(threshold=0.8)
    assert (report.found, report.excluded, report.reconstructed) == (1, 0, 1)
    later.refresh_from_db()
    assert later.duplicate_of is not None
    assert later.excluded_because == ""


@pytest.mark.django_db
def test_a_prompt_that_is_excluded_for_its_length_excludes_no_other() -> None:
    source_prompt(BASE, excluded_because="9,000 segments: sources over 8,000 are left out")
    source_prompt(NEAR)
    assert mark_near_duplicates(threshold=0.8).found == 0
    assert SourcePrompt.objects.filter(excluded_because__startswith="9,000").count() == 1


@pytest.mark.django_db
def test_of_one_source_only_its_own_prompts_are_marked_against_earlier_ones() -> None:
    old, new, newer = source("old"), source("new"), source("newer")
    for each in (old, old, new, newer):
        source_prompt(BASE, source=each)
    first = SourcePrompt.objects.order_by("pk")[0]
    report = mark_near_duplicates(threshold=0.8, source=new)
    assert report.compared == 1
    assert [(name, of) for name, of, _ in marks()] == [
        ("old", None),
        ("old", None),
        ("new", first.pk),
        ("newer", None),
    ]


@pytest.mark.django_db
def test_the_command(capsys: pytest.CaptureFixture[str]) -> None:
    source_prompt(BASE)
    source_prompt(NEAR)
    call_command("find_near_duplicates")
    assert "2 prompts compared: 1 near duplicates, 0 excluded" in capsys.readouterr().out
    call_command("find_near_duplicates", "--exclude", "--source", Source.objects.get().name)
    assert "1 excluded" in capsys.readouterr().out
    with pytest.raises(CommandError, match="there is no source 'x'"):
        call_command("find_near_duplicates", "--source", "x")
    with pytest.raises(CommandError, match="threshold"):
        call_command("find_near_duplicates", "--threshold", "0.1")
