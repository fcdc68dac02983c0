"""What a monitor asks."""
