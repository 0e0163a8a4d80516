"""The examples that come with the program go through every gate that a user's own file has to pass."""

from __future__ import annotations

from importlib import resources

from curation.jsonl import PromptLine, read_prompts
from curation.languages import detect_language
from curation.reconstruction import exceeds_source_limit
from curation.repetition import degenerate_repetition
from curation.screening import TrigramIndex
from curation.tokenizer import qwen3_encoder


def example(name: str) -> list[PromptLine]:
    with (resources.files("curation") / "examples" / name).open("rb") as file:
        lines = list(read_prompts(file, None))
    prompts = [line for line in lines if isinstance(line, PromptLine)]
    assert prompts == lines
    return prompts


def test_examples_are_read_and_pass_the_filters() -> None:
    requests, held_out = example("requests.jsonl"), example("held_out.jsonl")
    assert (len(requests), len(held_out)) == (12, 6)
    for prompts in (requests, held_out):
        assert len({prompt.external_id for prompt in prompts}) == len(prompts)
        languages = [detect_language(prompt.text).code for prompt in prompts]
        assert languages.count("zh") == languages.count("en") == len(prompts) // 2
        assert not any(degenerate_repetition(prompt.text).degenerate for prompt in prompts)
        assert not any(exceeds_source_limit(prompt.text) for prompt in prompts)
        assert not any(prompt.notes for prompt in prompts)
    assert all(prompt.extra["genre"] for prompt in requests)


def test_example_requests_share_next_to_nothing_with_the_held_out_ones() -> None:
    samples = {str(prompt.external_id): prompt.text for prompt in example("held_out.jsonl")}
    index = TrigramIndex(samples, qwen3_encoder().encode)
    assert all(index.screen(prompt.text).overlap < 0.05 for prompt in example("requests.jsonl"))
    assert all(index.screen(text).sample_id == name for name, text in samples.items())
