"""Runs and endpoints: what their pages say, and what their buttons do."""

from __future__ import annotations

import uuid
from datetime import timedelta

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from curation.models import Reconstruction
from curation.reconstruction import plan_strategies
from llm.models import Endpoint, Run, RunTick, RunWorker
from llm.selectors import CHART_HEIGHT, CHART_WIDTH, run_chart, run_failures, run_progress
from rubrics.construction import PAPER_BOUNDS
from rubrics.models import Rubric
from tests.samples import (
    candidate,
    completion,
    corpus_prompt,
    endpoint,
    reconstruction,
    rubric,
    run_with_items,
    source,
    source_prompt,
)

pytestmark = pytest.mark.django_db


def tick(run: Run, second: float, calls: int, in_flight: int = 4) -> None:
    RunTick.objects.create(
        run=run,
        at=timezone.now().replace(microsecond=0) - timedelta(hours=1) + timedelta(seconds=second),
        seconds=2,
        in_flight=in_flight,
        calls=calls,
        completion_tokens=0,
    )


def test_progress_adds_up_and_expects_an_end() -> None:
    run = run_with_items(done=6, failed=2, leased=3, pending=9)
    progress = run_progress(run)
    assert (progress.done, progress.failed, progress.leased, progress.pending) == (6, 2, 3, 9)
    assert progress.ended + progress.left == progress.total == 20
    assert progress.items_rate == pytest.approx(8 / 60, rel=0.01)
    assert progress.expected_end is not None
    wait = (progress.expected_end - timezone.now()).total_seconds()
    assert wait == pytest.approx(12 / (8 / 60), rel=0.02)
    assert [segment.width for segment in progress.segments] == ["30.000", "10.000", "15.000"]
    assert progress.segments[2].start == "40.000"


def test_a_run_without_items_or_start_has_no_rates() -> None:
    progress = run_progress(Run.objects.create(kind="mine"))
    assert (progress.items_rate, progress.expected_end, progress.total) == (None, None, 0)
    assert progress.segments[0].width == "0.000"


def test_a_steady_worker_is_a_flat_line() -> None:
    run = run_with_items(done=1)
    for number in range(60):
        tick(run, 2 * number, calls=6)
    chart = run_chart(run)
    assert chart is not None
    assert chart.rate.top == pytest.approx(3.0)
    assert chart.in_flight.top == pytest.approx(4.0)
    heights = {point.split(",")[1] for point in chart.rate.points.split()}
    assert heights == {"0.0"}
    first, last = chart.rate.points.split()[0], chart.rate.points.split()[-1]
    assert float(first.split(",")[0]) == 0
    assert float(last.split(",")[0]) == CHART_WIDTH


def test_two_workers_add_up_and_a_pause_is_a_gap() -> None:
    run = run_with_items(done=1)
    for number in range(40):
        for _ in range(2):
            tick(run, 2 * number, calls=6)
    for number in range(40):
        tick(run, 400 + 2 * number, calls=6)
    chart = run_chart(run)
    assert chart is not None
    assert chart.rate.top == pytest.approx(6.0)
    assert chart.rate.last == pytest.approx(3.0)
    assert any(float(point.split(",")[1]) == CHART_HEIGHT for point in chart.rate.points.split())
    assert len(chart.rate.points.split()) <= 121


def test_failures_are_grouped_with_an_example() -> None:
    run = run_with_items(failed=3)
    run.items.filter(subject_id=3).update(error_kind="refused", error_message="400: too long")
    kinds = run_failures(run)
    assert [(each.kind, each.count, each.example.subject_id) for each in kinds] == [
        ("timeout", 2, 1),
        ("refused", 1, 3),
    ]


def test_the_page_of_a_run_is_live_only_while_it_runs(research_client: Client) -> None:
    run = run_with_items(done=2, failed=1, pending=4)
    address = reverse("run", args=[run.pk])
    page = research_client.get(address).text
    assert 'hx-trigger="every 3s"' in page
    assert "3 of 7 items ended" in page
    assert "No worker is on it yet" in page
    part = research_client.get(address, headers={"HX-Request": "true", "HX-Target": "live"}).text
    assert part.strip().startswith('<div id="live"')
    assert "Items" not in part
    Run.objects.update(state="done", finished_at=timezone.now())
    assert "every 3s" not in research_client.get(address).text


