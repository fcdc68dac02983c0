"""Everything at once for a long time, on real processes; and what other long runs share with it."""
