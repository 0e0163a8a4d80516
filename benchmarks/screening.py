"""Screening at corpus size against tokenizing alone, on one thread, in one run.

    python -m benchmarks.screening [--candidates 40000] [--samples 1600] [--characters 1500]

Prints and keeps: CPU seconds of both (taken in turns, the best of three each, so that what else the machine
does weighs on both alike), their ratio, and how far memory grows from a tenth of the candidates to all.
"""

from __future__ import annotations

import argparse
import math
import random
import re
import resource
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import cache
from itertools import accumulate

import quicktok  # type: ignore[import-untyped]

from benchmarks.results import keep
from curation.screening import BLOCK_TEXTS, TrigramIndex
from curation.tokenizer import qwen3_encoder

ROUNDS = 3
TARGET_RATIO = 2.0


@cache
def vocabulary() -> tuple[list[str], list[str], list[float]]:
    """English and Chinese words, commonest first, and how common the first n are together, by Zipf's law.

    Each token then meets about one match among 1,600 samples. Real requests and responses, cut from the same
    documents, met 2.7.
    """
    values = quicktok.get_encoding("qwen3").token_byte_values()
    words = [v.decode("ascii").strip() for v in values if re.fullmatch(rb" [a-z]{3,9}", v)]
    chinese = []
    for value in values:
        with suppress(UnicodeDecodeError):
            if re.fullmatch("[\u4e00-\u9fff]{1,4}", word := value.decode()):
                chinese.append(word)
    return words, chinese, list(accumulate(1 / rank for rank in range(1, 20_001)))


def text(number: int, characters: int) -> str:
    """A made-up request; every fourth is Chinese."""
    draw = random.Random(number)
    words, chinese, weights = vocabulary()
    if number % 4 == 0:
        known = chinese[: len(weights)]
        return "".join(draw.choices(known, cum_weights=weights[: len(known)], k=characters))[:characters]
    known = words[: len(weights)]
    return " ".join(draw.choices(known, cum_weights=weights[: len(known)], k=characters // 5))[:characters]


def candidates(count: int, characters: int) -> Iterator[str]:
    """Every fiftieth quotes a third of a sample."""
    for number in range(count):
        body = text(10_000_000 + number, characters)
        if number % 50 == 0:
            body = text(number // 50, characters)[: characters // 3] + body[characters // 3 :]
        yield body


def seconds(*works: Callable[[], object]) -> list[float]:
    """CPU seconds of each."""
    best = [math.inf] * len(works)
    for _ in range(ROUNDS):
        for place, work in enumerate(works):
            started = time.process_time()
            work()
            best[place] = min(best[place], time.process_time() - started)
    return best


def peak_megabytes() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--candidates", type=int, default=40_000)
    parser.add_argument("--samples", type=int, default=1_600)
    parser.add_argument("--characters", type=int, default=1_500)
    options = parser.parse_args()
    encoder = qwen3_encoder()
    samples = {str(number): text(number, options.characters) for number in range(options.samples)}
    index = TrigramIndex(samples, encoder.encode, encode_batch=encoder.encode_batch)

    def screen(count: int) -> int:
        return sum(found.contaminated for found in index.screen_many(candidates(count, options.characters)))

    screen(options.candidates // 10)
    early = peak_megabytes()
    discarded = screen(options.candidates)
    growth = peak_megabytes() - early

    texts = list(candidates(options.candidates, options.characters))
    blocks = [texts[start : start + BLOCK_TEXTS] for start in range(0, len(texts), BLOCK_TEXTS)]
    tokenizing, one_by_one, screening = seconds(
        lambda: [len(encoder.encode_batch(block)[0]) for block in blocks],
        lambda: [len(encoder.encode(each)) for each in texts],
        lambda: sum(found.contaminated for found in index.screen_many(texts)),
    )
    ratio = screening / min(tokenizing, one_by_one)
    keep(
        "screening",
        {
            "candidates": options.candidates,
            "samples": options.samples,
            "characters": options.characters,
            "discarded": discarded,
            "tokenizing_seconds": round(min(tokenizing, one_by_one), 3),
            "screening_seconds": round(screening, 3),
            "ratio": round(ratio, 2),
            "memory_growth_megabytes": round(growth, 1),
        },
    )
    return 0 if ratio <= TARGET_RATIO else 1


if __name__ == "__main__":
    sys.exit(main())
