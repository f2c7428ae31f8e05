"""What other processes of the same user see of a kernel, and may tell it.

A small process beside the kernel (`server`) reads figures from shared memory and answers over a socket; `serving` is
the kernel's side of it, `attached` the watcher's.
"""
