"""What people see, hear and are answered, over the local workspace."""
