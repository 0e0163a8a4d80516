"""Withdrawing a review, and what it touches further down the way."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from datetime import timedelta
from pathlib import Path

import pytest
from django.conf import settings
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from curation import lineage
from curation.lineage import Touched
from curation.models import CorpusPrompt, ExportFile, Review
from llm.access import Role
from tests.reviewing import judged, waiting_item
from tests.samples import candidate, person, rubric
from training.models import CorpusSnapshot
from training.snapshots import snapshot_folder, write_snapshot


def accepted(**fields: str) -> Review:
    return judged(waiting_item(**fields), "ann")


def withdraw(client: Client, review: Review, reason: str = "The source was a test") -> str:
    address = reverse("review-withdraw", args=[review.pk])
    return client.post(address, {"reason": reason}, follow=True).text


def _without_choices(page: str) -> str:
    return re.sub(r"<option.*?</option>", "", page, flags=re.DOTALL)


def snapshot(name: str) -> CorpusSnapshot:
    made = CorpusSnapshot.objects.create(name=name, parameters={"seed": 0, "sft_share": "1"})
    made.manifest = write_snapshot(made)
    made.state = "done"
    made.save()
    return made


def test_before_and_after_the_page_lists_what_holds_the_prompt(research_client: Client) -> None:
    review = accepted()
    prompt = CorpusPrompt.objects.get()
    early = snapshot("before any rubric")
    of = rubric(prompt)
    candidate(of, 0, "A response.", value=0.8, demonstration=True)
    held = snapshot("with it")
    before = research_client.get(reverse("review-withdraw", args=[review.pk])).text
    after = withdraw(research_client, review)
    for page in (before, after):
        assert f'href="{reverse("rubric", args=[of.pk])}"' in page
        assert "1 assessment made with it" in page
        assert "the demonstration" in page
        assert f'href="{reverse("snapshot", args=[held.pk])}"' in page
        assert "in sft, sft_no_rubric, rubricgen" in page
        assert reverse("snapshot", args=[early.pk]) not in page
    assert "What it touches" in before
    assert "What it touched" in after
    prompt.refresh_from_db()
    assert prompt.withdrawn_at is not None
    assert prompt.excluded_because


def test_whatever_registers_later_stands_on_the_page(
    research_client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As training jobs will, and each finder is asked with the item's own corpus prompt."""
    monkeypatch.setattr(lineage, "_FINDERS", dict(lineage._FINDERS))
    asked: list[list[int]] = []

    def jobs_of(corpus_prompt_ids: Sequence[int]) -> Iterator[Touched]:
        asked.append(list(corpus_prompt_ids))
        yield Touched("training job", "GRPO on corpus one", "", 0, "step 40")

    lineage.register("Training jobs", jobs_of)
    page = research_client.get(reverse("review-withdraw", args=[accepted().pk])).text
    touched = page[page.index('id="touched"') :]
    assert "<h3>Training jobs</h3>" in touched
    assert "GRPO on corpus one" in touched
    assert asked == [[CorpusPrompt.objects.get().pk]]


def test_a_snapshot_whose_files_are_gone_may_hold_it(research_client: Client) -> None:
    review = accepted()
    rubric(CorpusPrompt.objects.get())
    held = snapshot("lost")
    later = accepted(text="Another request, accepted after the snapshot was written.")
    CorpusPrompt.objects.filter(reconstruction=later.reconstruction_id).update(
        created_at=timezone.now() + timedelta(minutes=1)
    )
    for path in snapshot_folder(held).glob("*.jsonl"):
        path.unlink()
    assert "may hold it" in research_client.get(reverse("review-withdraw", args=[review.pk])).text
    assert "may hold it" not in research_client.get(reverse("review-withdraw", args=[later.pk])).text


def test_the_review_stays_with_who_withdrew_it_and_why(research_client: Client) -> None:
    review = accepted()
    page = withdraw(research_client, review, "Wrong <b>item</b>")
    assert "Wrong &lt;b&gt;item&lt;/b&gt;" in page
    assert "Withdraw this review" not in page
    review.refresh_from_db()
    assert review.withdrawn_by is not None
    assert review.withdrawn_by.get_username() == "rosa"
    review.reconstruction.refresh_from_db()
    assert review.reconstruction.state == "in_review"
    of_item = research_client.get(reverse("reconstruction", args=[review.reconstruction_id])).text
    assert "A review by" in of_item
    assert "already" in withdraw(research_client, review)


