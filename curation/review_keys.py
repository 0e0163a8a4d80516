"""The review room's keys: the usual ones, and those that a reviewer would rather have."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping

from django.contrib.auth.models import User

from curation.models import ReviewPreference
from llm import sql

ACTIONS: Mapping[str, tuple[str, str]] = {
    "check-1": ("1", "Go to the first check"),
    "check-2": ("2", "Go to the second check"),
    "check-3": ("3", "Go to the third check"),
    "check-4": ("4", "Go to the fourth check"),
    "check-5": ("5", "Go to the fifth check"),
    "pass": ("p", "Pass; then on to the next check without a verdict"),
    "fail": ("f", "Fail; then on likewise"),
    "unsure": ("u", "Unsure; then on likewise"),
    "note": ("n", "Write a note on the check; Esc leaves it"),
    "evidence": ("e", "Quote the selected passage for the check, or write one"),
    "accept": ("a", "Accept, if no check fails"),
    "reject": ("r", "Reject, with a failed check or a note"),
    "skip": ("s", "Skip; the item comes again at the end"),
    "flag": ("x", "Flag the item for a researcher, with a reason"),
    "undo": ("z", "Undo what you did last"),
    "difference": ("d", "Show or hide the differences"),
    "guidelines": ("g", "Open or close the guidelines"),
    "link": ("l", "Scroll the two texts together, or apart"),
    "down": ("j", "Scroll the texts down"),
    "up": ("k", "Scroll the texts up"),
}
"""Every action of the review room with its usual key and what it does."""

RESERVED = ("?", "/")
"""Keys that every page has."""


OWN_KEYS = "SELECT keys FROM curation_reviewpreference WHERE reviewer_id = %(reviewer)s"


def usual_keys() -> dict[str, str]:
    return {action: key for action, (key, _) in ACTIONS.items()}


def keys_of(reviewer: User) -> dict[str, str]:
    """By action; keys of actions that are not known any more, or clash by now, give way to the usual ones."""
    own = sql.fetch(OWN_KEYS, {"reviewer": reviewer.pk})
    if not own:
        return usual_keys()
    stored = json.loads(own[0][0])
    keys = usual_keys() | {action: key for action, key in stored.items() if action in ACTIONS}
    return usual_keys() if problems_of_keys(keys) else keys


def problems_of_keys(keys: Mapping[str, str]) -> dict[str, str]:
    """What is wrong, by action; empty when nothing is. `keys` has every action. Pure."""
    used = Counter(keys.values())
    problems: dict[str, str] = {}
    for action, key in keys.items():
        if len(key) != 1 or not key.isprintable() or key.isspace():
            problems[action] = "One key that writes a character."
        elif key in RESERVED:
            problems[action] = f"{key} belongs to every page."
        elif used[key] > 1:
            others = ", ".join(other for other in keys if keys[other] == key and other != action)
            problems[action] = f"{key} is taken twice: {others}."
    return problems


def store_keys(*, reviewer: User, keys: Mapping[str, str]) -> dict[str, str]:
    """Stores the keys that differ from the usual ones, and gives what is wrong instead if anything is."""
    chosen = usual_keys() | {action: key.lower() for action, key in keys.items() if action in ACTIONS}
    if problems := problems_of_keys(chosen):
        return problems
    own = {action: key for action, key in chosen.items() if key != ACTIONS[action][0]}
    ReviewPreference.objects.update_or_create(reviewer=reviewer, defaults={"keys": own})
    return {}
