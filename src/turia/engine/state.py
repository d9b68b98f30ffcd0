"""The state of a stream as plain JSON data: how it is taken, read and checked.

A state that was damaged is refused when it is restored, not a few words later. What the model has computed is not in
it: a restored stream computes that again.
"""

from __future__ import annotations

from copy import deepcopy
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import numpy as np

from turia.engine.draft import Drafting
from turia.engine.flow import FlowWriter
from turia.engine.free import FreeSentence
from turia.engine.model import Model
from turia.engine.sentence import CurrentSentence, StreamCounts
from turia.engine.settings import Settings, fitting
from turia.engine.tail import OwedWord
from turia.engine.window import History, PartialSentence, are_reads
from turia.engine.writer import Writer
from turia.errors import InputError
from turia.policy.lag import LagController
from turia.policy.table import POLICIES
from turia.segmenter.online import Segmenter, is_count, is_words
from turia.text.subwords import Subwords
from turia.text.symbols import UNK_ID

if TYPE_CHECKING:
    from turia.engine.stream import Stream

STATE_VERSION = 2
_READABLE_STATES = (1, 2)
"""1 is of release 0.1, whose only policy was wait-k."""
_COUNTS = tuple(asdict(StreamCounts()))


def stream_state(stream: Stream) -> dict[str, Any]:
    """Everything that `restored` needs to go on with the same words."""
    sentence, pending = stream.current, stream.pending_settings
    writer = sentence.writer
    free = {"waits": sentence.waits, "ending": list(sentence.ending)} if isinstance(sentence, FreeSentence) else None
    return {
        "version": STATE_VERSION,
        "model": stream.model.name,
        "pieces": stream.model.vocabulary_fingerprint,
        "settings": stream.settings.to_json(),
        "pending_settings": None if pending is None else pending.to_json(),
        "counts": asdict(stream.counts),
        "ended": stream.ended,
        "history": stream.history.to_json(),
        "words": list(sentence.words),
        "muted": sentence.muted,
        "source": writer.source.to_json(),
        "target": writer.target.to_json(),
        "row_limits": list(writer.row_limits),
        "reads": list(writer.reads),
        "policy_memory": deepcopy(sentence.memory),
        "owed": [[word.text, list(word.pieces)] for word in sentence.owed],
        "drafting": writer.drafting.to_json(),
        "lag": {"closed": sentence.start, "delays": list(sentence.delays), **stream.lag.to_json()},
        "segmenter": stream.segmenter.state(),
        **({_heard_key(writer): list(writer.heard)} if writer.heard else {}),
        **({"displaced": displaced} if (displaced := writer.displaced.to_json(writer.target.ids)) else {}),
        **({} if free is None else {"free": free}),
    }


def restored(kind: type[Stream], model: Model, segmenter: Segmenter, state: dict[str, Any]) -> Stream:
    """A stream that goes on where `state` was taken; `segmenter` is a new one of the same kind."""
    if not isinstance(state, dict):
        raise InputError(f"not the state of a stream: {type(state).__name__}")
    if state.get("version") not in _READABLE_STATES:
        known = " and ".join(map(str, _READABLE_STATES))
        raise InputError(f"stream state of version {state.get('version')!r}; this Turia reads {known}")
    if state.get("model") != model.name:
        raise InputError(f"stream state of model {state.get('model')!r}, but this model is {model.name!r}")
    # Newer weights with the same pieces may go on.
    if state.get("pieces") != model.vocabulary_fingerprint:
        raise InputError(f"stream state of another {model.name!r}, which had other pieces")
    _check_policies(state)
    try:
        stream = _read(kind, model, segmenter, state)
        _check(stream)
    except (KeyError, TypeError, IndexError, AttributeError, ValueError) as error:
        raise InputError(f"stream state is damaged: {type(error).__name__} {error}") from error
    return stream


def _heard_key(writer: Writer) -> str:
    """Of the words as they were said. What only names need has a key of its own: earlier releases pass it over, and
    would refuse the other one without a glossary."""
    return "said" if writer.terms is None else "heard"


def _check_policies(state: dict[str, Any]) -> None:
    """A state has the name of its policy, and the table has the class of that name."""
    for key in ("settings", "pending_settings"):
        settings = state.get(key)
        policy = settings.get("policy") if isinstance(settings, dict) else None
        name = policy.partition(":")[0] if isinstance(policy, str) else None
        if name is not None and name not in POLICIES:
            raise InputError(
                f"stream state with policy {name!r}, which this Turia does not know; if it is your own, put "
                "its class into turia.policy.table.POLICIES before you restore the stream"
            )


