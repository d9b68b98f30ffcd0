"""What the heads of learned policies cost: processor time of their decisions inside streams, beside a word of wait-k.

    python -m benchmarks.heads MODEL-FOLDER --policy act:lag_cost=0.1 --policy chunk:threshold=0.3,delay=1

A decision is all that the policy computes: how sure the model is, what its head is shown, the head. The steps of the
model itself are not counted (`turia bench --policy` has these). It is timed where it happens, between these steps, that
leave little of it in the caches. Streams of wait-k and of the policies take turns; the best of some rounds counts.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest.mock import patch

from turia.experiments.cost import sample, time_alone
from turia.policy.base import LearnedPolicy
from turia.policy.table import parse_policy
from turia.policy.waitk import WaitK
from turia.runtime.translator import Translator

clock = time.thread_time_ns


@dataclass
class Stopwatch:
    """Adds up the time of calls, less what the clock itself takes."""

    nanoseconds: float = 0.0
    calls: int = 0

    def __post_init__(self) -> None:
        began = clock()
        for _ in range(1000):
            clock()
        self.clock_takes = (clock() - began) / 1000

    def around(self, asked: Callable[..., bool]) -> Callable[..., bool]:
        def timed(*arguments: Any) -> bool:
            began = clock()
            answer = asked(*arguments)
            self.nanoseconds += clock() - began - self.clock_takes
            self.calls += 1
            return answer

        return timed


def decisions(translator: Translator, policy: LearnedPolicy, beam: int, words: list[str]) -> Stopwatch:
    """What one stream of the policy decides."""
    watch, kind = Stopwatch(), type(policy)
    with (
        patch.object(kind, "may_write", watch.around(kind.may_write)),
        patch.object(kind, "wants_row", watch.around(kind.wants_row)),
    ):
        time_alone(translator.stream(policy=policy, beam=beam), translator.model.backend, words)
    return watch


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", type=Path)
    parser.add_argument("--policy", action="append", required=True)
    parser.add_argument("--words", type=int, default=500)
    parser.add_argument("--rounds", type=int, default=5)
    chosen = parser.parse_args()
    translator = Translator.load(chosen.model)
    said = sample(translator.model.languages[0])[: chosen.words]
    for beam in (1, 4):
        words: list[float] = []
        costs: dict[str, list[float]] = {text: [] for text in chosen.policy}
        for _ in range(chosen.rounds):
            alone = time_alone(translator.stream(policy=WaitK(), beam=beam), translator.model.backend, said)
            words.append(1e6 * (alone.seconds or 0.0) / alone.words)
            for text, found in costs.items():
                policy = parse_policy(text)
                assert isinstance(policy, LearnedPolicy)
                found.append(decisions(translator, policy, beam, said).nanoseconds / 1e3 / len(said))
        for text, found in costs.items():
            share = min(found) / min(words)
            print(f"beam {beam}: {text}: {min(found):.0f} µs a word, {share:.1%} of wait-k's {min(words):.0f} µs")


if __name__ == "__main__":
    main()
