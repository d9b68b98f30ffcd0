"""Turia translates speech-like text while it is being spoken."""

from __future__ import annotations

__version__ = "0.1.0"
