"""Corpus prompts, rubrics, candidates and snapshots as pages."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import pytest
from django.test import Client
from django.urls import reverse

from rubrics.models import Rubric
from tests.samples import candidate, corpus, dimensions, rubric
from training.forms import SnapshotForm
from training.models import CorpusSnapshot
from training.rubric_choice import RubricChoice

pytestmark = pytest.mark.django_db


@pytest.fixture
def files(settings: object, tmp_path: Path) -> Path:
    settings.MEDIA_ROOT = tmp_path  # type: ignore[attr-defined]
    return tmp_path / "snapshots"


def test_a_corpus_prompt_leads_back_to_its_source(research_client: Client) -> None:
    rows = corpus()
    page = research_client.get(reverse("corpus-prompt", args=[rows["corpus-prompt"].pk])).text
    item = rows["reconstruction"]
    for name, pk in (
        ("reconstruction", item.pk),
        ("source-prompt", item.source_prompt_id),
        ("source", item.source_prompt.source_id),
        ("rubric", rows["rubric"].pk),
        ("candidate", rows["candidate"].pk),
    ):
        assert f'href="{reverse(name, args=[pk])}"' in page, name
    assert "Demonstration" in page
    failed = research_client.get(reverse("corpus-prompt", args=[rows["failed-prompt"].pk])).text
    assert "mining failed" in failed


def test_a_rubric_reads_from_weakest_to_strongest_with_its_weights(research_client: Client) -> None:
    shape = dimensions()
    shape[0]["9-10"] = "the best there is"
    row = rubric(dimensions=shape)
    page = research_client.get(reverse("rubric", args=[row.pk])).text
    heads = [page.index(f'class="level-head">{label}') for label in ("1-2", "3-4", "5-6", "7-8", "9-10")]
    assert heads == sorted(heads)
    assert "10 of 26" in page
    assert page.count("8 of 26") == 2
    assert page.count('class="level-none"') == 2
    assert "there is no trace" in page


def test_a_candidate_shows_scores_and_calls_a_fallback_by_its_name(research_client: Client) -> None:
    of = rubric()
    read, fallback, bare = (
        candidate(of, 0, value=0.75),
        candidate(of, 1, value=0.4, fallback=True),
        candidate(of, 2),
    )
    page = research_client.get(reverse("candidate", args=[read.pk])).text
    for text in ("0.750", "6 / 8", "left out by the judge", "Restraint", "not in the rubric", "Charm"):
        assert text in page
    page = research_client.get(reverse("candidate", args=[fallback.pk])).text
    assert "stand-in of 0.4" in page
    page = research_client.get(reverse("candidate", args=[bare.pk])).text
    assert "No judge has read it yet" in page
    assert "stand-in" not in page


@pytest.mark.parametrize(
    ("typed", "share"), [("15/19", Fraction(15, 19)), ("0.8", Fraction(4, 5)), (" 1 / 2 ", Fraction(1, 2))]
)
def test_a_share_is_read_exactly(typed: str, share: Fraction) -> None:
    form = SnapshotForm({"name": "a", "seed": "0", "sft_share": typed})
    assert form.is_valid()
    assert form.cleaned_data["sft_share"] == share


@pytest.mark.parametrize("typed", ["", "1/0", "much", "1.5", "-1/2", "nan", "15 of 19"])
def test_a_share_that_is_none_is_refused(typed: str) -> None:
    assert not SnapshotForm({"name": "a", "seed": "0", "sft_share": typed}).is_valid()


def test_a_snapshot_is_asked_for_once(research_client: Client) -> None:
    fields = {"name": "v1", "seed": "7", "sft_share": "15/19"}
    answer = research_client.post(reverse("snapshot-new"), fields)
    made = CorpusSnapshot.objects.get()
    assert answer["Location"] == reverse("snapshot", args=[made.pk])
    assert made.parameters == {
        "seed": 7,
        "sft_share": "15/19",
        "rubrics": RubricChoice().as_parameters(),
    }
    assert "every 3s" in research_client.get(answer["Location"]).text
    again = research_client.post(reverse("snapshot-new"), fields)
    assert again.status_code == 422
    assert "choose another name" in again.text
    assert CorpusSnapshot.objects.count() == 1


def test_a_snapshot_says_which_rubrics_it_takes(research_client: Client) -> None:
    Rubric.objects.filter(pk=rubric().pk).update(lint_version=1, lint=[{"check": "vague"}])
    page = research_client.get(reverse("snapshot-new")).text
    assert 'value="vague"' in page
    fields = {
        "name": "v1",
        "seed": "0",
        "sft_share": "0",
        "method": "drg",
        "constructor": "kimi",
        "versions": "first",
        "max_lint_findings": "2",
        "excluded_checks": ["vague"],
    }
    research_client.post(reverse("snapshot-new"), fields)
    assert RubricChoice.of(CorpusSnapshot.objects.get().parameters) == RubricChoice(
        "drg", "kimi", revisions=False, max_lint_findings=2, excluded_checks=("vague",)
    )
    wrong = {**fields, "name": "v2", "method": "guess", "excluded_checks": ["none such"]}
    assert research_client.post(reverse("snapshot-new"), wrong).status_code == 422


def test_a_snapshots_page_names_its_rubrics(research_client: Client) -> None:
    row = corpus()["snapshot"]
    assert "not read by lint" not in research_client.get(reverse("snapshot", args=[row.pk])).text
    row.manifest["settings"]["rubrics"] = RubricChoice().as_parameters()
    row.manifest["rubrics"] = {
        **RubricChoice(max_lint_findings=3).as_parameters(),
        "exported_by_method": {"irg": 4, "human": 1},
        "not_read_by_lint": 2,
    }
    row.name = "it's first"
    row.save()
    page = research_client.get(reverse("snapshot", args=[row.pk])).text
    assert "--snapshot &#x27;it&#x27;&quot;&#x27;&quot;&#x27;s first&#x27; --output" in page
    for text in ("IRG", "irg 4, human 1", "at most 3 findings", "2 not read by lint", "newest versions"):
        assert text in page, text
    assert "excluded_checks" not in page.split("The manifest as JSON")[0]


def test_only_files_of_the_manifest_can_be_downloaded(research_client: Client, files: Path) -> None:
    row = corpus()["snapshot"]
    folder = files / str(row.pk)
    folder.mkdir(parents=True)
    (folder / "sft.jsonl").write_text('{"a": "展"}\n', encoding="utf-8")
    (folder / "secret.txt").write_text("no")
    (files / "outside.txt").write_text("no")
    answer = research_client.get(reverse("snapshot-file", args=[row.pk, "sft.jsonl"]))
    assert b"".join(answer.streaming_content) == '{"a": "展"}\n'.encode()  # type: ignore[attr-defined]
    assert 'filename="first-sft.jsonl"' in answer["Content-Disposition"]
    base = reverse("snapshot-file", args=[row.pk, "x"])[:-1]
    for name in ("secret.txt", "..%2Foutside.txt", "../outside.txt", "%2Fetc%2Fpasswd"):
        assert research_client.get(base + name).status_code == 404, name
    CorpusSnapshot.objects.update(state="failed")
    assert research_client.get(base + "sft.jsonl").status_code == 404


def test_a_file_that_is_gone_says_so(research_client: Client, files: Path) -> None:
    row = corpus()["snapshot"]
    answer = research_client.get(reverse("snapshot-file", args=[row.pk, "sft.jsonl"]))
    assert answer.status_code == 404


def test_a_snapshot_accounts_for_what_it_left_out(research_client: Client) -> None:
    row = corpus()["snapshot"]
    page = research_client.get(reverse("snapshot", args=[row.pk])).text
    for text in ("sft.jsonl", "0" * 64, "Which prompts", "15/19"):
        assert text in page


def test_a_source_reports_its_import_line_by_line(research_client: Client) -> None:
    row = corpus()["source"]
    row.report = {
        "read": 9,
        "added": 7,
        "refused": 2,
        "duplicates": 0,
        "refused_lines": [{"line": 4, "reason": "not JSON <b>"}],
    }
    row.save()
    page = research_client.get(reverse("source", args=[row.pk])).text
    assert "not JSON &lt;b&gt;" in page
    assert "The first 1 of 2 lines." in page
