"""When the gate waits, gives up an item, and closes for everyone."""

import asyncio

import pytest

from llm.engine.gate import GIVE_UP_SECONDS, MAX_SLOW_TRIES, MAX_TRIES, OUTAGE_SECONDS, Gate, HeldBackError
from llm.types import (
    EndpointError,
    RateLimitedError,
    RefusedError,
    RetryableError,
    SlowAnswerError,
    UnreachableError,
)


class Clock:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


def test_a_refusal_is_final_at_once() -> None:
    with pytest.raises(RefusedError):
        Gate(1).failed("k", RefusedError("context too long"), 0)


def test_a_server_error_is_tried_again_and_then_fails_its_item_only() -> None:
    clock = Clock()
    gate = Gate(1, clock)
    delays = []
    for tries in range(MAX_TRIES - 1):
        delays.append(gate.failed("poison", RetryableError("500"), tries))
        clock.now += GIVE_UP_SECONDS
    with pytest.raises(RetryableError):
        gate.failed("poison", RetryableError("500"), MAX_TRIES - 1)
    assert delays == sorted(delays)
    assert not gate.closed


def test_nothing_but_failures_for_many_calls_closes_the_gate_with_the_reason() -> None:
    clock = Clock()
    gate = Gate(3, clock)
    for key in "ab":
        gate.failed(key, RetryableError("502"), 0)
    clock.now += GIVE_UP_SECONDS
    with pytest.raises(HeldBackError):
        gate.failed("c", RetryableError("502"), 0)
    assert gate.closed
    assert "502" in gate.closed_because


def test_an_answer_in_between_keeps_the_gate_open() -> None:
    clock = Clock()
    gate = Gate(3, clock)
    for key in "ab":
        gate.failed(key, RetryableError("502"), 0)
    clock.now += GIVE_UP_SECONDS
    gate.answered()
    gate.failed("c", RetryableError("502"), 0)
    assert not gate.closed


def test_a_server_nobody_reaches_closes_the_gate_even_for_one_call() -> None:
    clock = Clock()
    gate = Gate(1, clock)
    gate.failed("only", UnreachableError("refused"), 0)
    clock.now += GIVE_UP_SECONDS
    with pytest.raises(HeldBackError):
        gate.failed("only", UnreachableError("refused"), 1)


def test_in_an_outage_no_item_fails_for_its_tries() -> None:
    clock = Clock()
    gate = Gate(3, clock)
    for tries in range(2 * MAX_TRIES):
        for key in "abc":
            gate.failed(key, UnreachableError("refused"), tries)
        clock.now += OUTAGE_SECONDS
    assert not gate.closed


def test_a_wrong_key_closes_the_gate_at_once() -> None:
    gate = Gate(1)
    with pytest.raises(HeldBackError):
        gate.failed("k", EndpointError("401"), 0)
    assert gate.closed_because == "401"


def test_a_slow_call_is_not_tried_for_ever() -> None:
    gate = Gate(1)
    gate.failed("k", SlowAnswerError("slow"), 0)
    with pytest.raises(SlowAnswerError):
        gate.failed("k", SlowAnswerError("slow"), MAX_SLOW_TRIES - 1)


def test_a_429_waits_as_asked_however_often() -> None:
    gate = Gate(1)
    for tries in range(3 * MAX_TRIES):
        assert gate.failed("k", RateLimitedError("slow down", retry_after=7.0), tries) == 7.0
    assert "429" in gate.notice
    assert not gate.closed


async def test_a_429_holds_back_every_other_call_too() -> None:
    gate = Gate(2)
    gate.failed("k", RateLimitedError("slow down", retry_after=0.2), 0)
    started = asyncio.get_running_loop().time()
    async with gate.slot():
        waited = asyncio.get_running_loop().time() - started
    assert waited >= 0.19


async def test_a_closed_gate_lets_nobody_in_and_wakes_who_waits() -> None:
    gate = Gate(1)
    gate.failed("k", RateLimitedError("slow down", retry_after=60.0), 0)

    async def enter() -> None:
        async with gate.slot():
            pytest.fail("entered a closed gate")

    waiting = asyncio.create_task(enter())
    await asyncio.sleep(0.01)
    gate.close()
    with pytest.raises(HeldBackError):
        await asyncio.wait_for(waiting, timeout=1)


async def test_no_more_calls_at_once_than_the_limit() -> None:
    gate = Gate(3)
    most = 0

    async def call() -> None:
        nonlocal most
        async with gate.slot():
            most = max(most, gate.in_flight)
            await asyncio.sleep(0.001)

    await asyncio.gather(*(call() for _ in range(20)))
    assert most == 3
    assert gate.in_flight == 0


def test_slow_calls_do_not_stop_a_server_that_answers_others() -> None:
    clock = Clock()
    gate = Gate(5, clock)
    clock.now += 600
    gate.answered()
    clock.now += 5
    for key in "abcd":
        gate.failed(key, SlowAnswerError("slow", waited=600.0), 0)
    assert not gate.closed
    clock.now += 600
    with pytest.raises(HeldBackError):
        gate.failed("e", SlowAnswerError("slow", waited=600.0), 0)
