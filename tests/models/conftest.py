"""A real model server: the one that LLM_BASE_URL names, or vLLM on the CPU with the bundled model."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest

from config.stack import model
from config.stack.paths import MODEL_NAME
from llm.models import Endpoint


@dataclass(frozen=True)
class ModelServer:
    base_url: str
    model: str
    bundled: bool

    def endpoint(self, **settings: Any) -> Endpoint:
        return Endpoint.objects.create(
            **{
                "name": "real",
                "base_url": self.base_url,
                "model": self.model,
                "constrained": self.bundled,
                "max_in_flight": 32,
                "context_window": model.CONTEXT_WINDOW,
                "max_output_tokens": 1024,
                **settings,
            }
        )


@pytest.fixture(scope="session")
def model_server() -> Iterator[ModelServer]:
    if os.environ.get("LLM_BASE_URL"):
        yield ModelServer(os.environ["LLM_BASE_URL"], os.environ["LLM_MODEL"], bundled=False)
        return
    server, address = model.model_server()
    try:
        server.start()
        model.wait_for_model(server, address, lambda _: None)
        yield ModelServer(address, MODEL_NAME, bundled=True)
    finally:
        server.stop()
