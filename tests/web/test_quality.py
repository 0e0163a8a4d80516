"""The quality page: agreement, drift, and reviews that were too fast."""

from __future__ import annotations

import re
from datetime import timedelta

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from curation.models import CurationPolicy, Reconstruction, Review
from curation.quality import agreement, pace
from curation.review import adjudicate, undo, withdraw
from curation.review.terms import AUTOMATIC_REVIEWER
from tests.reviewing import annotator, disputed_item, flagged_item, judged, waiting_item
from tests.samples import passed, person, review


def read_twice(
    first: str = "ann", second: str = "bob", decision: str = "accept", **verdicts: str
) -> Reconstruction:
    item = waiting_item(reviews=2)
    judged(item, first, decision, **verdicts)
    judged(item, second, decision, **verdicts)
    return item


@pytest.mark.django_db
def test_kappa_and_alpha_of_two_reviewers() -> None:
    """On the decision: accept-accept, reject-reject, accept-reject.

    p_o = 2/3, p_e = 2/3 * 1/3 + 1/3 * 2/3 = 4/9, kappa = (2/3 - 4/9) / (5/9) = 0.4; alpha = 4/9, as
    worked out in test_agreement.
    """
    read_twice()
    read_twice(decision="reject", task_clarity="fail", usable_length="fail")
    disputed_item()
    found = agreement()
    decision, clarity, *others = found.rows
    assert decision.label == "Decision"
    assert decision.kappa is not None
    assert decision.kappa.value == pytest.approx(0.4)
    assert decision.alpha.value == pytest.approx(4 / 9)
    assert clarity.alpha.value == pytest.approx(4 / 9)
    assert [row.alpha.value for row in others[:3]] == [None] * 3
    assert all("every rating is the same" in row.alpha.reason for row in others[:3])
    assert (decision.same.count, decision.same.n) == (2, 3)
    (pair,) = found.pairs
    assert (pair.first, pair.second, pair.n) == ("ann", "bob", 3)
    assert [each.n for each in pair.kappas] == [3] * 6


@pytest.mark.django_db
def test_more_than_two_reviewers_have_alpha_and_a_kappa_for_each_pair() -> None:
    read_twice("ann", "bob")
    read_twice("bob", "carl", "reject", task_clarity="fail")
    disputed_item("carl", "ann")
    found = agreement()
    assert all(row.kappa is None for row in found.rows)
    assert found.rows[0].alpha.n == 3
    assert {(pair.first, pair.second) for pair in found.pairs} == {
        ("ann", "bob"),
        ("ann", "carl"),
        ("bob", "carl"),
    }


@pytest.mark.django_db
def test_only_standing_independent_reviews_of_people_on_settled_items_count() -> None:
    assert agreement().rows[0].alpha.reason == "no item was rated by two raters"
    open_item = waiting_item(reviews=2)
    judged(open_item, "ann", "reject", task_clarity="fail")
    flagged_item("carl")
    judged(waiting_item(), "dora")
    item = read_twice("eve", "finn")
    review(item, person(AUTOMATIC_REVIEWER), "reject", automatic=True)
    gone = review(item, annotator("gus"), "reject")
    Review.objects.filter(pk=gone.pk).update(withdrawn_at=timezone.now(), withdrawn_by=annotator("ann"))
    settled = disputed_item("hal", "ida")
    adjudicate(
        adjudicator=annotator("judge"),
        reconstruction_id=settled.pk,
        decision="accept",
        verdicts=passed(),
        reason="Fine",
    )
    found = agreement()
    assert found.rows[0].alpha.n == 2
    assert {(pair.first, pair.second) for pair in found.pairs} == {("eve", "finn"), ("hal", "ida")}
    assert {reviewer.name for reviewer in pace().reviewers} == {"dora", "eve", "finn", "hal", "ida"}


def test_undefined_says_why_on_the_page(research_client: Client) -> None:
    page = research_client.get(reverse("quality")).text
    assert page.count(">undefined<") == 6
    assert "no item was rated by two raters" in page
    assert "No settled item was read by two reviewers yet" in page
    read_twice()
    page = research_client.get(reverse("quality")).text
    assert "every rating is the same" in page
    assert "1.000" not in page
    assert "0.000" not in page


def test_the_page_shows_value_and_interval(research_client: Client) -> None:
    for _ in range(6):
        read_twice()
    for _ in range(6):
        read_twice(decision="reject", task_clarity="fail", usable_length="fail")
    disputed_item()
    page = research_client.get(reverse("quality")).text
    value, low, high = re.search(
        r"<strong>([\d.]+)</strong>\s*<span class=\"others\">\[([\d.]+), ([\d.]+)\]", page
    ).groups()  # type: ignore[union-attr]
    assert float(low) < float(value) <= float(high) <= 1


def test_every_pair_has_an_interval_and_its_n(research_client: Client) -> None:
    for first, second in (("ann", "bob"), ("bob", "carl"), ("ann", "carl")):
        for _ in range(6):
            read_twice(first, second)
        for _ in range(6):
            read_twice(first, second, "reject", task_clarity="fail", usable_length="fail")
        disputed_item(first, second)
    for pair in agreement().pairs:
        decision = pair.kappas[0]
        assert decision.n == pair.n == 13
        assert decision.interval is not None
        assert decision.value is not None
        assert decision.interval.low <= decision.value <= decision.interval.high
    page = research_client.get(reverse("quality")).text
    pairs = page[page.index('id="pairs"') : page.index('id="drift"')]
    defined = re.findall(r"<strong>[\d.]+</strong> <span class=\"others\">([^<]+)</span>", pairs)
    assert len(defined) == 9, "the decision and two checks of three pairs; the other checks are undefined"
    assert all(re.fullmatch(r"\[[\d.]+, [\d.]+\]; n 13", each) for each in defined)


