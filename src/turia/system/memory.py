"""How the C library hands out memory."""

from __future__ import annotations

import ctypes
import sys

# From glibc's malloc.h.
_M_TRIM_THRESHOLD, _M_MMAP_MAX = -1, -4
_MOST = 2**31 - 1


def keep_freed_memory() -> bool:
    """Lets this process keep what it frees, for what it allocates next. Whether the C library can do it: glibc can.

    By default, glibc takes each large block from the kernel and gives it back at once, and the kernel clears a new
    block page by page. Work that allocates and frees tens of megabytes again and again spends a good part of its time
    on that.
    """
    if not sys.platform.startswith("linux"):
        return False
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt is None:  # musl
        return False
    # No block comes from the kernel alone, and the heap is not cut back (but for what is more than 2 GiB at its end).
    return bool(mallopt(_M_MMAP_MAX, 0) and mallopt(_M_TRIM_THRESHOLD, _MOST))
