"""The words of errors and notices: names of calls and tasks, lines of the user's code, causes, advice."""
