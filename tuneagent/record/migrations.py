"""The tables, as numbered steps: step n makes schema n of schema n - 1. A step that was released is never changed."""

from __future__ import annotations

APPLICATION_ID = 0x74756E65
"""``tune``: what file(1) and we know the database by."""

_FIRST = (
    # What a list shows stands in columns of its own; all else is in documents, as it was on the day.
    """
    CREATE TABLE trial (
        id INTEGER PRIMARY KEY AUTOINCREMENT,
        began_ns INTEGER NOT NULL,
        ended_ns INTEGER,
        version TEXT NOT NULL,
        policy TEXT NOT NULL,
        subject TEXT NOT NULL,
        title TEXT NOT NULL,
        primary_metric TEXT NOT NULL,
        state TEXT NOT NULL,
        decision TEXT,
        kept INTEGER,
        transaction_id INTEGER,
        percent REAL,
        low_percent REAL,
        high_percent REAL,
        pairs INTEGER,
        rounds INTEGER NOT NULL DEFAULT 0,
        origin TEXT NOT NULL
    ) STRICT
    """,
    "CREATE INDEX trial_newest ON trial (began_ns DESC, id DESC)",
    "CREATE INDEX trial_running ON trial (state) WHERE state = 'running'",
    """
    CREATE TABLE document (
        trial INTEGER NOT NULL REFERENCES trial (id) ON DELETE CASCADE,
        kind TEXT NOT NULL,
        body BLOB NOT NULL,
        PRIMARY KEY (trial, kind)
    ) STRICT
    """,
    """
    CREATE TABLE round (
        trial INTEGER NOT NULL REFERENCES trial (id) ON DELETE CASCADE,
        place INTEGER NOT NULL,
        body BLOB NOT NULL,
        PRIMARY KEY (trial, place)
    ) STRICT
    """,
    # Append-only, also for whoever writes the next version of this program.
    """
    CREATE TRIGGER document_stays BEFORE UPDATE ON document
    BEGIN SELECT RAISE(ABORT, 'a document is never changed'); END
    """,
    """
    CREATE TRIGGER round_stays BEFORE UPDATE ON round
    BEGIN SELECT RAISE(ABORT, 'a round is never changed'); END
    """,
    """
    CREATE TRIGGER ended_stays BEFORE UPDATE ON trial WHEN OLD.state <> 'running'
    BEGIN SELECT RAISE(ABORT, 'a trial that ended is never changed'); END
    """,
)

MIGRATIONS: tuple[tuple[str, ...], ...] = (_FIRST,)
"""Statements of each step."""
