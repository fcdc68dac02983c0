"""What people wait for, and what it costs Slack: python -m tests.bench.hot."""
