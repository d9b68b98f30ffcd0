"""What a policy costs: model calls for each source word, and source words a second.

Calls are counted where a stream asks for them, so they are the same alone and in a batch, on any machine. One call may
have several rows (a draft that is verified) or several hypotheses (a beam). The speed is that of one stream alone.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from rich import box
from rich.table import Table

from turia.engine.backend import Backend, Requests, Steps, T, run_steps
from turia.engine.stream import Stream
from turia.errors import InputError
from turia.policy.base import Policy
from turia.policy.waitk import WaitK
from turia.runtime.kernels import named
from turia.runtime.translator import Translator

SAMPLES = Path(__file__).parents[1] / "server" / "static"
clock = time.process_time
"""One thread: on a free core this is the time on the clock, and other jobs do not count."""


@dataclass
class CallMeter:
    """Counts what streams ask of the model."""

    calls: int = 0
    requests: int = 0
    """Hypotheses of all calls."""
    rows: int = 0
    """Positions of all hypotheses."""

    def count(self, steps: Steps[T]) -> Steps[T]:
        """The same steps, counted."""
        result: Any = None
        while True:
            try:
                asked = steps.send(result)
            except StopIteration as done:
                value: T = done.value
                return value
            self._note(asked)
            result = yield asked

    def _note(self, asked: Requests) -> None:
        self.calls += 1
        self.requests += len(asked)
        self.rows += sum(len(request.ids) for request in asked)


@dataclass(frozen=True)
class Cost:
    """What the translation of a text took."""

    words: int
    """Of the source."""
    calls: int
    requests: int
    rows: int
    seconds: float | None = None
    """Processor time of one stream alone; None where that was not measured."""

    @property
    def calls_per_word(self) -> float:
        return self.calls / max(1, self.words)

    @property
    def words_per_second(self) -> float | None:
        return self.words / self.seconds if self.seconds else None

    def as_json(self) -> dict[str, float]:
        found = {"calls_per_word": self.calls_per_word, "words_per_second": self.words_per_second}
        return {name: round(value, 3) for name, value in found.items() if value is not None}


def time_alone(stream: Stream, backend: Backend, words: Sequence[str]) -> Cost:
    """Translates `words` in one stream, and closes its last sentence."""
    meter = CallMeter()
    began = clock()
    for word in words:
        run_steps(meter.count(stream.push_steps(word)), backend)
    run_steps(meter.count(stream.pause_steps()), backend)
    return Cost(len(words), meter.calls, meter.requests, meter.rows, clock() - began)


# --- turia bench --policy ---------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class PolicyCost:
    """A row of the table."""

    policy: str
    beam: int
    cost: Cost
    to_wait_k: float
    """Its time for a word, over that of wait-k with the same beam."""


@dataclass(frozen=True)
class PolicyCosts:
    """What `turia bench --policy` found."""

    model: str
    kernels: str
    """What computed."""
    rows: list[PolicyCost]

    def as_json(self) -> dict[str, Any]:
        rows = [asdict(row) | row.cost.as_json() for row in self.rows]
        return {"model": self.model, "kernels": self.kernels, "policies": rows}

    def table(self) -> Table:
        table = Table(title=f"{self.model}: what policies cost; {self.kernels}", box=box.SIMPLE_HEAD)
        table.add_column("policy", overflow="fold")
        for name in ("beam", "calls a word", "rows a word", "words/s", "time to wait-k"):
            table.add_column(name, justify="right")
        for row in self.rows:
            cost = row.cost
            table.add_row(
                row.policy,
                str(row.beam),
                f"{cost.calls_per_word:.1f}",
                f"{cost.rows / cost.words:.1f}",
                f"{cost.words_per_second or 0:.0f}",
                f"{row.to_wait_k:.2f}",
            )
        return table


def policy_costs(
    translator: Translator,
    policies: Sequence[Policy],
    beams: Sequence[int],
    words: int,
    show: Callable[[float, str], None],
) -> PolicyCosts:
    """Each policy and, for comparison, wait-k, on the sample speech of the model's language."""
    said = sample(translator.model.languages[0])
    said = (said * (1 + words // len(said)))[:words]
    every = [policy for policy in policies if str(policy) != str(WaitK())]
    for policy in every:
        # What the model cannot do, such as a policy whose heads it lacks, is refused before anything is measured.
        translator.stream(policy=policy)
    rows: list[PolicyCost] = []
    total = len(beams) * (1 + len(every))
    for beam in beams:
        base: float | None = None
        for policy in (WaitK(), *every):
            show(len(rows) / total, f"{policy}, beam {beam}")
            # Twice: the first time graphs are loaded.
            for text in (said[:20], said):
                stream = translator.stream(policy=policy, beam=beam)
                cost = time_alone(stream, translator.model.backend, text)
            seconds = cost.seconds or 0.0
            base = base or seconds
            rows.append(PolicyCost(str(policy), beam, cost, seconds / base if base else 0.0))
    show(1.0, "done")
    return PolicyCosts(translator.model.name, named(translator.model.backend), rows)


def sample(language: str) -> list[str]:
    """The words of the sample speech in a language, whatever its region."""
    path = SAMPLES / f"sample.{language.partition('-')[0]}.txt"
    if not path.exists():
        raise InputError(f"there is no sample speech in {language!r} to measure with; use `turia sweep`")
    return path.read_text(encoding="utf-8").split()
