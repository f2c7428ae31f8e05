"""A sweep in a notebook: controls, plot and table while the kernel lives, a picture and a table of it afterwards."""

from __future__ import annotations
