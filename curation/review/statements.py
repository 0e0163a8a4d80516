"""What the review room asks the database on every item, written by hand: it has to be quick.

`%(reviewer)s` is the reviewer's id, `%(item)s` a reconstruction's, `%(now)s` the time, `%(usual_minutes)s` a
lease's length before anybody has stored one.
"""

from __future__ import annotations

from functools import cache

from curation.review.texts import SLOT_WITH_TEXTS

LOCK_REVIEWER = "SELECT pg_advisory_xact_lock(%(lock)s, %(reviewer)s)"

LOCK_REVIEWER_IN_NO_HURRY = """
    SELECT pg_advisory_xact_lock(%(lock)s, %(reviewer)s), set_config('synchronous_commit', 'off', true)
"""
"""A lease that a crash of the database forgets is a free item again: a claim need not wait for the disk."""

_LEASE_END = """
    %(now)s + make_interval(mins => COALESCE(
        (SELECT lease_minutes FROM curation_curationpolicy WHERE id = 1), %(usual_minutes)s))
"""

_LEASED = f"""
    UPDATE curation_reviewslot
    SET holder_id = %(reviewer)s, lease_expires_at = {_LEASE_END}, held_since = CASE
        WHEN holder_id = %(reviewer)s AND lease_expires_at > %(now)s THEN held_since ELSE %(now)s END
"""  # noqa: S608 - of the constant above
"""A renewal keeps the time since when the item is held."""

LEASE = f"WITH slot AS ({_LEASED} WHERE id = %(slot)s RETURNING *) {SLOT_WITH_TEXTS}"
"""Leases a slot that the caller has locked."""

RENEW = f"""
    UPDATE curation_reviewslot SET lease_expires_at = {_LEASE_END}
    WHERE reconstruction_id = %(item)s AND holder_id = %(reviewer)s AND review_id IS NULL
        AND lease_expires_at > %(now)s
    RETURNING lease_expires_at
"""  # noqa: S608 - of the constant above

_REVIEWED = """
    EXISTS (
        SELECT FROM curation_review AS review
        WHERE review.reconstruction_id = slot.reconstruction_id
            AND review.reviewer_id = %(reviewer)s AND review.withdrawn_at IS NULL)
"""
_UNREVIEWED = f"NOT {_REVIEWED}"


def _take(skips: str, order: str) -> str:
    """A slot that changed since the statement began is looked at again under its lock, so that one which was
    just leased is passed over. A reviewer who holds nothing has no other slot of the item."""
    return f"""
        WITH mine AS (
            SELECT * FROM curation_reviewslot
            WHERE holder_id = %(reviewer)s AND review_id IS NULL AND lease_expires_at > %(now)s
            ORDER BY lease_expires_at DESC LIMIT 1
        ), free AS (
            SELECT slot.id FROM curation_reviewslot AS slot {skips}
            AND NOT EXISTS (SELECT FROM mine)
            AND slot.review_id IS NULL AND NOT slot.suspended
            AND (slot.holder_id IS NULL OR slot.lease_expires_at <= %(now)s)
            AND {_UNREVIEWED}
            ORDER BY {order} LIMIT 1 FOR NO KEY UPDATE OF slot SKIP LOCKED
        ), taken AS (
            {_LEASED} WHERE id = (SELECT id FROM free) RETURNING *
        ), slot AS (
            SELECT * FROM mine UNION ALL SELECT * FROM taken
        )
        {SLOT_WITH_TEXTS}
    """  # noqa: S608 - of the constants below


TAKE_NEXT = _take(
    """
    WHERE NOT EXISTS (
        SELECT FROM curation_reviewskip AS skip
        WHERE skip.reconstruction_id = slot.reconstruction_id AND skip.reviewer_id = %(reviewer)s)
    """,
    "slot.id",
)
"""The slot that the reviewer holds, else of the oldest free one that they have not skipped."""

TAKE_SKIPPED = _take(
    """
    JOIN curation_reviewskip AS skip ON skip.reconstruction_id = slot.reconstruction_id
    WHERE skip.reviewer_id = %(reviewer)s
    """,
    "skip.created_at, slot.id",
)
"""The same of those that they have skipped, in that order."""


@cache
def queue_state(most: int) -> str:
    """How many items are free for the reviewer, counted up to `most`; how many slots others hold, until when.

    `most` stands in the statement, because a limit that is not known makes the database plan anew each time.
    """
    return f"""
    WITH free AS (
        SELECT FROM curation_reviewslot AS slot
        WHERE slot.review_id IS NULL AND NOT slot.suspended
            AND (slot.holder_id IS NULL OR slot.lease_expires_at <= %(now)s OR slot.holder_id = %(reviewer)s)
            AND {_UNREVIEWED}
            AND (slot.number = 0 OR NOT EXISTS (
                SELECT FROM curation_reviewslot AS earlier
                WHERE earlier.reconstruction_id = slot.reconstruction_id AND earlier.number < slot.number
                    AND earlier.review_id IS NULL AND NOT earlier.suspended
                    AND (earlier.holder_id IS NULL OR earlier.lease_expires_at <= %(now)s
                        OR earlier.holder_id = %(reviewer)s)))
        ORDER BY slot.id LIMIT {most:d}
    ), held AS (
        SELECT lease_expires_at FROM curation_reviewslot AS slot
        WHERE slot.holder_id <> %(reviewer)s AND slot.lease_expires_at > %(now)s
            AND slot.review_id IS NULL AND NOT slot.suspended AND {_UNREVIEWED}
    )
    SELECT (SELECT count(*) FROM free), (SELECT count(*) FROM held), (SELECT min(lease_expires_at) FROM held)
    """  # noqa: S608 - of the constants above and a number


