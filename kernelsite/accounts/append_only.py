"""Triggers by which the database refuses to change or delete what is on the audit trail.

Against mistakes and bugs of the site. Who may drop triggers, or TRUNCATE on PostgreSQL, can still rewrite the trail.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from django.db.backends.base.base import BaseDatabaseWrapper

TABLE = "accounts_auditentry"
WORD = "the audit trail is append-only"
NAMES = {"UPDATE": "audit_no_update", "DELETE": "audit_no_delete"}

SQLITE = f"CREATE TRIGGER {{name}} BEFORE {{event}} ON {TABLE} BEGIN SELECT RAISE(ABORT, '{WORD}'); END"
POSTGRES_FUNCTION = (
    "CREATE OR REPLACE FUNCTION audit_refuse() RETURNS trigger LANGUAGE plpgsql AS "
    f"$$ BEGIN RAISE EXCEPTION '{WORD}' USING ERRCODE = 'integrity_constraint_violation'; END $$"
)
POSTGRES = f"CREATE TRIGGER {{name}} BEFORE {{event}} ON {TABLE} FOR EACH ROW EXECUTE FUNCTION audit_refuse()"


def install(connection: BaseDatabaseWrapper) -> None:
    """Make the triggers; on other databases there are none."""
    template = {"sqlite": SQLITE, "postgresql": POSTGRES}.get(connection.vendor)
    if template is None:
        return
    with connection.cursor() as cursor:
        if connection.vendor == "postgresql":
            cursor.execute(POSTGRES_FUNCTION)
        for event, name in NAMES.items():
            cursor.execute(template.format(name=name, event=event))


def remove(connection: BaseDatabaseWrapper) -> None:
    """Take the triggers away."""
    on = f" ON {TABLE}" if connection.vendor == "postgresql" else ""
    with connection.cursor() as cursor:
        for name in NAMES.values():
            cursor.execute(f"DROP TRIGGER IF EXISTS {name}{on}")
