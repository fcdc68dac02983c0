"""What people say in a plan's thread, as an act: cancel it, ask about it, change it, have it again. Pure."""
