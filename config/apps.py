"""The wiring as a Django app, so that it can hold the commands that join the rooms."""

from django.apps import AppConfig


class WorkbenchConfig(AppConfig):
    name = "config"
    label = "workbench"

    def ready(self) -> None:
        import config.celery  # noqa: F401  (tasks are sent through this application)
