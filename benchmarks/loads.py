"""A corpus in the database, reviewers who are signed in, and the web application in processes of its own."""

from __future__ import annotations

import hashlib
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from benchmarks.texts import text

PROMPT_COLUMNS = (
    "source_id, line, external_id, text, digest, language, characters, segments, length_policy, "
    "excluded_because, created_at"
)
RECONSTRUCTIONS = """
    INSERT INTO curation_reconstruction (source_prompt_id, index, strategy, state, state_reason, text,
        language, characters, segments, length_policy, imported, screened_with, wanted_reviews, created_at)
    SELECT id, 0, CASE WHEN id % 2 = 0 THEN 'length_aware' ELSE 'length_recovery' END, 'in_review', '',
        reverse(text), language, characters, segments, 'paper', false, '',
        CASE WHEN id % 10 = 0 THEN 2 ELSE 1 END, now()
    FROM curation_sourceprompt ORDER BY id
"""
SLOTS = """
    INSERT INTO curation_reviewslot (reconstruction_id, number, suspended)
    SELECT id, number, false
    FROM curation_reconstruction, generate_series(0, wanted_reviews - 1) AS number ORDER BY id, number
"""


def set_up_django() -> None:
    import os

    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
    subprocess.run([sys.executable, "manage.py", "migrate", "--verbosity", "0"], check=True)
    import django

    django.setup()


def fill(items: int, characters: int) -> None:
    """`items` source prompts with a reconstruction each, waiting for review, a tenth of them for two."""
    from django.db import connection
    from django.utils import timezone

    from curation.models import Source

    source, _ = Source.objects.get_or_create(name="benchmark", defaults={"file_name": "-"})
    now = timezone.now()
    with connection.cursor() as cursor:
        with cursor.copy(f"COPY curation_sourceprompt ({PROMPT_COLUMNS}) FROM STDIN") as copy:
            for number in range(items):
                body = text(number, characters)
                digest = hashlib.sha256(body.encode()).hexdigest()
                language, size = "zh" if number % 4 == 0 else "en", (len(body), len(body.split()))
                copy.write_row((source.pk, number, "", body, digest, language, *size, "paper", "", now))
        cursor.execute(RECONSTRUCTIONS)
        cursor.execute(SLOTS)
        cursor.execute("VACUUM ANALYZE")


def reviewers(count: int) -> list[dict[str, str]]:
    """The cookies of so many signed-in annotators."""
    return [_signed_in(f"reviewer-{number}", "annotator") for number in range(count)]


def researcher() -> dict[str, str]:
    """The cookies of a signed-in researcher."""
    return _signed_in("researcher", "researcher")


def tokens(count: int) -> list[str]:
    """The API tokens of so many annotators."""
    from django.contrib.auth.models import User

    from curation.api.tokens import make_token

    names = [f"reviewer-{number}" for number in range(count)]
    people = {user.username: user for user in User.objects.filter(username__in=names)}
    return [make_token(user=people[name], name="benchmark", days=1)[1] for name in names]


def _signed_in(name: str, role: str) -> dict[str, str]:
    from django.conf import settings
    from django.contrib.auth import BACKEND_SESSION_KEY, HASH_SESSION_KEY, SESSION_KEY
    from django.contrib.auth.models import Group, User
    from django.contrib.sessions.backends.db import SessionStore

    user, _ = User.objects.get_or_create(username=name)
    user.groups.add(Group.objects.get_or_create(name=role)[0])
    session = SessionStore()
    session[SESSION_KEY] = str(user.pk)
    session[BACKEND_SESSION_KEY] = settings.AUTHENTICATION_BACKENDS[0]
    session[HASH_SESSION_KEY] = user.get_session_auth_hash()
    session.save()
    return {settings.SESSION_COOKIE_NAME: str(session.session_key), "csrftoken": "c" * 32}


def reviewed_too_often(shown: Mapping[int, int]) -> int:
    """How many items have more standing reviews, or were shown to more people, than reviews were wanted."""
    from django.db.models import Count, F, Q

    from curation.models import Reconstruction

    standing = Count("reviews", filter=Q(reviews__withdrawn_at__isnull=True))
    reviewed = Reconstruction.objects.annotate(standing=standing).filter(standing__gt=F("wanted_reviews"))
    wanted = dict(Reconstruction.objects.filter(pk__in=shown).values_list("pk", "wanted_reviews"))
    return reviewed.count() + sum(times > wanted[pk] for pk, times in shown.items())


@contextmanager
def web_application(workers: int, threads: int) -> Iterator[str]:
    """The web server on a free port of the loopback address; its address."""
    from llm.processes import free_port

    port = free_port()
    command = [sys.executable, "-m", "config.server", "--port", str(port)]
    process = subprocess.Popen([*command, "--workers", str(workers), "--threads", str(threads)])
    address = f"http://127.0.0.1:{port}"
    try:
        _wait_for(f"{address}/healthz")
        yield address
    finally:
        process.terminate()
        process.wait()


def _wait_for(address: str) -> None:
    until = time.monotonic() + 60
    while time.monotonic() < until:
        try:
            urllib.request.urlopen(address, timeout=2).close()
            return
        except OSError:
            time.sleep(0.2)
    raise TimeoutError(address)


def percentile(values: list[float], share: float) -> float:
    """The value below which `share` of the values lie, in milliseconds for seconds given."""
    ordered = sorted(values)
    return 1000 * ordered[min(len(ordered) - 1, int(share * len(ordered)))]
