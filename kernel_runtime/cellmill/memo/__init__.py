"""Results that are kept: `memo=` of a parallel function, and `checkpoint=` of a map."""

from __future__ import annotations
