"""What a task says, in each way: light to import, as new workers do."""

from __future__ import annotations

import logging
import sys


def speak(number: int) -> int:
    print("out", number)
    print("err", number, file=sys.stderr)
    logging.getLogger("tests.recent").warning("log %d", number)
    return number
