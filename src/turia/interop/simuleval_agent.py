"""`turia.interop.simuleval_agent.TuriaAgent` of release 0.1: now in `turia.formats.simuleval_agent`."""

from turia.formats.simuleval_agent import TuriaAgent

__all__ = ["TuriaAgent"]
