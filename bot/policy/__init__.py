"""Who may, what a plan needs, what proves who somebody is. Reads no row and asks no Slack."""
