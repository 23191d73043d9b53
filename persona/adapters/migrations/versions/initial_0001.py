"""The first tables. A revision is never edited once released: it says what the tables were then."""

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None


def upgrade() -> None:
    """From nothing."""
    _builds()
    _people()
    _chunks()
    _threads()
    _turns()


def downgrade() -> None:
    """Back to nothing."""
    for table in ("turns", "threads", "chunks", "people", "builds"):
        op.drop_table(table)


def _builds() -> None:
    op.create_table(
        "builds",
        sa.Column("id", sa.Text, primary_key=True),
        sa.Column("state", sa.String(16), nullable=False),
        sa.Column("worker", sa.Text, nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("person", sa.Text),
        sa.Column("title", sa.Text),
        sa.Column("url", sa.Text),
        sa.Column("revision", sa.Text),
        sa.Column("fetched_at", sa.DateTime(timezone=True)),
        sa.Column("embedder", sa.Text),
        sa.Column("dimension", sa.Integer),
        sa.Column("chunker", sa.Text),
        sa.Column("sections", sa.Text),
        sa.Column("chunks", sa.Integer),
        sa.Column("left_out", sa.Text),
        sa.Column("living", sa.Boolean),
        sa.Column("description", sa.Text),
    )
    op.create_index("builds_by_person", "builds", ["person"])


def _people() -> None:
    op.create_table(
        "people",
        sa.Column("id", sa.Text, primary_key=True),
        sa.Column("source", sa.Text, nullable=False),
        sa.Column("api", sa.Text, nullable=False),
        sa.Column("language", sa.Text, nullable=False),
        sa.Column("title", sa.Text, nullable=False),
        sa.Column("build", sa.Text, sa.ForeignKey("builds.id")),
        sa.UniqueConstraint("source", "api", "language", "title", name="people_are_unique"),
    )
    op.create_index("people_by_build", "people", ["build"])


def _chunks() -> None:
    op.create_table(
        "chunks",
        sa.Column("build", sa.Text, sa.ForeignKey("builds.id", ondelete="CASCADE"), primary_key=True),
        sa.Column("position", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("id", sa.Text, nullable=False),
        sa.Column("path", sa.Text, nullable=False),
        sa.Column("text", sa.Text, nullable=False),
        sa.Column("sha", sa.Text, nullable=False),
        sa.UniqueConstraint("build", "id", name="chunks_are_unique"),
    )


def _threads() -> None:
    op.create_table(
        "threads",
        sa.Column("id", sa.Text, primary_key=True),
        sa.Column("person", sa.Text, sa.ForeignKey("people.id"), nullable=False),
        sa.Column("title", sa.Text, nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("updated_at", sa.DateTime(timezone=True), nullable=False),
    )
    op.create_index("threads_by_person", "threads", ["person", "updated_at"])
    op.create_index("threads_by_time", "threads", ["updated_at"])


def _turns() -> None:
    op.create_table(
        "turns",
        sa.Column("id", sa.Text, primary_key=True),
        sa.Column("thread", sa.Text, sa.ForeignKey("threads.id"), nullable=False),
        sa.Column("number", sa.Integer, nullable=False),
        sa.Column("parent", sa.Text, sa.ForeignKey("turns.id")),
        sa.Column("request_id", sa.Text, nullable=False),
        sa.Column("state", sa.String(16), nullable=False),
        sa.Column("worker", sa.Text, nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("partial", sa.Text, nullable=False),
        sa.Column("step", sa.Text, nullable=False),
        sa.Column("error", sa.Text, nullable=False),
        sa.Column("question", sa.Text, nullable=False),
        sa.Column("answer", sa.Text),
        sa.Column("trace", sa.Text, nullable=False),
        sa.UniqueConstraint("thread", "number", name="turns_are_numbered"),
        sa.UniqueConstraint("request_id", name="requests_are_unique"),
    )
    op.create_index("turns_by_parent", "turns", ["parent"])
    op.create_index("turns_by_state", "turns", ["state"])
