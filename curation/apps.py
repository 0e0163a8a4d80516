from django.apps import AppConfig


class CurationConfig(AppConfig):
    name = "curation"

    def ready(self) -> None:
        import curation.steps  # noqa: F401  (registers the steps)
