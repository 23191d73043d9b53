"""Which branch of a thread is read, threads that can be deleted and searched, and what readers think of answers."""

import json

import sqlalchemy as sa
from alembic import op

from persona.text import unaccented

revision = "0003"
down_revision = "0002"
_NEWEST = "(SELECT id FROM turns WHERE turns.thread = threads.id ORDER BY number DESC LIMIT 1)"


def upgrade() -> None:
    """The columns, filled for what is there."""
    op.add_column("threads", sa.Column("shown", sa.Text))
    op.add_column("threads", sa.Column("deleted_at", sa.DateTime(timezone=True)))
    op.add_column("turns", sa.Column("said", sa.Text, nullable=False, server_default=""))
    op.create_table(
        "ratings",
        sa.Column("turn", sa.Text, sa.ForeignKey("turns.id"), primary_key=True),
        sa.Column("good", sa.Boolean, nullable=False),
        sa.Column("why", sa.Text, nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
    )
    op.execute(f"UPDATE threads SET shown = {_NEWEST}")  # noqa: S608 - a constant
    if not op.get_context().as_sql:
        _fill_said(op.get_bind())


def downgrade() -> None:
    """Back to the tables before; ratings are lost."""
    op.drop_table("ratings")
    op.drop_column("turns", "said")
    op.drop_column("threads", "deleted_at")
    op.drop_column("threads", "shown")


def _fill_said(connection: sa.Connection) -> None:
    rows = connection.execute(sa.text("SELECT id, question, answer, partial FROM turns")).all()
    fill = sa.text("UPDATE turns SET said = :said WHERE id = :id")
    for id_, question, answer, partial in rows:
        answered = json.loads(answer)["text"] if answer else partial
        said = unaccented(f"{json.loads(question)['asked']}\n{answered}")
        connection.execute(fill, {"id": id_, "said": said})
