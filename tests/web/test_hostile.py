"""Model text is shown as text, everywhere; and no page carries what its policy would have to allow."""

from __future__ import annotations

import re

from django.test import Client
from django.urls import reverse
from django.utils.html import escape

from tests.samples import CHINESE, HOSTILE, corpus, pages

RAW = ("<script>document", "<style>body", "<img src=x", "<think>")


def test_hostile_text_is_escaped_on_every_page(research_client: Client) -> None:
    for address in pages(corpus(HOSTILE)):
        page = research_client.get(address, follow=True).text
        for raw in RAW:
            assert raw not in page, f"{raw} on {address}"
        assert page.count("</main>") == 1, address


def test_hostile_text_is_there_in_full_where_it_is_read(research_client: Client) -> None:
    rows = corpus(HOSTILE)
    for name in ("source-prompt", "reconstruction", "corpus-prompt", "candidate", "call"):
        page = research_client.get(reverse(name, args=[rows[name].pk])).text
        assert escape(HOSTILE) in page, name


def test_the_policy_is_enforced_and_nothing_needs_an_exception(research_client: Client) -> None:
    for address in [*pages(corpus(CHINESE, "zh")), "/nothing/"]:
        answer = research_client.get(address, follow=True)
        policy = answer["Content-Security-Policy"]
        assert "default-src 'none'" in policy, address
        assert "unsafe" not in policy
        assert "Content-Security-Policy-Report-Only" not in answer
        page = answer.text
        assert not re.search(r"<[^>]+\sstyle\s*=", page), f"inline style on {address}"
        assert not re.search(r"<[^>]+\son\w+\s*=", page), f"inline handler on {address}"
        assert all(" src=" in tag for tag in re.findall(r"<script[^>]*>", page)), address
        assert "<style" not in page


def test_every_text_names_its_language(research_client: Client) -> None:
    rows = corpus(CHINESE, "zh")
    for name in ("source-prompt", "reconstruction", "corpus-prompt", "candidate"):
        page = research_client.get(reverse(name, args=[rows[name].pk])).text
        assert f'<div class="reading" lang="zh" dir="auto">{CHINESE}</div>' in page, name
    page = research_client.get(reverse("rubric", args=[rows["rubric"].pk])).text
    assert '<th scope="row" lang="zh">' in page
