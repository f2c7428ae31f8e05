"""Tasks through the C scheduler in this process, whatever its workers are.

A task's path in the kernel begins at `sender.Sender.submit`. Worker processes import `scheduler` from here
too, so nothing is imported in this file.
"""
