"""What the review room asks the database on every item, written by hand: it has to be quick.

`%(reviewer)s` is the reviewer's id, `%(item)s` a reconstruction's, `%(now)s` the time, `%(until)s` when a new
lease ends.
"""

from __future__ import annotations

LOCK_REVIEWER = "SELECT pg_advisory_xact_lock(%(lock)s, %(reviewer)s)"

NO_HURRY = "SELECT set_config('synchronous_commit', 'off', true)"
"""A lease that a crash of the database forgets is a free item again: a claim need not wait for the disk."""

LEASE_MINUTES = "SELECT lease_minutes FROM curation_curationpolicy WHERE id = 1"

_UNREVIEWED = """
    NOT EXISTS (
        SELECT FROM curation_review AS review
        WHERE review.reconstruction_id = slot.reconstruction_id
            AND review.reviewer_id = %(reviewer)s AND review.withdrawn_at IS NULL)
"""

_LEASED = """
    UPDATE curation_reviewslot
    SET holder_id = %(reviewer)s, held_since = %(now)s, lease_expires_at = %(until)s
"""


def _take(skips: str, order: str) -> str:
    """A slot that changed since the statement began is looked at again under its lock, so that one which was
    just leased is passed over. A reviewer who holds nothing has no other slot of the item."""
    return f"""
        WITH mine AS (
            SELECT id FROM curation_reviewslot
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
            {_LEASED} WHERE id = (SELECT id FROM free) RETURNING id
        )
        SELECT id FROM mine UNION ALL SELECT id FROM taken
    """  # noqa: S608 - of the constants below


TAKE_NEXT = _take(
    """
    WHERE NOT EXISTS (
        SELECT FROM curation_reviewskip AS skip
        WHERE skip.reconstruction_id = slot.reconstruction_id AND skip.reviewer_id = %(reviewer)s)
    """,
    "slot.id",
)
"""The id of the slot that the reviewer holds, else of the oldest free one that they have not skipped."""

TAKE_SKIPPED = _take(
    """
    JOIN curation_reviewskip AS skip ON skip.reconstruction_id = slot.reconstruction_id
    WHERE skip.reviewer_id = %(reviewer)s
    """,
    "skip.created_at, slot.id",
)
"""The same of those that they have skipped, in that order."""

QUEUE_STATE = f"""
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
        ORDER BY slot.id LIMIT %(most)s
    ), held AS (
        SELECT lease_expires_at FROM curation_reviewslot AS slot
        WHERE slot.holder_id <> %(reviewer)s AND slot.lease_expires_at > %(now)s
            AND slot.review_id IS NULL AND NOT slot.suspended AND {_UNREVIEWED}
    )
    SELECT (SELECT count(*) FROM free), (SELECT count(*) FROM held), (SELECT min(lease_expires_at) FROM held)
"""  # noqa: S608 - of the constants above
"""How many items are free for the reviewer, counted up to `most`; how many slots others hold, until when."""

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
        VALUES (%(item)s, %(reviewer)s, %(decision)s, %(automatic)s, %(adjudication)s,
            %(opened_at)s, %(seconds)s, %(now)s, '')
        RETURNING id
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
    SELECT id FROM review
"""
"""A review with its verdicts, in its slot if it has one; the reviewer's draft and skip have served."""

STORE_STATE = """
    UPDATE curation_reconstruction
    SET state = %(state)s, state_reason = %(state_reason)s, agreement = %(agreement)s,
        wanted_reviews = %(wanted)s
    WHERE id = %(item)s
"""

MAKE_PROMPT = """
    INSERT INTO curation_corpusprompt (reconstruction_id, text, language, excluded_because, created_at)
    SELECT id, text, language, '', %(now)s FROM curation_reconstruction WHERE id = %(item)s
    ON CONFLICT (reconstruction_id) DO NOTHING RETURNING id
"""

WITHDRAW_PROMPT = """
    UPDATE curation_corpusprompt
    SET withdrawn_at = %(now)s,
        excluded_because = CASE WHEN excluded_because = '' THEN %(because)s ELSE excluded_because END
    WHERE reconstruction_id = %(item)s AND withdrawn_at IS NULL RETURNING id
"""

DROP_OPEN_SLOTS = "DELETE FROM curation_reviewslot WHERE reconstruction_id = %(item)s AND review_id IS NULL"

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
