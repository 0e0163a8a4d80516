from django.apps import AppConfig


class ApiConfig(AppConfig):
    name = "curation.api"
    label = "api"

    def ready(self) -> None:
        import curation.api.schema  # noqa: F401  (tells the schema's generator about our tokens)