def test_after_it_nobody_is_told_what_was_given(research_client: Client) -> None:
    """The item waits for a new reviewer, who must not know."""
    review = judged(waiting_item(), "ann", "reject", task_clarity="fail")
    assert "reject" in research_client.get(reverse("review-withdraw", args=[review.pk])).text
    page = withdraw(research_client, review)
    of_item = research_client.get(reverse("reconstruction", args=[review.reconstruction_id])).text
    for text in (page, of_item):
        assert "chip-bad" not in text
        assert ": reject" not in text
        assert "does not hold" not in text


def test_after_it_nobody_is_told_that_the_item_was_accepted(research_client: Client) -> None:
    """That there is a corpus prompt says it: neither its number nor its entries are shown."""
    review = accepted()
    prompt, item = CorpusPrompt.objects.get(), review.reconstruction_id
    address = reverse("corpus-prompt", args=[prompt.pk])

    def pages() -> list[str]:
        return [
            research_client.get(reverse("reconstruction", args=[item])).text,
            research_client.get(reverse("history")).text,
            research_client.get(reverse("history"), {"kind": "corpus prompt", "object": prompt.pk}).text,
        ]

    assert all(address in page for page in pages())
    withdraw(research_client, review)
    for page in pages():
        assert address not in page
        assert "corpus prompt " not in page.replace("corpus prompt</option>", "")
        assert "accepted" not in _without_choices(page)
    judged(review.reconstruction, "bob")
    assert all(address in page for page in pages())


def test_what_it_touched_is_shown_to_who_withdrew_it_until_the_item_is_settled_again(
    research_client: Client, client: Client
) -> None:
    review = accepted()
    of = rubric(CorpusPrompt.objects.get())
    withdraw(research_client, review)
    address, link = reverse("review-withdraw", args=[review.pk]), reverse("rubric", args=[of.pk])
    client.force_login(person("rick", Role.RESEARCHER))
    assert link in research_client.get(address).text
    page = client.get(address).text
    assert link not in page
    assert "shown once the item is settled" in page
    judged(review.reconstruction, "bob")
    assert link in client.get(address).text


def test_a_reason_is_needed(research_client: Client) -> None:
    review = accepted()
    answer = research_client.post(reverse("review-withdraw", args=[review.pk]), {"reason": "  "})
    assert answer.status_code == 422
    assert "Say why." in answer.text
    review.refresh_from_db()
    assert review.withdrawn_at is None


def test_exports_of_the_room_that_hold_the_item(research_client: Client) -> None:
    review = accepted()
    item = review.reconstruction_id
    folder = Path(settings.MEDIA_ROOT) / "exports"
    folder.mkdir(parents=True, exist_ok=True)
    for number, ids in enumerate(([item], [item + 1000])):
        made = ExportFile.objects.create(
            state="done", kind="reviews", format="jsonl", sha256=f"{item}-{number}"
        )
        lines = [{"review_id": 1, "reconstruction_id": one, "decision": "accept"} for one in ids]
        (folder / f"{made.pk}.jsonl").write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    csv = ExportFile.objects.create(state="done", kind="corpus_prompts", format="csv", sha256=f"{item}-csv")
    (folder / f"{csv.pk}.csv").write_bytes(
        f'workbench_format,corpus_prompt_id,reconstruction_id,prompt\r\n1,7,{item},"two\r\nlines"\r\n'.encode()
    )
    page = research_client.get(reverse("review-withdraw", args=[review.pk])).text
    found = [export.pk for export in ExportFile.objects.all() if f"Export {export.pk}:" in page]
    assert sorted(found) == [csv.pk - 2, csv.pk]


@pytest.mark.parametrize("method", ["get", "post"])
def test_annotators_are_kept_out(annotator_client: Client, method: str) -> None:
    review = judged(waiting_item(), "bea")
    answer = getattr(annotator_client, method)(reverse("review-withdraw", args=[review.pk]), {"reason": "x"})
    assert answer.status_code == 403