def _read(kind: type[Stream], model: Model, segmenter: Segmenter, state: dict[str, Any]) -> Stream:
    segmenter.restore(state["segmenter"])
    stream = kind(model, segmenter, Settings.from_json(state["settings"]))
    first_release = state["version"] == 1
    pending = state["pending_settings"]
    stream.pending_settings = None if pending is None else fitting(model, Settings.from_json(pending), stream.free)
    stream.counts = StreamCounts(**{name: state["counts"][name] for name in _COUNTS})
    stream.ended = state["ended"]
    stream.history = History.from_json(state["history"], stream.settings if first_release else None, stream.free)
    stream.current = _read_sentence(stream, state)
    if not first_release:
        stream.lag = LagController.from_json(state["lag"])
    return stream


def _read_sentence(stream: Stream, state: dict[str, Any]) -> CurrentSentence:
    source, target = PartialSentence.from_json(state["source"]), PartialSentence.from_json(state["target"])
    limits = list(state["row_limits"])
    kind = FlowWriter if stream.free else Writer
    writer = kind(stream.model, stream.settings, stream.history, source, None, target, row_limits=limits)
    words = state["words"]
    # The state stays the caller's. What is no list is left as it is, to be refused.
    words = list(words) if isinstance(words, list) else words
    sentence = CurrentSentence(writer, stream.counts, words=words, muted=state["muted"])
    if isinstance(writer, FlowWriter):
        waits, ending = state["free"]["waits"], state["free"]["ending"]
        ending = list(ending) if isinstance(ending, list) else ending
        sentence = FreeSentence(writer, stream.counts, words=words, waits=waits, ending=ending)
    if state["version"] == 1:
        # Release 0.1 did not note the words read, which follow from the positions that each word's rows saw; nor what
        # a target lag needs, as there was none.
        writer.reads = writer.reads_from_limits()
        sentence.start = max(0, stream.counts.read - source.words)
        sentence.delays = [stream.counts.read - sentence.start] * len(words)
        return sentence
    writer.reads = list(state["reads"])
    writer.drafting = Drafting.from_json(state["drafting"])
    heard = state.get(_heard_key(writer), []) if writer.hears else []
    writer.heard = list(heard) if isinstance(heard, list) else heard
    writer.displaced.read_json(state.get("displaced", []), target.ids)
    sentence.memory = deepcopy(state["policy_memory"])
    sentence.owed = [OwedWord.from_json(word) for word in state["owed"]]
    sentence.start, sentence.delays = state["lag"]["closed"], list(state["lag"]["delays"])
    return sentence


def _check(stream: Stream) -> None:
    """What would otherwise fail at a later word, or never."""
    model, history, sentence, counts = stream.model, stream.history, stream.current, asdict(stream.counts)
    writer = sentence.writer
    targets = [*history.target, writer.target]
    good = {
        "pieces of the source": all(_can_be(side, model.source_subwords) for side in (*history.source, writer.source)),
        "pieces of the target": all(_can_be(side, model.target_subwords) and 0 not in side.pieces for side in targets),
        "what the model has room for": (
            history.positions() <= model.history_positions
            and len(writer.source.ids) <= model.sentence_positions
            and writer.fits()
        ),
        "a limit for each piece": writer.has_sound_limits(),
        "words read at each word": are_reads(writer.reads, writer.source, writer.target),
        "what a policy remembers": isinstance(sentence.memory, dict),
        "what drafts leave behind": writer.has_sound_drafts(),
        "words that went out ahead": all(
            _can_be(PartialSentence(list(word.pieces), [len(word.pieces)]), model.target_subwords)
            for word in sentence.owed
        ),
        "the words of the pieces": is_words(sentence.words) and len(sentence.words) == writer.target.words,
        "counts": all(type(count) is int and count >= 0 for count in counts.values()),
        "how far each word lagged": (
            type(sentence.start) is int
            and 0 <= sentence.start <= stream.read
            and len(sentence.delays) == len(sentence.words)
            and all(type(delay) is int and 0 < delay <= stream.read for delay in sentence.delays)
        ),
        "the words of a glossary's sentence": is_words(writer.heard)
        and (writer.terms is None or len(writer.heard) == writer.source.words),
        # Fewer, where the sentence began with a release that did not keep them.
        "the words that were said": len(writer.heard) <= writer.source.words,
        "how often more was asked for": not isinstance(sentence, FreeSentence)
        or (is_count(sentence.waits) and is_words(sentence.ending)),
        "true or false": isinstance(stream.ended, bool) and isinstance(sentence.muted, bool),
    }
    if not all(good.values()):
        raise ValueError(f"expected {', '.join(what for what, is_so in good.items() if not is_so)}")


def _can_be(side: PartialSentence, subwords: Subwords) -> bool:
    """Whether text can have given these pieces: all of them known, no reserved symbol, each word with its end."""
    ids = np.array(side.ids, dtype=np.int64)
    if (ids >= len(subwords)).any() or (subwords.is_control[ids] & (ids != UNK_ID)).any():
        return False
    # With the space first, the end of a word does not show in its pieces.
    ends = np.cumsum([count for count in side.pieces if count], dtype=np.int64)
    return subwords.space_first or np.array_equal(np.flatnonzero(subwords.ends_word[ids]) + 1, ends)
