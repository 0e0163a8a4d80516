from django.apps import AppConfig


class TrainingConfig(AppConfig):
    name = "training"

    def ready(self) -> None:
        import training.lineage
        import training.steps  # noqa: F401  (both register)
