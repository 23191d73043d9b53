"""Brings a database to the tables of this version; each change of the tables is one file in `versions`.

Runs inside a transaction that its caller began and that keeps other processes out, so that of two processes that open
a fresh database one makes the tables and the other finds them. Alembic is imported only where there is work for it.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from threading import Lock

from sqlalchemy import Connection, inspect, text

from persona.errors import StoreError

HEAD = "0006"  # the newest revision in `versions`
_HERE = Path(__file__).parent
_one_at_a_time = Lock()  # alembic's context belongs to the process, not to the thread


def revision(connection: Connection) -> str:
    """The revision that the database is at; empty when it was never migrated."""
    if not inspect(connection).has_table("alembic_version"):
        return ""
    return str(connection.scalar(text("SELECT version_num FROM alembic_version")) or "")


def migrate(connection: Connection, keep_copy: Callable[[str], None], head: str = HEAD, versions: str = "") -> None:
    """Bring the database to `head`; before an older one is changed `keep_copy` is called with its revision.

    `versions` names other folders of revisions, parted as in PATH. Raises StoreError for a database that a newer
    version has migrated.
    """
    current = revision(connection)
    if current == head:
        return
    with _one_at_a_time:
        _upgrade(connection, current, lambda: keep_copy(current), head, versions)


def _upgrade(connection: Connection, current: str, keep_copy: Callable[[], None], head: str, versions: str) -> None:
    from alembic.command import upgrade
    from alembic.config import Config
    from alembic.script import ScriptDirectory

    config = Config(attributes={"connection": connection})
    config.set_main_option("script_location", str(_HERE).replace("%", "%%"))
    config.set_main_option("path_separator", "os")
    if versions:
        config.set_main_option("version_locations", versions.replace("%", "%%"))
    known = {script.revision for script in ScriptDirectory.from_config(config).walk_revisions()}
    if current and current not in known:
        raise StoreError(
            f"A newer version of persona has written this database (revision {current}): update persona, or name "
            "another database in PERSONA_DATABASE."
        )
    if current:
        keep_copy()
    upgrade(config, head)
