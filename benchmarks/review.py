"""Reviewing at corpus size: many reviewers in the browser's way, on the real web application and Postgres.

    python -m benchmarks.review corpus [--items 100000] [--reviewers 20] [--seconds 60]
    python -m benchmarks.review tasks [--items 20000]

`corpus`: 20 reviewers who read for a second or two, a researcher who filters the list, and a storm of claims
at once. `tasks`: one reviewer, then ten without a pause, on tasks of two 1,500-character texts; once through
the API (ask for the next item, submit it), once in the pages (submit, and have the next one's page at once).
Times are those of whole requests over the loopback address, so at the server they are shorter. In a page the
next item comes with the answer to a submit, so its time has both. The first seconds do not count.
"""

from __future__ import annotations

import argparse
import asyncio
import random
import re
import sys
import threading
import time
from collections import Counter
from itertools import count
from typing import Any

from benchmarks import loads
from benchmarks.results import keep

CHECKS = (
    "task_clarity",
    "constraint_consistency",
    "contextual_coherence",
    "substantive_variation",
    "usable_length",
)
VERDICTS = {f"{check}-verdict": "pass" for check in CHECKS} | {"task_clarity-note": "clear, and new"}
DECISION = {
    "decision": "accept",
    "verdicts": {check: {"verdict": "pass"} for check in CHECKS}
    | {"task_clarity": {"verdict": "pass", "note": "clear, and new"}},
}
ITEM = re.compile(r'id="decide"[^>]* action="/review/(\d+)/')
HTMX = {"HX-Request": "true", "HX-Boosted": "true", "X-CSRFToken": "c" * 32}
LISTS = (
    "state=in_review&language=zh",
    "strategy=length_aware&state=accepted",
    "language=en&page=7",
    "state=in_review&strategy=length_recovery&page=40",
)


class Reviewer:
    """One signed-in person; `opened` and `pairs` are the seconds that opening the room and submits took, and
    `at_server` those that the server worked on a submit."""

    def __init__(self, address: str, cookies: dict[str, str]) -> None:
        self.address, self.cookies = address, cookies
        self.opened: list[float] = []
        self.pairs: list[float] = []
        self.at_server: list[float] = []
        self.items: list[int] = []

    async def work(self, until: float, think: tuple[float, float]) -> None:
        import aiohttp

        jar = aiohttp.CookieJar(unsafe=True)
        async with aiohttp.ClientSession(cookies=self.cookies, cookie_jar=jar) as session:
            page = await self._timed(session, "GET", "/review/", self.opened)
            while time.monotonic() < until:
                found = ITEM.search(page)
                if found is None:
                    return
                pk = int(found[1])
                self.items.append(pk)
                if think[1]:
                    await asyncio.sleep(random.uniform(*think))
                form = VERDICTS | {"decision": "accept", "item": str(pk)}
                page = await self._timed(session, "POST", f"/review/{pk}/", self.pairs, form)

    async def _timed(
        self, session: Any, method: str, path: str, times: list[float], form: dict[str, str] | None = None
    ) -> str:
        headers = HTMX | {"Referer": self.address} if form else {}
        started = time.perf_counter()
        async with session.request(method, self.address + path, data=form, headers=headers) as response:
            page = await response.text()
            assert response.status == 200, (response.status, page[:500])
        times.append(time.perf_counter() - started)
        if form:
            self.at_server.append(at_server(response))
        return str(page)


