"""Workers that somebody else's cluster starts and reaches: the scheduler stays in the kernel.

``engine.py`` says what is asked of a cluster, and there is one file per engine; ``lanes.py`` is the pool that the
scheduler sees; ``remote.py`` is all that runs at the other end.
"""
