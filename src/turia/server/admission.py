"""Who comes in: what a ticket stands for, and a request that cannot be served now. Pure."""

from __future__ import annotations

from dataclasses import dataclass

from turia.protocol.values import Role


class RefusedError(Exception):
    """A request that cannot be served now."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code


@dataclass(frozen=True)
class Admission:
    """What a ticket stands for."""

    session_id: str
    role: Role
    turn: int
    """0 for a viewer."""

    def to_text(self) -> str:
        return f"{self.role} {self.turn} {self.session_id}"

    @classmethod
    def from_text(cls, text: str) -> Admission:
        role, turn, session_id = text.split(" ", 2)
        return cls(session_id, "speaker" if role == "speaker" else "viewer", int(turn))
