"""test-runner: a suite run by its own tool, and the tool's report read."""
