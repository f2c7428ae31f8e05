"""``python -m cellmill.taps``: TaPS's command, which finds Cellmill among its executors."""

from __future__ import annotations

from taps.run.main import main

from . import CellmillConfig as CellmillConfig  # to have it registered

if __name__ == "__main__":
    raise SystemExit(main())
