"""Where a build's text was read and the picture of its page."""

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"


def upgrade() -> None:
    """Builds from before know of neither."""
    op.add_column("builds", sa.Column("origin", sa.Text))
    op.add_column("builds", sa.Column("picture", sa.Text))
    op.execute("UPDATE builds SET origin = '' WHERE state = 'ready'")


def downgrade() -> None:
    """As they were."""
    op.drop_column("builds", "picture")
    op.drop_column("builds", "origin")
