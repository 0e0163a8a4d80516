"""How many calls may be in flight, by what a server answers and reports; and the slots that this sizes."""

from __future__ import annotations

import asyncio

from hypothesis import given
from hypothesis import strategies as st

from llm.engine.allowance import Allowance
from llm.engine.gate import ROUND_SECONDS, Gate
from llm.engine.slots import Slots
from llm.server_metrics import ServerMetrics
from llm.types import RateLimitedError


def report(running: int, waiting: int) -> ServerMetrics:
    return ServerMetrics(running=running, waiting=waiting)


def a_round(allowance: Allowance) -> None:
    for _ in range(allowance.calls):
        allowance.answered()


def test_a_refusal_halves_it_and_answers_bring_it_back_in_rounds() -> None:
    allowance = Allowance(64)
    assert (allowance.calls, allowance.reason) == (64, "")
    allowance.refused()
    assert (allowance.calls, allowance.reason) == (32, "the server asked to wait (429)")
    a_round(allowance)
    assert 35 <= allowance.calls <= 36
    for _ in range(12):
        a_round(allowance)
    assert (allowance.calls, allowance.reason) == (64, "")


def test_a_small_limit_comes_back_too() -> None:
    allowance = Allowance(2)
    allowance.refused()
    allowance.refused()
    assert allowance.calls == 1
    a_round(allowance)
    assert allowance.calls == 2


def test_a_long_queue_is_shortened_to_a_quarter_of_what_runs() -> None:
    allowance = Allowance(100)
    allowance.heard(report(running=40, waiting=60))
    assert (allowance.calls, allowance.reason) == (50, "the server reports a long queue")
    allowance.heard(report(running=40, waiting=10))
    assert allowance.calls == 50
    allowance.heard(report(running=40, waiting=0))
    assert allowance.calls == 56


def test_clients_of_one_server_give_up_the_same_share() -> None:
    one, other = Allowance(60), Allowance(40)
    for each in (one, other):
        each.heard(report(running=40, waiting=60))
    assert (one.calls, other.calls) == (30, 20)


def test_a_few_waiting_calls_and_a_silent_server_change_nothing() -> None:
    allowance = Allowance(8)
    allowance.heard(report(running=2, waiting=4))
    allowance.heard(ServerMetrics(cache_share=0.99))
    assert allowance.calls == 8


@given(
    st.integers(1, 600),
    st.lists(
        st.one_of(
            st.just("answered"),
            st.just("refused"),
            st.tuples(st.integers(0, 10_000), st.integers(0, 10_000)),
        ),
        max_size=60,
    ),
)
def test_it_stays_between_one_and_the_limit(limit: int, signs: list[object]) -> None:
    allowance = Allowance(limit)
    for sign in signs:
        if isinstance(sign, tuple):
            allowance.heard(report(*sign))
        else:
            getattr(allowance, str(sign))()
        assert 1 <= allowance.calls <= limit
        assert bool(allowance.reason) == (allowance.calls < limit)


def test_the_refusals_of_one_round_count_once() -> None:
    now = 100.0
    gate = Gate(64, lambda: now)
    for key in range(64):
        gate.failed(str(key), RateLimitedError("slow down", retry_after=0.0), 0)
    assert gate.allowance.calls == 32
    now += ROUND_SECONDS
    gate.failed("later", RateLimitedError("slow down", retry_after=30.0), 0)
    assert gate.allowance.calls == 16
    now += 29
    gate.failed("still the same", RateLimitedError("slow down", retry_after=30.0), 1)
    assert gate.allowance.calls == 16


async def test_smaller_slots_take_nothing_away_and_larger_ones_let_in_at_once() -> None:
    slots, inside, leave = Slots(3), 0, asyncio.Event()

    async def enter() -> None:
        nonlocal inside
        async with slots:
            inside += 1
            await leave.wait()
            inside -= 1

    tasks = [asyncio.create_task(enter()) for _ in range(9)]
    await asyncio.sleep(0)
    assert inside == 3
    slots.resize(1)
    await asyncio.sleep(0)
    assert inside == 3
    slots.resize(5)
    await asyncio.sleep(0.01)
    assert inside == 5
    slots.resize(2)
    leave.set()
    await asyncio.wait_for(asyncio.gather(*tasks), timeout=5)
    assert inside == 0


async def test_who_gives_up_waiting_leaves_no_slot_taken() -> None:
    slots = Slots(1)
    order: list[int] = []

    async def enter(number: int) -> None:
        async with slots:
            order.append(number)
            await asyncio.sleep(0)

    async with slots:
        tasks = [asyncio.create_task(enter(number)) for number in range(4)]
        await asyncio.sleep(0)
        tasks[0].cancel()
        await asyncio.sleep(0)
    tasks[1].cancel()  # after its turn was given to it, before it ran
    await asyncio.wait_for(asyncio.gather(*tasks, return_exceptions=True), timeout=5)
    assert order == [2, 3]
    await asyncio.wait_for(enter(9), timeout=5)
