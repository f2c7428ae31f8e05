"""``python -m cellmill``: the same as the command ``cellmill``."""

import sys

from .cli import main

if __name__ == "__main__":
    sys.exit(main())
