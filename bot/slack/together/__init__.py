"""Several bots that speak to one Slack: each line by one at a time, and the pace of all of them."""