class Program:
    """One person's program at the API: seconds that asking for the next item and submitting took."""

    def __init__(self, address: str, token: str) -> None:
        self.address, self.token = f"{address}/api/v1/queue", token
        self.nexts: list[float] = []
        self.submits: list[float] = []
        self.items: list[int] = []

    async def work(self, until: float) -> None:
        import aiohttp

        headers = {"Authorization": f"Bearer {self.token}"}
        async with aiohttp.ClientSession(headers=headers) as session:
            while time.monotonic() < until:
                answer = await self._timed(session, "/next/", self.nexts)
                if answer["item"] is None:
                    return
                pk = int(answer["item"]["reconstruction"])
                self.items.append(pk)
                await self._timed(session, f"/{pk}/decide/", self.submits, DECISION)

    async def _timed(self, session: Any, path: str, times: list[float], sent: Any = None) -> dict[str, Any]:
        started = time.perf_counter()
        async with session.post(self.address + path, json=sent) as response:
            answer: dict[str, Any] = await response.json()
            assert response.status == 200, (response.status, answer)
        times.append(time.perf_counter() - started)
        return answer


def at_server(response: Any) -> float:
    """The seconds that the application says it worked on an answer, redirects to it included."""
    said = [each.headers["Server-Timing"] for each in (*response.history, response)]
    return sum(float(each.removeprefix("app;dur=")) for each in said) / 1000


async def at_the_api(address: str, tokens: list[str], seconds: float) -> list[Program]:
    """Everybody reviews for so long, without a pause."""
    programs = [Program(address, token) for token in tokens]
    until = time.monotonic() + seconds
    await asyncio.gather(*(one.work(until) for one in programs))
    return programs


async def at_work(
    address: str, cookies: list[dict[str, str]], seconds: float, think: tuple[float, float]
) -> list[Reviewer]:
    """Everybody reviews for so long, pausing for a time between the two of `think` before each submit."""
    people = [Reviewer(address, each) for each in cookies]
    until = time.monotonic() + seconds
    await asyncio.gather(*(one.work(until, think) for one in people))
    return people


async def filter_lists(address: str, cookies: dict[str, str], seconds: float) -> list[float]:
    """A researcher opens one filtered list after the other, a second apart; seconds that the server took."""
    import aiohttp

    times: list[float] = []
    until = time.monotonic() + seconds
    async with aiohttp.ClientSession(cookies=cookies, cookie_jar=aiohttp.CookieJar(unsafe=True)) as session:
        for number in count():
            if time.monotonic() > until:
                return times
            query = LISTS[number % len(LISTS)]
            async with session.get(f"{address}/reconstructions/?{query}") as response:
                await response.read()
                assert response.status == 200, response.status
            times.append(at_server(response))
            await asyncio.sleep(1)
    return times


def storm_of_claims(claims: int, people: int) -> int:
    """So many claims by so many at once, straight at the service; how many were beyond the wanted number."""
    from django.contrib.auth.models import User
    from django.db import connection

    from curation.review import claim_next, release

    users = list(User.objects.filter(username__startswith="reviewer-")[:people])
    holding: Counter[int] = Counter()
    beyond: list[int] = []
    lock = threading.Lock()
    numbers = iter(range(claims))

    def claim(user: User) -> None:
        while True:
            with lock:
                if next(numbers, None) is None:
                    break
            slot = claim_next(reviewer=user)
            assert slot is not None
            pk, wanted = slot.reconstruction_id, slot.reconstruction.wanted_reviews
            with lock:
                holding[pk] += 1
                beyond.extend([pk] if holding[pk] > wanted else [])
            with lock:
                holding[pk] -= 1
            release(reviewer=user, reconstruction_id=pk)
        connection.close()

    threads = [threading.Thread(target=claim, args=(user,)) for user in users]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return len(beyond)


