"""How errors and notices read: names of calls and tasks, lines of the user's code, causes, advice."""
