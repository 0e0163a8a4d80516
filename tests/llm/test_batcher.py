"""Group commit."""

import asyncio
from collections.abc import Sequence

import pytest

from llm.engine.batcher import Batcher


async def test_each_caller_gets_its_own_answer_and_batches_form() -> None:
    sizes: list[int] = []

    async def double(values: Sequence[int]) -> list[int | BaseException]:
        sizes.append(len(values))
        await asyncio.sleep(0.01)
        return [value * 2 for value in values]

    batcher: Batcher[int, int] = Batcher(double, linger=0.001, largest=16)
    answers = await asyncio.gather(*(batcher.submit(n) for n in range(50)))
    assert answers == [n * 2 for n in range(50)]
    assert max(sizes) == 16
    assert sum(sizes) == 50


async def test_batches_that_take_long_are_spaced_and_a_full_one_does_not_wait() -> None:
    begun: list[tuple[float, int]] = []
    loop = asyncio.get_running_loop()

    async def handle(values: Sequence[int]) -> list[int | BaseException]:
        begun.append((loop.time(), len(values)))
        await asyncio.sleep(0.01)
        return list(values)

    batcher: Batcher[int, int] = Batcher(handle, linger=0.001, largest=8)
    for group in (1, 3, 8):
        await asyncio.gather(*(batcher.submit(n) for n in range(group)))
    (first, _), (second, _), (third, _) = begun
    assert [size for _, size in begun] == [1, 3, 8]
    assert second - first >= 0.19  # twenty times what the first one took, at most a quarter of a second
    assert third - second < second - first


async def test_a_failed_value_fails_alone_and_a_failed_batch_fails_together() -> None:
    async def handle(values: Sequence[str]) -> list[str | BaseException]:
        if "all" in values:
            raise RuntimeError("the whole batch")
        return [ValueError(value) if value == "bad" else value for value in values]

    batcher: Batcher[str, str] = Batcher(handle, linger=0.001)
    outcomes = await asyncio.gather(batcher.submit("good"), batcher.submit("bad"), return_exceptions=True)
    assert outcomes[0] == "good"
    assert isinstance(outcomes[1], ValueError)
    with pytest.raises(RuntimeError, match="the whole batch"):
        await batcher.submit("all")
    assert await batcher.submit("after") == "after"
