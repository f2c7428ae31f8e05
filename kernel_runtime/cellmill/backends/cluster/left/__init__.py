"""What an executor with a name leaves on its cluster, for kernels that come later.

`keeping.py` puts it there, `reattaching.py` brings it.
"""
