"""What several built-in workers use: inventory entries, HTTP origins, a cluster's client. No worker."""
