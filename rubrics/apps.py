from django.apps import AppConfig


class RubricsConfig(AppConfig):
    name = "rubrics"

    def ready(self) -> None:
        import rubrics.steps  # noqa: F401  (registers the steps)
