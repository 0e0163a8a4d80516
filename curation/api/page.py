"""The schema, and the page that shows it and tries it out."""

from __future__ import annotations

from drf_spectacular.views import SpectacularAPIView, SpectacularSwaggerSplitView

import curation.api.schema  # noqa: F401  (tells the generator about our tokens)
from curation.api.base import RoleView
from curation.api.permissions import EVERYONE, HasRole
from llm.access import Role, role_required


class Schema(RoleView, SpectacularAPIView):
    """The OpenAPI 3 description of all this: YAML, or JSON when asked for."""

    allowed_roles = EVERYONE
    permission_classes = (HasRole,)


class _Page(SpectacularSwaggerSplitView):
    permission_classes = ()
    template_name = "curation/api_docs.html"
    url_name = "api-schema"


documentation = role_required(*Role)(_Page.as_view())
documentation.login_required = True  # type: ignore[attr-defined]  # a page for people, so it leads to the sign-in
