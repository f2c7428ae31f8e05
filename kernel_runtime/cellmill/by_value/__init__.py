"""Functions, classes and what they refer to, by value: the pickler for them, and whether all of it is as it was."""
