"""The review room: taking an item under a lease, deciding on it with the five checks of A.1, and taking back.

    waiting ─► held (lease, renewed while the page is open) ─► decided ─┬─► all wanted reviews in, and agreed
       ▲          │ released, skipped, or run out                       │        ├─► accepted: corpus prompt
       ├──────────┘                                                     │        └─► rejected
       ├◄── undone by its reviewer, or withdrawn by a researcher ───────┤
       └◄── flagged, then put back                                      └─► disputed ─► adjudicated

An item has one slot for each wanted review, so that no more people than wanted can hold it. Every decision
locks the item's row first: what happens to one item happens in a line.
"""

from curation.review.deciding import decide, problems_of
from curation.review.drafts import draft_of, save_draft
from curation.review.flags import flag, resolve_flag
from curation.review.revising import adjudicate, ask_for_second_review, withdraw
from curation.review.slots import (
    claim,
    claim_next,
    open_for_review,
    queue_state,
    release,
    renew_lease,
    skip,
)
from curation.review.terms import (
    AUTOMATIC_REVIEWER,
    Evidence,
    LastAction,
    LeaseExpiredError,
    LeaseTakenError,
    NotWaitingError,
    QueueState,
    ReviewError,
    UndoError,
    VerdictInput,
)
from curation.review.undoing import last_action, undo

__all__ = [
    "AUTOMATIC_REVIEWER",
    "Evidence",
    "LastAction",
    "LeaseExpiredError",
    "LeaseTakenError",
    "NotWaitingError",
    "QueueState",
    "ReviewError",
    "UndoError",
    "VerdictInput",
    "adjudicate",
    "ask_for_second_review",
    "claim",
    "claim_next",
    "decide",
    "draft_of",
    "flag",
    "last_action",
    "open_for_review",
    "problems_of",
    "queue_state",
    "release",
    "renew_lease",
    "resolve_flag",
    "save_draft",
    "skip",
    "undo",
    "withdraw",
]
