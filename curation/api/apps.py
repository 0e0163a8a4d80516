from django.apps import AppConfig


class ApiConfig(AppConfig):
    name = "curation.api"
    label = "api"
