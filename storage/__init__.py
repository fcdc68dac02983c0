"""The contract and the memory. Imports nothing of ours, no Slack, no model, no scheduler."""