def test_the_page_says_what_holds_the_calls_back(research_client: Client) -> None:
    run = run_with_items(done=2, failed=1, pending=4)
    seen = timezone.now()
    for allowed, because in ((3, "the server asked to wait (429)"), (1, "")):
        RunWorker.objects.create(
            id=uuid.uuid4(), run=run, last_seen_at=seen, allowed=allowed, held_because=because
        )
    page = research_client.get(reverse("run", args=[run.pk])).text
    assert "At most 4 calls at once for now: the server asked to wait (429)." in page
    RunWorker.objects.update(held_because="")
    assert "calls at once for now" not in research_client.get(reverse("run", args=[run.pk])).text


def test_items_are_filtered_and_lead_to_their_subjects(research_client: Client) -> None:
    of = rubric()
    subjects = {
        "reconstruct": (reconstruction().pk, "reconstruction"),
        "filter": (reconstruction().pk, "reconstruction"),
        "mine": (corpus_prompt().pk, "corpus-prompt"),
        "write": (of.pk, "rubric"),
        "assess": (candidate(of).pk, "candidate"),
        "select": (of.pk, "rubric"),
    }
    for kind, (subject, page) in subjects.items():
        run = run_with_items(kind=kind, done=1, failed=1)
        run.items.filter(state="done").update(subject_id=subject + 1_000)
        run.items.filter(state="failed").update(subject_id=subject)
        shown = research_client.get(reverse("run", args=[run.pk]), {"state": "failed"}).text
        assert f'href="{reverse(page, args=[subject])}"' in shown
        assert shown.count('<td data-label="Subject">') == 1
        assert research_client.get(reverse(page, args=[subject])).status_code == 200


def test_pause_go_on_cancel(research_client: Client) -> None:
    run = run_with_items(pending=3)

    def press(action: str) -> str:
        answer = research_client.post(reverse(f"run-{action}", args=[run.pk]), follow=True)
        run.refresh_from_db()
        return answer.text

    assert "is paused." in press("pause")
    assert run.state == "paused"
    assert "nothing changed" in press("pause")
    assert "goes on." in press("continue")
    assert run.state == "running"
    assert "is cancelled." in press("cancel")
    assert "nothing changed" in press("continue")
    assert run.state == "cancelled"


def test_a_cancelling_button_names_what_it_does(research_client: Client) -> None:
    run = run_with_items(done=1, pending=3)
    page = research_client.get(reverse("run", args=[run.pk])).text
    assert f"Cancel run {run.pk} for good? 3 items will stay undone." in page


def test_retrying_one_kind_leaves_the_others(research_client: Client) -> None:
    run = run_with_items(state="done", failed=3)
    run.items.filter(subject_id=3).update(error_kind="refused")
    address = reverse("run-retry", args=[run.pk])
    assert "2 failed items" in research_client.post(address, {"kind": "timeout"}, follow=True).text
    assert list(run.items.filter(state="failed").values_list("error_kind", flat=True)) == ["refused"]
    assert "no such failed items" in research_client.post(address, {"kind": "timeout"}, follow=True).text
    assert "1 failed item of" in research_client.post(address, follow=True).text


def test_starting_a_run_needs_what_its_stage_needs(research_client: Client) -> None:
    address = reverse("run-start")
    assert research_client.post(address, {}).status_code == 422
    answer = research_client.post(address, {"stage": "mine", "limit": "5"})
    assert answer.status_code == 422
    assert "choose an endpoint" in answer.text
    assert 'value="mine" required checked' in answer.text
    corpus_prompt()
    answer = research_client.post(address, {"stage": "mine", "endpoint": endpoint().pk, "limit": "5"})
    run = Run.objects.get()
    assert answer["Location"] == reverse("run", args=[run.pk])
    assert (run.kind, run.total, run.parameters["limit"]) == ("mine", 1, 5)
    assert (run.parameters["method"], run.parameters["bounds"]) == ("irg", PAPER_BOUNDS.to_json())
    assert run.created_by.username == "rosa"  # type: ignore[union-attr]
    answer = research_client.post(address, {"stage": "filter"}, follow=True)
    assert "Nothing waits for this stage" in answer.text


