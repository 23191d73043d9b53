"""When the revision was written that a build was made of."""

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = "0004"


def upgrade() -> None:
    """Unknown for builds from before."""
    op.add_column("builds", sa.Column("revised_at", sa.DateTime(timezone=True)))


def downgrade() -> None:
    """As it was."""
    op.drop_column("builds", "revised_at")
