"""What a form of the review room carries besides its verdicts: what it goes on from, and the time in view.

Every page carries the `version` of the draft that it was filled from. A form without one (a program's) is
taken as it is: the last one sent stands.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from django.http import QueryDict

from curation.forms import FIELDS, ReviewForm
from curation.models import Reconstruction, ReviewDraft
from curation.review import ReviewError, draft_of, save_draft
from curation.review.drafts import FLAG, PageInput, clean_content, keep_page_input, version_of
from llm.web import PageRequest


@dataclass(frozen=True, slots=True)
class KeptInput:
    """The draft as it is stored after a form came in, and the `version` that the form goes on from now.

    `stale` when something newer is stored than what the form went on from: then what it carries is not
    stored. Nor is it when it cannot be; the form says why. `taken` is False where the item takes no drafts.
    """

    draft: ReviewDraft | None
    version: str = ""
    stale: bool = False
    taken: bool = False

    def refused(self, form: ReviewForm) -> bool:
        return bool(self.stale or form.problems or form.errors)


def keep_input(request: PageRequest, item: Reconstruction, form: ReviewForm) -> KeptInput:
    """Stores what a form for `item` carries as a draft, so that whatever else it asks for loses nothing.
    A form in which nothing was changed carries nothing."""
    draft = draft_of(reviewer=request.user, reconstruction_id=item.pk)
    before = KeptInput(draft, version_sent(request) or "")
    if not (carries_input(request.POST) or "seconds" in request.POST):
        return before
    try:
        content = content_of(form) if form.is_valid() and carries_input(request.POST) else None
        if content is not None and version_of(content) == version_sent(request):
            content = None
        return store_input(request, item, content) or before
    except ReviewError as error:
        form.problems |= error.messages
        return before


def store_input(
    request: PageRequest, item: Reconstruction, content: Mapping[str, Any] | None
) -> KeptInput | None:
    """None when the item takes no draft of this person. Raises ReviewError."""
    seconds, version, who = seconds_of(request) or 0, version_sent(request), request.user
    if version is None:
        if content is None or not save_draft(
            reviewer=who, reconstruction_id=item.pk, content=content, seconds=seconds
        ):
            return None
        draft = draft_of(reviewer=who, reconstruction_id=item.pk)
        return KeptInput(draft, version_of(content), taken=True)
    before = QueryDict(request.POST.get("unanswered", ""))
    sent = PageInput(
        content,
        seconds,
        version,
        known_seconds=_number(request.POST.get("known-seconds", "")) or 0.0,
        unanswered=_unanswered(before, item),
        unanswered_seconds=_number(before.get("seconds", "")) or 0.0,
    )
    kept = keep_page_input(reviewer=who, reconstruction_id=item.pk, sent=sent)
    if kept and content is not None and not kept.stale:
        version = version_of(kept.draft.content)
    return KeptInput(kept.draft, version, kept.stale, taken=True) if kept else None


def content_of(form: ReviewForm) -> dict[str, Any]:
    """A draft's content out of a valid form, with a flag's reason if it has a field for one."""
    content: dict[str, Any] = form.content()
    if "reason" in form.data:
        content[FLAG] = {"note": form.data["reason"].replace("\r\n", "\n").strip()}
    return clean_content(content)


def fields_of(item: Reconstruction, content: Mapping[str, Any]) -> dict[str, str]:
    """The other way round: the fields of the page's form, by name, that a draft's content fills."""
    initial = ReviewForm(item=item, draft=content).initial
    filled = {name: str(initial.get(name, "")) for name in FIELDS} | {"reason": reason_in(content)}
    return {name: value for name, value in filled.items() if value}


def reason_in(content: Mapping[str, Any]) -> str:
    return str(content.get(FLAG, {}).get("note", ""))


def is_outdated(request: PageRequest, item: Reconstruction, form: ReviewForm) -> bool:
    """Was something else stored since the page of this (valid) form was made?"""
    version = version_sent(request)
    draft = None if version is None else draft_of(reviewer=request.user, reconstruction_id=item.pk)
    if draft is None:
        return False
    ours = PageInput(content_of(form), 0.0, version or "", 0.0)
    return not ours.goes_on_from(draft.content)


def version_sent(request: PageRequest) -> str | None:
    """`keep` is the button that prefers what stands on the page to the newer version that it names."""
    return request.POST.get("keep", request.POST.get("version"))


def seconds_of(request: PageRequest) -> float | None:
    """The time in view that the page's script counted; None where no script ran."""
    return _number(request.POST.get("seconds", ""))


def _unanswered(before: QueryDict, item: Reconstruction) -> dict[str, Any] | None:
    """What the page sent before without an answer, as the draft that it makes."""
    form = ReviewForm(before, item=item)
    return content_of(form) if carries_input(before) and form.is_valid() else None


def carries_input(posted: QueryDict) -> bool:
    return any(name in FIELDS or name == "reason" for name in posted)


def _number(text: str) -> float | None:
    try:
        number = float(text)
    except ValueError:
        return None
    return number if math.isfinite(number) and number >= 0 else None