def test_the_page_plans_as_many_as_it_is_told_of_one_source(research_client: Client) -> None:
    wanted = source_prompt(source=source("wanted"))
    source_prompt(source=source("other"))
    address = reverse("run-start")
    plan = {"per_source": "3", "seed": "7", "source": wanted.source_id}
    asked = {"stage": "reconstruct", "endpoint": endpoint().pk, **plan}
    research_client.post(address, asked)
    run = Run.objects.get()
    assert run.parameters == {"per_source": 3, "seed": 7, "limit": None, "source": "wanted"}
    made = Reconstruction.objects.order_by("index").values_list("source_prompt", "index", "strategy")
    again = plan_strategies([wanted.pk], 3, 7)
    assert list(made) == [(wanted.pk, each.index, each.strategy) for each in again]


def test_topping_up_from_the_page_adds_what_is_missing_and_no_more(research_client: Client) -> None:
    for _ in range(3):
        source_prompt()
    address = reverse("run-start")
    asked = {"stage": "reconstruct", "endpoint": endpoint().pk}
    research_client.post(address, asked)
    Reconstruction.objects.update(state="accepted")
    shown = research_client.post(address, {"preview": "1", "per_source": "2"}).text
    assert "<strong>3</strong> source prompts, <strong>3</strong> reconstructions there already" in shown
    assert "<strong>3</strong> new" in shown
    research_client.post(address, asked | {"per_source": "2"})
    research_client.post(address, asked | {"per_source": "2"})
    assert Reconstruction.objects.count() == 6
    assert list(Run.objects.order_by("pk").values_list("total", flat=True)) == [3, 3, 0]
    Reconstruction.objects.update(state="accepted")
    met = research_client.post(address, {"preview": "1", "per_source": "2"}).text
    assert "The plan is met: nothing would be added." in met


def test_a_preview_starts_nothing_and_keeps_what_is_filled_in(research_client: Client) -> None:
    source_prompt()
    address, own = reverse("run-start"), source("requests").pk
    asked = {"preview": "1", "stage": "reconstruct", "per_source": "4", "source": own, "seed": "11"}
    answer = research_client.post(address, asked)
    assert (answer.status_code, Run.objects.exists(), Reconstruction.objects.exists()) == (200, False, False)
    assert "<strong>4</strong> new" in answer.text
    for kept in (
        'value="reconstruct" required checked',
        'name="per_source" value="4"',
        f'<option value="{own}" selected>',
        'name="seed" value="11"',
    ):
        assert kept in answer.text
    part = research_client.post(address, asked, headers={"HX-Request": "true", "HX-Target": "start"}).text
    assert part.strip().startswith('<form method="post" id="start"')
    assert "<strong>4</strong> new" in part
    wrong = research_client.post(address, {"preview": "1", "per_source": "101"})
    assert wrong.status_code == 422
    assert "less than or equal to 100" in wrong.text


def test_planned_ones_are_told_apart_and_a_place_without_prompts_says_so(research_client: Client) -> None:
    reconstruction("planned")
    address = reverse("run-start")
    shown = research_client.post(address, {"preview": "1"}).text
    assert "1 of those there is not written yet and will be" in shown
    nothing = research_client.post(address, {"preview": "1", "source": source("empty").pk}).text
    assert "There is no usable source prompt here" in nothing