def test_a_researcher_who_read_an_item_after_a_withdrawal_stays_out_of_agreement(
    research_client: Client, researcher: User
) -> None:
    seen, fresh = disputed_item("ann", "bob"), read_twice("ann", "bob")
    withdraw(review_id=seen.reviews.get(reviewer__username="bob").pk, by=researcher, reason="Unsure of it")
    judged(seen, "rosa")
    assert seen.state == "accepted"
    found = agreement()
    assert (found.rows[0].alpha.n, found.not_blind) == (1, 1)
    assert [(pair.first, pair.second) for pair in found.pairs] == [("ann", "bob")]
    assert "Left out is 1 item that a researcher has read" in research_client.get(reverse("quality")).text
    withdraw(review_id=fresh.reviews.get(reviewer__username="bob").pk, by=researcher, reason="Once more")
    judged(fresh, "carl")
    assert agreement().rows[0].alpha.n == 1, "an annotator sees nothing of what was withdrawn"


def test_what_a_researcher_undid_while_nobody_saw_it_still_counts(researcher: User) -> None:
    item = waiting_item(reviews=2)
    judged(item, "rosa")
    undo(reviewer=researcher)
    judged(item, "rosa", "reject", task_clarity="fail")
    judged(item, "bob")
    assert (agreement().rows[0].alpha.n, agreement().not_blind) == (1, 0)


def drift_of(client: Client, name: str, following: str) -> str:
    """What the page says of one reviewer."""
    page = client.get(reverse("quality")).text
    drift = page[page.index('id="drift"') :]
    return drift[
        drift.index(f"<bdi>{name}</bdi>") : drift.index(following, drift.index(f"<bdi>{name}</bdi>"))
    ]


def thirds_of(section: str, judgement: str) -> list[str]:
    """The cells of a judgement, the first third's first."""
    row = section[section.index(f">{judgement}</td>") :]
    return re.findall(r'third" class="number">(.*?)</td>', row[: row.index("</tr>")], re.DOTALL)


def test_drift_is_shown_beside_the_others(research_client: Client) -> None:
    start = timezone.now() - timedelta(days=1)
    for number in range(6):
        decision, verdict = ("accept", "pass") if number < 2 else ("reject", "fail")
        made = judged(waiting_item(), "ann", decision, task_clarity=verdict)
        other = judged(waiting_item(), "bob")
        for each in (made, other):
            Review.objects.filter(pk=each.pk).update(created_at=start + timedelta(minutes=number))
    own = drift_of(research_client, "ann", "bob")
    accepted = thirds_of(own, "Accepted")
    assert [re.findall(r"<strong>(\d+%)</strong>", cell) for cell in accepted] == [["100%"], ["0%"], ["0%"]]
    assert [re.findall(r"others (\d+%)", cell) for cell in accepted] == [["100%"]] * 3
    assert "Nothing lies farther from the others" in own
    assert "chip" not in own, "two reviews a third are too few to say"


def test_drift_beyond_chance_is_marked_in_words(research_client: Client) -> None:
    """Of six reviews a third, the latest accepts none where the others accept all: 0/6 against 6/6."""
    start = timezone.now() - timedelta(days=1)
    for number in range(18):
        decision, verdict = ("accept", "pass") if number < 12 else ("reject", "fail")
        made = judged(waiting_item(), "ann", decision, task_clarity=verdict)
        other = judged(waiting_item(), "bob")
        for each in (made, other):
            Review.objects.filter(pk=each.pk).update(created_at=start + timedelta(minutes=number))
    own = drift_of(research_client, "ann", "bob")
    accepted = thirds_of(own, "Accepted")
    assert ["below the others" in cell for cell in accepted] == [False, False, True]
    assert ["fallen" in cell for cell in accepted] == [False, False, True]
    assert "chip-warn" in accepted[2]
    assert re.search(r"others 100%: −100 \[−100, −\d+\]", accepted[2])
    assert accepted[2].count("[") == 3, "the share, the difference and the change each have an interval"
    assert "<strong>2</strong> shares below lie farther" in own, "what is accepted, and task clarity"
    assert ["fallen" in cell for cell in thirds_of(own, "Task clarity: passed")] == [False, False, True]
    assert not any("chip" in cell for cell in thirds_of(own, "Contextual coherence: passed"))
    other = drift_of(research_client, "bob", 'id="fast"')
    assert "above the others" in other
    assert "fallen" not in other


def test_too_fast_by_the_policy_of_the_moment(research_client: Client) -> None:
    quick, slow = waiting_item(), waiting_item()
    judged(quick, "ann", seconds=0.5)
    judged(slow, "ann", seconds=600.0)
    page = research_client.get(reverse("quality")).text
    assert "1 of 2 is." in page
    assert reverse("reconstruction", args=[quick.pk]) in page
    assert reverse("reconstruction", args=[slow.pk]) not in page
    assert "1 (50%)" in page
    CurationPolicy.objects.update(fastest_characters_per_second=100_000)
    assert "0 of 2 are." in research_client.get(reverse("quality")).text


def test_annotators_are_kept_out(annotator_client: Client) -> None:
    assert annotator_client.get(reverse("quality")).status_code == 403
