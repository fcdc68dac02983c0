"""test-runner."""
