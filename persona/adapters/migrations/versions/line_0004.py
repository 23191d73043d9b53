"""Places in the line in front of the model, and who began a thread."""

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"


def upgrade() -> None:
    """One table more, and a column."""
    op.add_column("threads", sa.Column("visitor", sa.Text, nullable=False, server_default=""))
    op.create_table(
        "tickets",
        sa.Column("turn", sa.Text, sa.ForeignKey("turns.id", ondelete="CASCADE"), primary_key=True),
        sa.Column("number", sa.Integer, nullable=False),
        sa.Column("visitor", sa.Text, nullable=False),
        sa.Column("network", sa.Text, nullable=False),
        sa.Column("worker", sa.Text, nullable=False),
        sa.Column("entered_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("beat_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("seen_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("began_at", sa.DateTime(timezone=True)),
        sa.Column("ended_at", sa.DateTime(timezone=True)),
    )
    op.create_index("tickets_by_end", "tickets", ["ended_at"])
    op.create_index("tickets_by_visitor", "tickets", ["visitor", "entered_at"])
    op.create_index("tickets_by_network", "tickets", ["network", "entered_at"])


def downgrade() -> None:
    """Without them."""
    op.drop_table("tickets")
    op.drop_column("threads", "visitor")
