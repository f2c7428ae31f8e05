"""Runs that last: a file for each run, what reads it again, and what is made of it."""
