"""The compose file, the Dockerfiles and the application agree with each other."""

from __future__ import annotations

import re
from typing import Any

import pytest
from ruamel.yaml import YAML

from config.stack.paths import ROOT

DOCKER = ROOT / "docker"


@pytest.fixture(scope="module")
def compose() -> dict[str, Any]:
    loaded: dict[str, Any] = YAML(typ="safe").load(DOCKER / "compose.yaml")
    return loaded


def test_every_build_names_a_dockerfile_and_a_stage_that_exist(compose: dict[str, Any]) -> None:
    builds = [service["build"] for service in compose["services"].values() if "build" in service]
    assert len(builds) == 5
    for build in builds:
        dockerfile = (DOCKER / build["context"] / build["dockerfile"]).resolve()
        stages = re.findall(r"^FROM .* AS (\S+)$", dockerfile.read_text(), re.MULTILINE)
        assert build.get("target") is None or build["target"] in stages


def test_the_application_gets_every_setting_that_production_demands(compose: dict[str, Any]) -> None:
    demanded = {"DATABASE_URL", "CELERY_BROKER_URL", "DJANGO_SECRET_KEY", "ALLOWED_HOSTS"}
    for name in ("migrate", "web", "worker"):
        environment = compose["services"][name]["environment"]
        assert demanded <= set(environment)
        assert environment["WORKBENCH_MODE"] == "production"


def test_no_secret_has_a_default(compose: dict[str, Any]) -> None:
    text = (DOCKER / "compose.yaml").read_text()
    for name in ("POSTGRES_PASSWORD", "VALKEY_PASSWORD", "DJANGO_SECRET_KEY", "ALLOWED_HOSTS"):
        used = re.findall(rf"\$\{{{name}(.?.?)", text)
        assert used
        assert set(used) == {":?"}


def test_only_the_web_port_is_published_and_only_on_the_loopback_address(compose: dict[str, Any]) -> None:
    ports = {name: service["ports"] for name, service in compose["services"].items() if "ports" in service}
    assert ports == {"web": ["127.0.0.1:8000:8000"]}


def test_what_the_images_copy_is_there() -> None:
    for dockerfile in DOCKER.glob("Dockerfile.*"):
        for line in re.findall(r"^COPY (?!--)(.+)$", dockerfile.read_text(), re.MULTILINE):
            *sources, _ = line.split()
            assert all((ROOT / source).exists() for source in sources), line


def test_state_and_secrets_stay_out_of_the_images() -> None:
    ignored = (ROOT / ".dockerignore").read_text().split()
    assert {".git", ".workbench", "**/.env"} <= set(ignored)
