from django.apps import AppConfig


class TrainingConfig(AppConfig):
    name = "training"

    def ready(self) -> None:
        import training.steps  # noqa: F401  (registers the steps)
