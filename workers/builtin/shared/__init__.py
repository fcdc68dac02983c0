"""What several workers use."""
