"""What tests of the fleet stand on: a repository, a scripted model, a change step."""
