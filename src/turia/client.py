"""The client's public address; it lives in `turia.protocol.client`."""

from turia.protocol.client import BusyError, Follower, LostError, Speaker, UnreachableError

__all__ = ["BusyError", "Follower", "LostError", "Speaker", "UnreachableError"]
