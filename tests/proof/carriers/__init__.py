"""Both carriers under what a published benchmark of queues does to them: python -m tests.proof.carriers."""
