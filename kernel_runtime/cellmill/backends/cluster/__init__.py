"""Workers that somebody else's cluster starts and reaches: the scheduler stays in the kernel.

`engine.py` says what is asked of a cluster, and there is one file per engine: `dask.py`, `ray.py`.

In the kernel: `lanes.py` is the pool that the scheduler sees; each place has a `lane.py`, which begins with
`greeting.py`. `sent.py` are packs on their way, `taken.py` the tasks in them; `spreading.py` has tasks come back,
`retiring.py` ends lanes, `troubles.py` says what goes wrong.

At the other end: engines call `remote.py`; a `home.py` runs packs (`work.py`, `known.py`), among its caller's
`surroundings.py`, and gathers what is printed (`speech.py`).

Between them: `pack.py` is the bytes, `page.py` tells what runs, `clocks.py` aligns stamps; `proxies.py` keeps large
values outside, in `stores.py`.
"""
