from django.apps import AppConfig


class RubricsConfig(AppConfig):
    name = "rubrics"

    def ready(self) -> None:
        import rubrics.lineage
        import rubrics.steps  # noqa: F401  (both register)
