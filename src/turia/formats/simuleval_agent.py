"""Turia as an agent of SimulEval: a line of its source is a whole document, read word by word.

    simuleval --agent-class turia.formats.simuleval_agent.TuriaAgent --source S --target T --output O --k 4

Runs where SimulEval is installed (docs/simuleval.md); nothing else imports this file. The agent only drives the engine:
what it writes and when is what `turia translate` would have written, so SimulEval's delays are those of our trace.
"""

from __future__ import annotations

from argparse import ArgumentParser, Namespace

from simuleval.agents import TextToTextAgent
from simuleval.agents.actions import Action, ReadAction, WriteAction

from turia.runtime.translator import Translator
from turia.stream.trace import Record, Write


class TuriaAgent(TextToTextAgent):  # type: ignore[misc]  # SimulEval has no types
    """One stream at a time: SimulEval resets the agent after each line."""

    def __init__(self, args: Namespace) -> None:
        # The base class resets the agent, which needs them.
        self._chosen = args
        self._translator = Translator.load(args.model, reverse_model=args.reverse_model)
        super().__init__(args)

    @staticmethod
    def add_args(parser: ArgumentParser) -> None:
        parser.add_argument("--model", default="de-en", help="A model's name or folder.")
        parser.add_argument("--policy", help="When words are written: NAME[:key=value,...]; docs/policies.md.")
        parser.add_argument("--k", type=int, help="Words of lead; short for --policy wait-k:k=K.")
        parser.add_argument("--gamma", type=float, help="Target words per source word; by default the model's.")
        parser.add_argument("--window", type=int, default=2, help="Words that the segmenter looks ahead.")
        parser.add_argument("--history", type=int, help="Words of history; by default the model's.")
        parser.add_argument("--rounding", choices=("floor", "ceil"), help="Of wait-k; by default floor.")
        parser.add_argument("--beam", type=int, help="Hypotheses of the search; by default the model's.")
        parser.add_argument("--max-lag", type=int, help="Words behind after which a policy has to write.")
        parser.add_argument("--target-lag", help="Mean lag to keep by moving the policy: words, such as 5.")
        parser.add_argument("--punctuation", action="store_true", help="Sentence ends from the input's punctuation.")
        parser.add_argument("--segmentation", choices=("model", "punctuation", "free"), help="Where sentences end.")
        parser.add_argument("--reverse-model", help="With --segmentation free: a model of the opposite direction.")

    def reset(self) -> None:
        """A new document."""
        super().reset()
        chosen = self._chosen
        self._stream = self._translator.stream(
            policy=chosen.policy, k=chosen.k, rounding=chosen.rounding, gamma=chosen.gamma, window=chosen.window,
            history=chosen.history, beam=chosen.beam, max_lag=chosen.max_lag, target_lag=chosen.target_lag,
            punctuation=chosen.punctuation, segmentation=chosen.segmentation,
        )  # fmt: skip
        self._taken = 0
        """Source words that the stream has."""

    def policy(self) -> Action:
        """Gives the stream what is new, and SimulEval what the stream makes of it."""
        records: list[Record] = []
        for word in self.states.source[self._taken :]:
            records += self._stream.push(word)
        self._taken = len(self.states.source)
        finished = self.states.source_finished
        if finished:
            records += self._stream.flush()
        words = [record.word for record in records if isinstance(record, Write)]
        return WriteAction(" ".join(words), finished=finished) if words or finished else ReadAction()
