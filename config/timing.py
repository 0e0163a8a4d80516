"""Says in each answer how long the application worked on it."""

from __future__ import annotations

import time
from collections.abc import Callable

from django.http import HttpRequest, HttpResponseBase

GetResponse = Callable[[HttpRequest], HttpResponseBase]


def server_timing(get_response: GetResponse) -> GetResponse:
    """Middleware: `Server-Timing: app;dur=MILLISECONDS`, which a browser's network view shows."""

    def timed(request: HttpRequest) -> HttpResponseBase:
        started = time.perf_counter()
        response = get_response(request)
        response["Server-Timing"] = f"app;dur={1000 * (time.perf_counter() - started):.1f}"
        return response

    return timed