LEFT_FOR_OTHERS = f"""
    SELECT
        (SELECT count(DISTINCT slot.reconstruction_id) FROM curation_reviewslot AS slot
            WHERE slot.review_id IS NULL AND NOT slot.suspended AND {_REVIEWED}),
        (SELECT count(*) FROM curation_reconstruction WHERE state = 'flagged'),
        (SELECT count(*) FROM curation_reconstruction WHERE state = 'disputed')
"""  # noqa: S608 - of the constant above
"""Items that the reviewer has read and somebody else has to, that are put aside, that await adjudication."""

OPINIONS = """
    SELECT review.decision, review.adjudication, review.reviewer_id,
        array_agg(verdict.check_name) FILTER (WHERE verdict.id IS NOT NULL),
        array_agg(verdict.verdict) FILTER (WHERE verdict.id IS NOT NULL)
    FROM curation_review AS review LEFT JOIN curation_checkverdict AS verdict ON verdict.review_id = review.id
    WHERE review.reconstruction_id = %(item)s AND review.withdrawn_at IS NULL
    GROUP BY review.id ORDER BY review.id DESC
"""

STORE_REVIEW = """
    WITH review AS (
        INSERT INTO curation_review (reconstruction_id, reviewer_id, decision, automatic, adjudication,
            opened_at, seconds, created_at, withdrawn_because)
        VALUES (%(item)s, %(reviewer)s, %(decision)s, %(automatic)s, %(adjudication)s, %(opened_at)s,
            COALESCE(%(seconds)s, (SELECT seconds FROM curation_reviewdraft
                WHERE reconstruction_id = %(item)s AND reviewer_id = %(reviewer)s)),
            %(now)s, '')
        RETURNING id, seconds
    ), verdicts AS (
        INSERT INTO curation_checkverdict (review_id, check_name, verdict, note, evidence)
        SELECT review.id, given.* FROM review, unnest(
            %(checks)s::text[], %(verdicts)s::text[], %(notes)s::text[], %(evidence)s::jsonb[]) AS given
    ), filled AS (
        UPDATE curation_reviewslot
        SET review_id = review.id, holder_id = NULL, held_since = NULL, lease_expires_at = NULL
        FROM review WHERE curation_reviewslot.id = %(slot)s
    ), drafts AS (
        DELETE FROM curation_reviewdraft WHERE reconstruction_id = %(item)s AND reviewer_id = %(reviewer)s
    ), skips AS (
        DELETE FROM curation_reviewskip WHERE reconstruction_id = %(item)s AND reviewer_id = %(reviewer)s
    )
    SELECT id, seconds FROM review
"""
"""A review with its verdicts, in its slot if it has one; the reviewer's draft and skip have served. Without
seconds of its own it has those of the draft."""

STORE_STATE = """
    WITH item AS (
        UPDATE curation_reconstruction
        SET state = %(state)s, state_reason = %(state_reason)s, agreement = %(agreement)s,
            wanted_reviews = %(wanted)s
        WHERE id = %(item)s
        RETURNING id, state, text, language
    ), slots AS (
        DELETE FROM curation_reviewslot
        WHERE %(state)s IN ('accepted', 'rejected') AND reconstruction_id = %(item)s AND review_id IS NULL
    )
    INSERT INTO curation_corpusprompt (reconstruction_id, text, language, excluded_because, created_at)
    SELECT id, text, language, '', %(now)s FROM item WHERE state = 'accepted'
    ON CONFLICT (reconstruction_id) DO NOTHING RETURNING id
"""
"""An item's state. One that is settled needs no more reviews; one that is accepted has a corpus prompt, and
if this makes it, its id is given."""

WITHDRAW_PROMPT = """
    UPDATE curation_corpusprompt
    SET withdrawn_at = %(now)s,
        excluded_because = CASE WHEN excluded_because = '' THEN %(because)s ELSE excluded_because END
    WHERE reconstruction_id = %(item)s AND withdrawn_at IS NULL RETURNING id
"""

LAST_ACTION = """
    SELECT kind, item, at FROM (
        (SELECT decision AS kind, reconstruction_id AS item, created_at AS at FROM curation_review
            WHERE reviewer_id = %(reviewer)s AND withdrawn_at IS NULL AND NOT adjudication
            ORDER BY created_at DESC LIMIT 1)
        UNION ALL
        (SELECT 'skip', reconstruction_id, created_at FROM curation_reviewskip
            WHERE reviewer_id = %(reviewer)s ORDER BY created_at DESC LIMIT 1)
        UNION ALL
        (SELECT 'flag', reconstruction_id, created_at FROM curation_reviewflag
            WHERE reviewer_id = %(reviewer)s AND resolved_at IS NULL ORDER BY created_at DESC LIMIT 1)
    ) AS actions WHERE at > %(since)s ORDER BY at DESC LIMIT 1
"""
