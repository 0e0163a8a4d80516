"""The page of an endpoint: one question to the server, what it reports, and how quick it was."""

from __future__ import annotations

import http.server
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from django.test import Client
from django.urls import reverse

from llm.models import Completion, Endpoint
from llm.server_metrics import ServerMetrics, metrics_address, read_metrics
from tests.samples import completion, endpoint
from tests.simulated import SimulatedServer, simulated_server

pytestmark = pytest.mark.django_db

VLLM = """# HELP vllm:num_requests_running Number of requests in model execution batches.
# TYPE vllm:num_requests_running gauge
vllm:num_requests_running{engine="0",model_name="qwen"} 12.0
vllm:num_requests_waiting{engine="0",model_name="qwen"} 7.0
vllm:kv_cache_usage_perc{engine="0",model_name="qwen"} 0.4375
vllm:prompt_tokens_total{engine="0",model_name="qwen"} 1.234567e+06
vllm:generation_tokens_total{engine="0",model_name="qwen"} 89012.0
process_resident_memory_bytes 1.0e+09
vllm:broken_line{x="1"} NaNsense
"""


@pytest.fixture
def server() -> Iterator[SimulatedServer]:
    with simulated_server(latency=0.0) as running:
        yield running


@contextmanager
def answering(body: str, status: int = 200) -> Iterator[str]:
    """A server that gives the same text at every address."""

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(status)
            self.end_headers()
            self.wfile.write(body.encode())

        def log_message(self, *_: object) -> None:
            return

    running = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=running.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{running.server_address[1]}/v1"
    finally:
        running.shutdown()
        running.server_close()
        thread.join()


def test_the_test_button_shows_the_reply_and_its_speed(
    research_client: Client, server: SimulatedServer
) -> None:
    row = server.endpoint()
    address = reverse("endpoint-test", args=[row.pk])
    part = research_client.post(address, headers={"HX-Request": "true", "HX-Target": "probe"}).text
    assert "it answers" in part
    assert "works" in part  # the simulator keeps to the form
    assert "a second" in part
    assert "<html" not in part
    whole = research_client.post(address).text
    assert "Back to the endpoint" in whole
    assert not Completion.objects.exists()
    assert research_client.get(address).status_code == 405


def test_a_server_that_ignores_the_form_is_found_out(research_client: Client) -> None:
    answer = (
        '{"model": "m", "choices": [{"message": {"content": "A city by the sea is <b>Oslo</b>."},'
        ' "finish_reason": "stop"}], "usage": {"prompt_tokens": 9, "completion_tokens": 8}}'
    )

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["Content-Length"]))
            self.send_response(200)
            self.end_headers()
            self.wfile.write(answer.encode())

        def log_message(self, *_: object) -> None:
            return

    with http.server.HTTPServer(("127.0.0.1", 0), Handler) as running:
        thread = threading.Thread(target=running.handle_request)
        thread.start()
        address = f"http://127.0.0.1:{running.server_address[1]}/v1"
        row = Endpoint.objects.create(name="loose", base_url=address, model="m", constrained=True)
        part = research_client.post(reverse("endpoint-test", args=[row.pk])).text
        thread.join()
    assert "does not work" in part
    assert "&lt;b&gt;Oslo" in part


@pytest.mark.parametrize(
    ("address", "said"),
    [("http://127.0.0.1:9/v1", "no connection"), ("replay:calls.jsonl", "answers from a file")],
)
def test_a_server_that_does_not_answer_is_named(research_client: Client, address: str, said: str) -> None:
    row = Endpoint.objects.create(name="gone", base_url=address, model="m")
    assert said in research_client.post(reverse("endpoint-test", args=[row.pk])).text
    assert "nothing at /metrics" in research_client.get(reverse("endpoint-metrics", args=[row.pk])).text


def test_a_server_without_tokens_is_said_to_have_none(
    research_client: Client, server: SimulatedServer
) -> None:
    server.fail_next("no tokens")
    page = research_client.post(reverse("endpoint-test", args=[server.endpoint().pk])).text
    assert "answered 200 without a single token" in page


def test_what_vllm_reports_is_shown(research_client: Client) -> None:
    with answering(VLLM) as address:
        row = Endpoint.objects.create(name="vllm", base_url=address, model="m")
        part = research_client.get(
            reverse("endpoint-metrics", args=[row.pk]),
            headers={"HX-Request": "true", "HX-Target": "metrics"},
        ).text
    for shown in ("<dd>12</dd>", "<dd>7</dd>", "44%", "1,234,567", "89,012"):
        assert shown in part
    for body, status in (("<html>hello</html>", 200), (VLLM, 404)):
        with answering(body, status) as address:
            Endpoint.objects.filter(pk=row.pk).update(base_url=address)
            assert (
                "nothing at /metrics" in research_client.get(reverse("endpoint-metrics", args=[row.pk])).text
            )


def test_metrics_of_several_engines_are_added() -> None:
    twice = VLLM + VLLM.replace('engine="0"', 'engine="1"').replace("0.4375", "0.9")
    assert read_metrics(twice) == ServerMetrics(24.0, 14.0, 0.9, 2_469_134.0, 178_024.0)
    older = read_metrics("vllm:gpu_cache_usage_perc 0.5")
    assert older is not None
    assert (older.cache_share, older.running) == (0.5, None)
    assert read_metrics("") is None
    assert metrics_address("http://host/api/v1") == "http://host/api/metrics"


def test_the_page_tells_speed_by_the_latest_calls(research_client: Client) -> None:
    row = endpoint()
    page = research_client.get(reverse("endpoint", args=[row.pk])).text
    assert "By the latest" not in page
    for latency in (1_000, 2_000, 3_000, 10_000):
        call = completion()
        Completion.objects.filter(pk=call.pk).update(
            endpoint=row, latency_ms=latency, completion_tokens=latency // 50
        )
    page = research_client.get(reverse("endpoint", args=[row.pk])).text
    assert "By the latest 4 calls: half took at most <strong>3.0 s</strong>" in page
    assert "95% at most <strong>10.0 s</strong>; <strong>20.0</strong> tokens a second" in page


def test_an_endpoint_may_name_a_file_of_stored_calls(research_client: Client, tmp_path: Path) -> None:
    fields = {"name": "again", "model": "replay", "max_in_flight": "4", "timeout_seconds": "60"}
    refused = research_client.post(
        reverse("endpoint-new"), fields | {"base_url": f"replay:{tmp_path}/none.jsonl"}
    )
    assert refused.status_code == 422
    assert "There is no file" in refused.text
    path = tmp_path / "calls.jsonl"
    path.write_text("{}")
    research_client.post(reverse("endpoint-new"), fields | {"base_url": f"replay:{path}"})
    assert Endpoint.objects.get().base_url == f"replay:{path}"
