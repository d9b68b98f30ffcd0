"""The client's public address; it lives in `turia.protocol.client`."""

from turia.protocol.calls import BusyError, UnreachableError
from turia.protocol.client import Follower, LostError, Speaker

__all__ = ["BusyError", "Follower", "LostError", "Speaker", "UnreachableError"]
