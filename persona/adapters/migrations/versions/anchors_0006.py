"""Where in its page a chunk's section begins."""

import sqlalchemy as sa
from alembic import op

revision = "0006"
down_revision = "0005"


def upgrade() -> None:
    """Unknown for chunks from before."""
    op.add_column("chunks", sa.Column("anchor", sa.Text, nullable=False, server_default=""))


def downgrade() -> None:
    """As it was."""
    op.drop_column("chunks", "anchor")
