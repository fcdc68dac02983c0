"""What all code workers stand on: repositories, git by plumbing, subtasks, acceptance, the gate."""
