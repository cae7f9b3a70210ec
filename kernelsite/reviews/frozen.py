"""Triggers by which the database refuses to change a release, or an entry of a review's timeline.

Deleting is refused by foreign keys where something rests on a row; tests and a team's own database may be emptied.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from django.db.backends.base.base import BaseDatabaseWrapper

TABLES = {"reviews_release": "a release is never changed", "reviews_entry": "a timeline is never changed"}

SQLITE = "CREATE TRIGGER {table}_frozen BEFORE UPDATE ON {table} BEGIN SELECT RAISE(ABORT, '{word}'); END"
POSTGRES_FUNCTION = (
    "CREATE OR REPLACE FUNCTION {table}_refuse() RETURNS trigger LANGUAGE plpgsql AS "
    "$$ BEGIN RAISE EXCEPTION '{word}' USING ERRCODE = 'integrity_constraint_violation'; END $$"
)
POSTGRES = (
    "CREATE TRIGGER {table}_frozen BEFORE UPDATE ON {table} FOR EACH ROW EXECUTE FUNCTION {table}_refuse()"
)


def install(connection: BaseDatabaseWrapper) -> None:
    """Make the triggers; on other databases there are none."""
    templates = {"sqlite": [SQLITE], "postgresql": [POSTGRES_FUNCTION, POSTGRES]}
    with connection.cursor() as cursor:
        for table, word in TABLES.items():
            for template in templates.get(connection.vendor, []):
                cursor.execute(template.format(table=table, word=word))


def remove(connection: BaseDatabaseWrapper) -> None:
    """Take the triggers away."""
    with connection.cursor() as cursor:
        for table in TABLES:
            on = f" ON {table}" if connection.vendor == "postgresql" else ""
            cursor.execute(f"DROP TRIGGER IF EXISTS {table}_frozen{on}")
