from django.apps import AppConfig


class CurationConfig(AppConfig):
    name = "curation"

    def ready(self) -> None:
        import curation.bulk_actions
        import curation.export_steps
        import curation.filtering
        import curation.import_step
        import curation.indexing
        import curation.steps  # noqa: F401  (all of them register steps)
