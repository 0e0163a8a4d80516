"""An OpenAI-compatible server that answers after some time, for tests and measurements without a model.

A request that carries a structure gets text that matches it; any other gets words of the length asked for.
The same request gets the same answer. `/stats` tells how many calls came in and how many differed;
`/faults` sets what the next calls get instead of an answer; `/metrics` tells of its queue as vLLM does.

    python -m benchmarks.simulator --port 0 --latency 1.0
"""

from __future__ import annotations

import argparse
import asyncio
import dataclasses
import hashlib
import json
import math
import random
import re._parser as re_parser  # type: ignore[import-not-found]
import string
import sys
from collections import Counter, deque
from collections.abc import Iterator
from typing import Any

from aiohttp import web

# fmt: off
WORDS = (
    "harbour", "lantern", "winter", "letter", "promise", "garden", "river", "market", "teacher",
    "window", "bread", "signal", "morning", "committee", "budget", "village", "orchard", "journey",
    "silence", "kitchen", "harvest", "bridge", "neighbour", "archive",
)
# fmt: on

LETTERS = string.ascii_lowercase


@dataclasses.dataclass(frozen=True)
class Manner:
    """How a server behaves.

    `latency` is the median of seconds until an answer, `spread` the sigma of its lognormal distribution (an
    answer's length goes with it), `words` the median length of an answer without structure. `capacity` calls
    are worked on at once and further ones wait; beyond `bears` calls at once it answers 429. Of all calls a
    share of `errors` gets a 500 and a share of `hangs` never an answer.
    """

    latency: float = 1.0
    spread: float = 0.0
    words: int = 250
    capacity: int = 100_000
    bears: int = 100_000
    errors: float = 0.0
    hangs: float = 0.0


