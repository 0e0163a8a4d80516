"""Adds or changes an endpoint."""

from __future__ import annotations

import json
from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand

from llm.commands import positive
from llm.models import Endpoint


class Command(BaseCommand):
    help = "Adds an OpenAI-compatible endpoint, or changes the one of that name."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("name")
        parser.add_argument("--base-url", required=True, help="up to and including /v1")
        parser.add_argument("--model", required=True)
        parser.add_argument("--api-key-env", default="", help="name of the variable that holds the key")
        parser.add_argument("--max-in-flight", type=positive, default=32, help="calls at once, per worker")
        parser.add_argument("--timeout", type=positive, default=600, help="seconds for one call")
        parser.add_argument("--context-window", type=positive, help="tokens of prompt and reply together")
        parser.add_argument("--max-output-tokens", type=positive, help="upper bound for a reply")
        parser.add_argument("--constrained", action="store_true", help="use constrained decoding (vLLM)")
        parser.add_argument("--extra-body", type=json.loads, default={}, help="JSON sent with every call")

    def handle(self, *args: Any, **options: Any) -> None:
        _, created = Endpoint.objects.update_or_create(
            name=options["name"],
            defaults={
                "base_url": options["base_url"],
                "model": options["model"],
                "api_key_env": options["api_key_env"],
                "max_in_flight": options["max_in_flight"],
                "timeout_seconds": options["timeout"],
                "context_window": options["context_window"],
                "max_output_tokens": options["max_output_tokens"],
                "constrained": options["constrained"],
                "extra_body": options["extra_body"],
            },
        )
        self.stdout.write(f"endpoint {options['name']} {'added' if created else 'changed'}")
