"""Run by Alembic. The connection is handed over by `storage.database.engine.migrate`."""

from alembic import context

context.configure(connection=context.config.attributes["connection"], target_metadata=None)
context.run_migrations()
