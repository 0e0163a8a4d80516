"""The form of an endpoint. A key is never typed here, only the name of the variable that holds it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django import forms

from llm.models import Endpoint
from llm.replay import is_replay, replay_path

if TYPE_CHECKING:
    EndpointModelForm = forms.ModelForm[Endpoint]
else:
    EndpointModelForm = forms.ModelForm


class EndpointForm(EndpointModelForm):
    class Meta:
        model = Endpoint
        fields = (
            "name",
            "base_url",
            "model",
            "api_key_env",
            "max_in_flight",
            "timeout_seconds",
            "context_window",
            "max_output_tokens",
            "constrained",
            "extra_body",
        )
        labels = {  # noqa: RUF012  (Django's own shape)
            "base_url": "Base URL",
            "api_key_env": "Key variable",
            "max_in_flight": "Calls at once",
            "timeout_seconds": "Time limit (seconds)",
            "max_output_tokens": "Longest reply (tokens)",
            "context_window": "Context window (tokens)",
            "constrained": "Constrained decoding",
            "extra_body": "Extra request fields (JSON)",
        }
        widgets = {  # noqa: RUF012
            "extra_body": forms.Textarea(attrs={"rows": 3, "spellcheck": "false", "class": "code"})
        }

    def clean_base_url(self) -> str:
        url = str(self.cleaned_data["base_url"]).strip().rstrip("/")
        if is_replay(url):
            if not replay_path(url).is_file():
                raise forms.ValidationError(f"There is no file {replay_path(url)} on the server.")
            return url
        if not url.startswith(("http://", "https://")):
            raise forms.ValidationError(
                "Start it with http:// or https://, or with replay: and a file's path."
            )
        return url

    def clean_api_key_env(self) -> str:
        name = str(self.cleaned_data["api_key_env"]).strip()
        if name and not name.isidentifier():
            raise forms.ValidationError(
                "Give the name of an environment variable (letters, digits, underscores), not the key itself."
            )
        return name

    def clean_extra_body(self) -> dict[str, Any]:
        body = self.cleaned_data["extra_body"] or {}
        if not isinstance(body, dict):
            raise forms.ValidationError('A JSON object is needed, such as {"seed": 1}.')
        return body

    def clean_max_in_flight(self) -> int:
        count = int(self.cleaned_data["max_in_flight"])
        if count < 1:
            raise forms.ValidationError("At least one call at once is needed.")
        return count
