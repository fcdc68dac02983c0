"""What several built-in workers use: inventory entries, HTTP origins, values out of JSON. No worker."""
