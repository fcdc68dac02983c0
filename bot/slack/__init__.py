"""The edge to Slack: what comes in becomes a row, what rows say is shown. No policy is applied here."""
