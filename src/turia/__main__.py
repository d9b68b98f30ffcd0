"""`python -m turia` is `turia`."""

from __future__ import annotations

import sys

from turia.cli import main

if __name__ == "__main__":
    sys.exit(main())
