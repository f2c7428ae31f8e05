"""Tasks on worker processes of this machine: csched in this process, a warm pool beside it.

A task's path in the kernel begins at `sender.Sender.submit`. Worker processes import `scheduler` from here
too, so nothing is imported in this file.
"""
