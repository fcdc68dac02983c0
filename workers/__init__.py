"""Execution: claim, run, report. Holds the infrastructure credentials; never speaks to Slack."""
