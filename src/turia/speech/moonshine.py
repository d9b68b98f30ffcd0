"""Moonshine, a small English recogniser (MIT licence), run with the ONNX Runtime that Turia has anyway.

The files of Moonshine tiny come inside the package moonshine-voice, of which nothing else is used. An utterance is
decoded from its beginning each time. To give the decoder the words that are settled, and let it go on from there, was
faster, but then it repeated whole phrases.

The graphs: the encoder takes samples. The merged decoder has two branches: the first step computes keys and values of
the encoder's states, and the later steps take them as they are.

Moonshine gives no times. The time of the speech is shared out among its words by their letters.
"""

from __future__ import annotations

from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path

import numpy as np

from turia.errors import ModelError
from turia.speech.agreement import DecodedWord
from turia.speech.recogniser import RATE, Samples
from turia.system.onnx import load_graph

FILES = ("encoder_model.ort", "decoder_model_merged.ort", "tokenizer.bin")
BEGIN, END = 1, 2
"""Pieces that begin and end a text."""
PIECES_PER_SECOND, LEAST_PIECES = 6.5, 3
"""A text of more is invented; Moonshine's authors give the first figure."""
LOOP_TURNS, LOOP_PIECES = 3, 12
"""A text that says the same so many times on end, in at least so many pieces, is invented."""
SHORTEST = RATE // 2
"""Samples that the encoder needs to understand anything; less is filled up with silence."""
SPACE = "▁".encode()


def packaged_model() -> Path:
    """The folder of Moonshine tiny in the installed package."""
    # The package is not imported: it would load a recogniser of its own.
    found = find_spec("moonshine_voice")
    if found is None or not found.submodule_search_locations:
        raise ModuleNotFoundError("No module named 'moonshine_voice'", name="moonshine_voice")
    return Path(found.submodule_search_locations[0]) / "assets" / "tiny-en"


class MoonshineDecoder:
    """A Moonshine model in a folder: two graphs and their pieces."""

    language = "en"

    def __init__(self, folder: Path | None = None, threads: int = 1) -> None:
        folder = packaged_model() if folder is None else folder
        missing = [name for name in FILES if not (folder / name).is_file()]
        if missing:
            raise ModelError(
                f"{folder}: no {missing[0]}, which a Moonshine model has; moonshine-voice 0.0.73 comes with one: "
                f"pip install 'turia[speech]'"
            )
        self._pieces = read_pieces((folder / FILES[2]).read_bytes())
        self._encoder = load_graph(folder / FILES[0], threads, keeps_memory=False)
        self._decoder = load_graph(folder / FILES[1], threads, keeps_memory=False)
        self._no_cache = {
            node.name: np.zeros((1, node.shape[1], 0, node.shape[3]), np.float32)
            for node in self._decoder.get_inputs()
            if node.name.startswith("past_key_values")
        }

    def decode(self, sound: Samples, speech: tuple[float, float]) -> list[DecodedWord]:
        groups: list[list[tuple[int, float]]] = []
        for piece, probability in self._search(sound):
            if self._pieces[piece].startswith(SPACE) or not groups:
                groups.append([])
            groups[-1].append((piece, probability))
        words = [(self._text(group), float(np.mean([probability for _, probability in group]))) for group in groups]
        return with_times([word for word in words if word[0]], speech)

    def _search(self, sound: Samples) -> list[tuple[int, float]]:
        """Greedily the pieces of the text, with their probabilities."""
        sound = np.pad(sound, (0, max(0, SHORTEST - len(sound))))
        mask = np.ones((1, len(sound)), np.int64)
        (states,) = self._encoder.run(None, {"input_values": sound[None], "attention_mask": mask})
        cache, last = self._no_cache, BEGIN
        found: list[tuple[int, float]] = []
        while len(found) < max(LEAST_PIECES, len(sound) / RATE * PIECES_PER_SECOND):
            first = cache is self._no_cache
            feed = {
                "input_ids": np.array([[last]], np.int64),
                "encoder_hidden_states": states,
                "encoder_attention_mask": mask,
                "use_cache_branch": np.array([not first]),
            }
            scores, *columns = self._decoder.run(None, feed | cache)
            # What comes from the encoder is right after the first step alone; later steps give nothing for it.
            cache = {
                name: column if first or ".decoder." in name else cache[name]
                for name, column in zip(cache, columns, strict=True)
            }
            row = scores[0, -1]
            last = int(row.argmax())
            if last == END:
                break
            found.append((last, float(1 / np.exp(row - row[last]).sum())))
            if kept := before_loop([piece for piece, _ in found]):
                # What is invented is never certain, however likely each piece was.
                return [(piece, 0.0) for piece, _ in found[:kept]]
        return found

    def _text(self, group: Sequence[tuple[int, float]]) -> str:
        data = b"".join(self._pieces[piece] for piece, _ in group)
        return data.replace(SPACE, b" ").decode("utf-8", errors="replace").strip()


def before_loop(pieces: Sequence[int]) -> int:
    """How many pieces to keep of a text that ends in a loop: up to the end of its first turn. 0 if it does not."""
    for period in range(1, len(pieces) // LOOP_TURNS + 1):
        same = 0
        while same < len(pieces) - period and pieces[-1 - same] == pieces[-1 - same - period]:
            same += 1
        if same >= (LOOP_TURNS - 1) * period and same + period >= LOOP_PIECES:
            return len(pieces) - same
    return 0


def with_times(words: Sequence[tuple[str, float]], speech: tuple[float, float]) -> list[DecodedWord]:
    """Texts and probabilities; the time of the speech is shared out among them by their letters."""
    begin, end = speech
    a_letter = (end - begin) / max(1, sum(len(text) + 1 for text, _ in words))
    timed = []
    for text, probability in words:
        begin, start = begin + a_letter * (len(text) + 1), begin
        timed.append(DecodedWord(text, start, begin, probability))
    return timed


def read_pieces(data: bytes) -> list[bytes]:
    """The pieces of a `tokenizer.bin`: each is its length, in one byte or two of seven bits, and its bytes."""
    pieces, at = [], 0
    while at < len(data):
        length = data[at]
        at += 1
        if length >= 128:
            length = length - 128 + 128 * data[at]
            at += 1
        pieces.append(data[at : at + length])
        at += length
    return pieces
