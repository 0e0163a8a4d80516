from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.simulated import SimulatedServer, simulated_server


@pytest.fixture
def server() -> Iterator[SimulatedServer]:
    with simulated_server(latency=0.02) as running:
        yield running
