from django.apps import AppConfig


class TrainingConfig(AppConfig):
    name = "training"

    def ready(self) -> None:
        import training.assessing
        import training.bias_checks
        import training.lineage
        import training.steps  # noqa: F401  (all register)