def test_the_page_mines_by_the_method_and_within_the_bounds_it_is_told(research_client: Client) -> None:
    corpus_prompt()
    address = reverse("run-start")
    asked = {"stage": "mine", "endpoint": endpoint().pk, "method": "drg", "max_consolidated": "6"}
    wrong = research_client.post(address, asked | {"min_dimensions": "7"})
    assert wrong.status_code == 422
    told = "“Scored dimensions of a rubric, at least” is larger than “Dimensions kept, at most”, 6."
    assert f"No rubric could meet these bounds: {told}" in wrong.text
    assert '<details class="section" open>' in wrong.text
    assert '<option value="drg" selected>' in wrong.text
    research_client.post(address, asked | {"min_dimensions": ""})
    parameters = Run.objects.get().parameters
    assert parameters["method"] == "drg"
    assert parameters["bounds"] == PAPER_BOUNDS.to_json() | {"max_consolidated": 6}


def test_candidates_are_written_for_the_rubrics_of_the_method_that_is_chosen(research_client: Client) -> None:
    of = rubric()
    Rubric.objects.filter(pk=of.pk).update(method="human")
    address, asked = reverse("run-start"), {"endpoint": endpoint().pk, "method": "human"}
    refused = research_client.post(address, asked | {"stage": "mine"})
    assert refused.status_code == 422
    assert "A run cannot make rubrics by people" in refused.text
    research_client.post(address, asked | {"stage": "write", "method": "irg"})
    research_client.post(address, asked | {"stage": "write"})
    assert list(Run.objects.order_by("pk").values_list("total", flat=True)) == [0, 1]


def test_the_settings_of_a_plan_are_not_given_to_other_stages(research_client: Client) -> None:
    reconstruction("rewritten")
    research_client.post(reverse("run-start"), {"stage": "filter", "per_source": "5", "seed": "3"})
    assert set(Run.objects.get().parameters) == {"limit", "screening_samples"}