def corpus(items: int, people: int, seconds: float) -> dict[str, Any]:
    """The figures of reviewers at work on a large corpus."""
    loads.fill(items, 3_000)
    cookies, researcher = loads.reviewers(people), loads.researcher()
    beyond = storm_of_claims(10_000, people)
    with loads.web_application(workers=2, threads=4) as address:
        asyncio.run(at_work(address, cookies, 5, (0.5, 1.0)))  # connections, plans of statements, templates

        async def together() -> tuple[list[Reviewer], list[float]]:
            work = at_work(address, cookies, seconds, (1.0, 2.0))
            return await asyncio.gather(work, filter_lists(address, researcher, seconds))

        working, lists = asyncio.run(together())
    nexts = [t for one in working for t in one.pairs]
    served = [t for one in working for t in one.at_server]
    held = Counter(item for one in working for item in one.items)
    return {
        "reconstructions": items,
        "reviewers": people,
        "requests": len(nexts),
        "next_p50_ms": round(loads.percentile(served, 0.5), 1),
        "next_p95_ms": round(loads.percentile(served, 0.95), 1),
        "next_p50_ms_as_the_reviewer_saw_it": round(loads.percentile(nexts, 0.5), 1),
        "next_p95_ms_as_the_reviewer_saw_it": round(loads.percentile(nexts, 0.95), 1),
        "list_requests": len(lists),
        "list_p50_ms": round(loads.percentile(lists, 0.5), 1),
        "list_p95_ms": round(loads.percentile(lists, 0.95), 1),
        "claims": 10_000,
        "claims_beyond_the_wanted_number": beyond,
        "items_reviewed_more_often_than_wanted": loads.reviewed_too_often(held),
    }


def tasks(items: int, seconds: float) -> dict[str, Any]:
    """The figures of one reviewer, and of ten who do not pause."""
    loads.fill(items, 1_500)
    cookies = loads.reviewers(10)
    tokens = loads.tokens(10)
    with loads.web_application(workers=2, threads=4) as address:
        asyncio.run(at_the_api(address, tokens, 2))  # connections, and plans of statements
        [one] = asyncio.run(at_the_api(address, tokens[:1], seconds))
        ten = asyncio.run(at_the_api(address, tokens, seconds))
        [alone] = asyncio.run(at_work(address, cookies[:1], seconds, (0, 0)))
        together = asyncio.run(at_work(address, cookies, seconds, (0, 0)))
    nexts = [t for each in ten for t in each.nexts]
    submits = [t for each in ten for t in each.submits]
    pairs = [t for each in together for t in each.pairs]
    held = Counter(item for each in (one, *ten) for item in each.items)
    held.update(item for other in (alone, *together) for item in other.items)
    return {
        "tasks": items,
        "api_one_user_next_p50_ms": round(loads.percentile(one.nexts, 0.5), 1),
        "api_one_user_submit_p50_ms": round(loads.percentile(one.submits, 0.5), 1),
        "api_ten_users_next_p50_ms": round(loads.percentile(nexts, 0.5), 1),
        "api_ten_users_pairs_per_second": round(len(submits) / seconds, 1),
        "page_one_user_p50_ms": round(loads.percentile(alone.pairs, 0.5), 1),
        "page_one_user_p95_ms": round(loads.percentile(alone.pairs, 0.95), 1),
        "page_ten_users_pairs_per_second": round(len(pairs) / seconds, 1),
        "page_ten_users_p50_ms": round(loads.percentile(pairs, 0.5), 1),
        "items_reviewed_more_often_than_wanted": loads.reviewed_too_often(held),
    }


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("part", choices=["corpus", "tasks"])
    parser.add_argument("--items", type=int)
    parser.add_argument("--reviewers", type=int, default=20)
    parser.add_argument("--seconds", type=float, default=60)
    options = parser.parse_args()
    loads.set_up_django()
    if options.part == "corpus":
        figures = corpus(options.items or 100_000, options.reviewers, options.seconds)
        good = figures["next_p95_ms"] <= 50 and figures["list_p95_ms"] <= 150
        good = good and not figures["claims_beyond_the_wanted_number"]
    else:
        figures = tasks(options.items or 20_000, options.seconds)
        good = figures["api_one_user_next_p50_ms"] <= 15
        good = good and figures["api_ten_users_pairs_per_second"] >= 90
    keep(f"review-{options.part}", figures)
    return 0 if good and not figures["items_reviewed_more_often_than_wanted"] else 1


if __name__ == "__main__":
    sys.exit(main())
