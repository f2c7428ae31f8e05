"""Random numbers of tasks: which generators functions refer to, and which child of them a task draws from."""
