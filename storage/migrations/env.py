"""Run by Alembic. The connection is handed over by `storage.engine.migrate`."""

from alembic import context

context.configure(connection=context.config.attributes["connection"], target_metadata=None)
context.run_migrations()
