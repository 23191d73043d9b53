"""What Alembic runs to migrate: over the connection that `migrate` hands in, leaving logging alone.

Without a connection (`alembic upgrade --sql`, or the tests) it writes the statements for the dialect named in the
attribute "dialect".
"""

from alembic import context

from persona.adapters.tables import metadata

_attributes = context.config.attributes
if connection := _attributes.get("connection"):
    context.configure(connection=connection, target_metadata=metadata, render_as_batch=True)
else:
    context.configure(dialect_name=_attributes["dialect"], target_metadata=metadata, literal_binds=True)
with context.begin_transaction():
    context.run_migrations()