def test_an_endpoint_is_made_changed_and_never_shows_a_key(
    research_client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    fields = {
        "name": "judge",
        "base_url": "http://10.0.0.1:8000/v1/",
        "model": "Qwen/Qwen3-32B",
        "api_key_env": "JUDGE_KEY",
        "max_in_flight": "16",
        "timeout_seconds": "300",
        "extra_body": '{"chat_template_kwargs": {"enable_thinking": false}}',
    }
    answer = research_client.post(reverse("endpoint-new"), fields)
    made = Endpoint.objects.get()
    assert answer["Location"] == reverse("endpoint", args=[made.pk])
    assert made.base_url == "http://10.0.0.1:8000/v1"
    assert made.extra_body == {"chat_template_kwargs": {"enable_thinking": False}}
    assert "not set here" in research_client.get(reverse("endpoint", args=[made.pk])).text
    monkeypatch.setenv("JUDGE_KEY", "sk-very-secret")
    for name in ("endpoint", "endpoint-edit"):
        page = research_client.get(reverse(name, args=[made.pk])).text
        assert "sk-very-secret" not in page
        assert "JUDGE_KEY" in page
    changed = {**fields, "constrained": "on"}
    research_client.post(reverse("endpoint-edit", args=[made.pk]), changed)
    made.refresh_from_db()
    assert made.constrained


@pytest.mark.parametrize(
    ("field", "value", "message"),
    [
        ("base_url", "ftp://x", "http://"),
        ("api_key_env", "sk-abc 123", "not the key itself"),
        ("extra_body", "[1]", "JSON object"),
        ("extra_body", "{", "Enter a valid JSON"),
        ("max_in_flight", "0", "At least one"),
        ("name", "writer", "already exists"),
    ],
)
def test_a_wrong_endpoint_keeps_its_input(
    research_client: Client, field: str, value: str, message: str
) -> None:
    endpoint("writer")
    fields = {"name": "new", "base_url": "http://x/v1", "model": "m", "max_in_flight": "4"}
    fields |= {"timeout_seconds": "60", "extra_body": "{}", field: value}
    answer = research_client.post(reverse("endpoint-new"), fields)
    assert answer.status_code == 422
    assert message in answer.text
    assert Endpoint.objects.count() == 1


def test_a_call_shows_what_was_asked_and_answered(research_client: Client) -> None:
    call = completion(text="<think>no</think> yes")
    page = research_client.get(reverse("call", args=[call.key])).text
    for text in ("a question", "&lt;think&gt;no&lt;/think&gt; yes", "temperature 0.7", "test-model-2026"):
        assert text in page


def test_the_page_judges_by_the_policy_and_as_often_as_it_is_told(research_client: Client) -> None:
    candidate(rubric())
    model = endpoint()
    asked = {"stage": "assess", "endpoint": model.pk, "policy": "checked", "samples": "3"}
    research_client.post(reverse("run-start"), asked)
    run = Run.objects.get(kind="assess", total=1)
    assert (run.parameters["policy"], run.parameters["samples"]) == ("checked", 3)
    for wrong in ({"policy": "lenient"}, {"samples": "21"}):
        page = research_client.post(reverse("run-start"), asked | wrong)
        assert page.status_code == 422


def test_other_methods_and_judges_may_work_on_what_waits_in_a_run(research_client: Client) -> None:
    prompt = corpus_prompt()
    candidate(rubric())
    one, other = endpoint(), Endpoint.objects.create(name="other", base_url="http://other/v1", model="m")
    for stage, model, more in (
        ("mine", one, {"method": "irg"}),
        ("mine", one, {"method": "drg"}),
        ("mine", other, {"method": "irg"}),
        ("mine", one, {"method": "irg"}),
        ("assess", one, {}),
        ("assess", other, {}),
        ("assess", other, {}),
    ):
        research_client.post(reverse("run-start"), {"stage": stage, "endpoint": model.pk, **more})
    mined = [
        prompt.pk in run.items.values_list("subject_id", flat=True)
        for run in Run.objects.filter(kind="mine").order_by("pk")
    ]
    assert mined == [True, True, True, False]
    assert list(Run.objects.filter(kind="assess").order_by("pk").values_list("total", flat=True)) == [1, 1, 0]


def test_limits_are_set_on_the_page_of_a_run(research_client: Client) -> None:
    run = run_with_items(done=2, pending=8)
    address = reverse("run-limit", args=[run.pk])
    research_client.post(address, {"max_calls": "500", "max_tokens": ""})
    run.refresh_from_db()
    assert (run.max_calls, run.max_tokens) == (500, None)
    page = research_client.post(address, {"max_calls": "-1"}, follow=True).text
    assert "The limits stay as they were. Calls, at most:" in page
    run.refresh_from_db()
    assert run.max_calls == 500
    assert "<dt>Calls, at most</dt><dd>500</dd>" in page


def test_a_run_is_started_again_from_its_page(research_client: Client) -> None:
    run = run_with_items(done=3, failed=2)
    Run.objects.filter(pk=run.pk).update(state=Run.State.DONE)
    research_client.post(reverse("run-clone", args=[run.pk]), {"failed": "1"})
    research_client.post(reverse("run-clone", args=[run.pk]))
    totals = Run.objects.exclude(pk=run.pk).order_by("pk").values_list("total", flat=True)
    assert list(totals) == [2, 5 - 2]  # the two that failed wait in the first already


def test_the_page_says_what_the_rest_will_cost(research_client: Client) -> None:
    run = run_with_items(done=10, pending=90)
    Run.objects.filter(pk=run.pk).update(
        endpoint=endpoint(), calls=20, prompt_tokens=1_000, completion_tokens=500
    )
    page = research_client.get(reverse("run", args=[run.pk])).text
    assert "For the 90 items left: about <strong>180</strong> calls" in page
    assert "if they are like the 10 that ended" in page


def test_a_run_is_started_with_a_pilot_and_limits(research_client: Client) -> None:
    corpus_prompt()
    asked = {"stage": "mine", "endpoint": endpoint().pk, "pilot_items": "20", "max_calls": "900"}
    research_client.post(reverse("run-start"), asked)
    run = Run.objects.get(total=1)
    assert (run.pilot_items, run.max_calls, run.max_tokens) == (20, 900, None)
    wrong = research_client.post(reverse("run-start"), asked | {"pilot_items": "0"})
    assert wrong.status_code == 422