class Simulator:
    """State of one server. `faults` is a queue of names, each used up by one call."""

    def __init__(self, manner: Manner) -> None:
        self.manner = manner
        self.calls = 0
        self.in_flight = 0
        self.most_in_flight = 0
        self.refused = 0
        self.seen: Counter[str] = Counter()
        self.faults: deque[str] = deque()
        self._places = asyncio.Semaphore(manner.capacity)

    async def complete(self, request: web.Request) -> web.StreamResponse:
        raw = await request.read()
        self.calls += 1
        digest = hashlib.blake2b(raw, digest_size=12).hexdigest()
        self.seen[digest] += 1
        self.in_flight += 1
        self.most_in_flight = max(self.most_in_flight, self.in_flight)
        try:
            if fault := self._fault(f"{digest} {self.seen[digest]}"):
                return await self._fail(fault)
            body = json.loads(raw)
            size = self._size(body)
            async with self._places:
                await asyncio.sleep(self.manner.latency * size)
            return web.json_response(self._answer(body, size))
        finally:
            self.in_flight -= 1

    def _fault(self, ask: str) -> str:
        """What this ask gets instead of an answer; the same ask of the same question always gets the same."""
        if self.faults:
            return self.faults.popleft()
        if self.in_flight > self.manner.bears:
            self.refused += 1
            return "429"
        drawn = random.Random(ask).random()
        if drawn < self.manner.errors:
            return "500"
        return "hang" if drawn < self.manner.errors + self.manner.hangs else ""

    def _size(self, body: dict[str, Any]) -> float:
        """How many times the median this question's answer takes."""
        if not self.manner.spread:
            return 1.0
        chooser = random.Random(body["messages"][-1]["content"][:60])
        return math.exp(chooser.gauss(0.0, self.manner.spread))

    async def _fail(self, fault: str) -> web.StreamResponse:
        if fault == "hang":
            await asyncio.sleep(3600)
        if fault == "html":
            return web.Response(text="<html><body>Welcome to nginx</body></html>", content_type="text/html")
        if fault == "no tokens":
            message = {"role": "assistant", "content": ""}
            usage = {"prompt_tokens": 10, "completion_tokens": 0}
            choice = {"message": message, "finish_reason": "stop"}
            return web.json_response({"model": "simulated", "choices": [choice], "usage": usage})
        if fault == "429":
            return web.json_response(
                {"error": {"message": "slow down"}}, status=429, headers={"Retry-After": "1"}
            )
        return web.json_response({"error": {"message": f"simulated {fault}"}}, status=int(fault))

    def _answer(self, body: dict[str, Any], size: float) -> dict[str, Any]:
        seed = f"{body.get('seed')} {body['messages'][-1]['content'][:80]}"
        regex = (body.get("structured_outputs") or {}).get("regex")
        text = matching_text(regex, seed) if regex else plain_text(round(self.manner.words * size), seed)
        return {
            "model": body["model"],
            "choices": [{"message": {"role": "assistant", "content": text}, "finish_reason": "stop"}],
            "usage": {"prompt_tokens": len(str(body["messages"])) // 4, "completion_tokens": len(text) // 4},
        }

    async def stats(self, request: web.Request) -> web.Response:
        return web.json_response(
            {
                "calls": self.calls,
                "distinct": len(self.seen),
                "in_flight": self.in_flight,
                "most_in_flight": self.most_in_flight,
                "refused": self.refused,
            }
        )

    async def metrics(self, request: web.Request) -> web.Response:
        running = min(self.in_flight, self.manner.capacity)
        waiting = self.in_flight - running
        return web.Response(
            text=f"vllm:num_requests_running {running}.0\nvllm:num_requests_waiting {waiting}.0\n"
        )

    async def set_faults(self, request: web.Request) -> web.Response:
        self.faults.extend(await request.json())
        return web.json_response({"waiting": len(self.faults)})


def plain_text(count: int, seed: str) -> str:
    """`count` words, the same for the same seed."""
    chooser = random.Random(seed)
    return " ".join(chooser.choice(WORDS) for _ in range(count))


def matching_text(regex: str, seed: str) -> str:
    """Text that matches the regular expression, the same for the same seed."""
    return "".join(_generate(re_parser.parse(regex), random.Random(seed)))


def _generate(parsed: Any, chooser: random.Random) -> Iterator[str]:
    """Walks the standard library's own parse of the expression; classes of 'anything but' give letters."""
    for operator, argument in parsed:
        match str(operator):
            case "LITERAL":
                yield chr(argument)
            case "NOT_LITERAL" | "ANY":
                yield chooser.choice(LETTERS)
            case "IN":
                yield _one_of(argument, chooser)
            case "SUBPATTERN":
                yield from _generate(argument[-1], chooser)
            case "BRANCH":
                yield from _generate(chooser.choice(argument[1]), chooser)
            case "MAX_REPEAT" | "MIN_REPEAT":
                low, high, repeated = argument
                for _ in range(chooser.randint(low, min(high, low + 400))):
                    yield from _generate(repeated, chooser)
            case _:
                raise ValueError(f"the simulator cannot generate {operator}")


def _one_of(members: Any, chooser: random.Random) -> str:
    ranges = [argument for operator, argument in members if str(operator) == "RANGE"]
    literals = [argument for operator, argument in members if str(operator) == "LITERAL"]
    if str(members[0][0]) == "NEGATE" or not (ranges or literals):
        return chooser.choice(LETTERS if _without_spaces(members) else LETTERS + " " * 5)
    if ranges:
        return chr(chooser.randint(*ranges[0]))
    return chr(chooser.choice(literals))


def _without_spaces(members: Any) -> bool:
    """Whether the class is `\\S`, or negates `\\s`."""
    categories = {str(argument) for operator, argument in members if str(operator) == "CATEGORY"}
    negated = str(members[0][0]) == "NEGATE"
    return categories == ({"CATEGORY_SPACE"} if negated else {"CATEGORY_NOT_SPACE"})


def application(manner: Manner) -> web.Application:
    simulator = Simulator(manner)
    app = web.Application(client_max_size=64 * 1024 * 1024)
    app.router.add_post("/v1/chat/completions", simulator.complete)
    app.router.add_get("/stats", simulator.stats)
    app.router.add_get("/metrics", simulator.metrics)
    app.router.add_post("/faults", simulator.set_faults)
    return app


async def serve(port: int, manner: Manner) -> None:
    runner = web.AppRunner(application(manner), access_log=None)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", port, backlog=4096, reuse_address=True)
    await site.start()
    print(f"http://127.0.0.1:{runner.addresses[0][1]}", flush=True)
    await asyncio.Event().wait()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--port", type=int, default=0)
    for field in dataclasses.fields(Manner):
        parser.add_argument(f"--{field.name}", type=type(field.default), default=field.default)
    options = vars(parser.parse_args())
    try:
        asyncio.run(serve(options.pop("port"), Manner(**options)))
    except KeyboardInterrupt:
        sys.exit(0)


if __name__ == "__main__":
    main()
