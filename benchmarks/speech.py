"""From sound to captions: word errors, seconds of lag, BLEU, and the load of one core.

    python benchmarks/speech.py                                  # recordings of moonshine-voice, the sample speech
    python benchmarks/speech.py --only-corpus --corpus ../shared/data/europarl-st/ende.dev.tsv.xz --sentences 100
    python benchmarks/speech.py ... --policy wait-k:k=4 --policy hold-n:n=3      # one recognition, many translations
    python benchmarks/speech.py --only-corpus --recordings /usr/share/pocketsphinx/test/data/librivox

Recordings with transcripts come inside the package moonshine-voice, and in Debian's pocketsphinx-testdata: a folder of
WAV files and their texts in a file `transcription`, which are played one after the other. Other texts are spoken by
espeak-ng (the library libespeak-ng must be installed), which also says when each word ends. A corpus is a file of name,
German and English.

The sound goes through recogniser and translator in pieces of a tenth of a second, on a clock of its own: a piece is
there when it is over, and work takes the processor time that it took. So the lag is that of one free core, whatever
else the machine does. The lag of a caption word is counted from the end of the spoken word that it translates, by its
place: word i of m stands for word i n / m of the n in its sentence. What was not recognised has no end and is left out.
With references there are StreamLAAL and LongYAAL too, in seconds: the delay of a word is the time at which it was
written, computing included, and a sentence lasts from the end of the one before to the end of its own last word.

Each speech is recognised once and translated twice by each policy: with the recogniser's guesses as unstable tails, and
without them. What the guesses win is how much earlier a caption word is written, on average over the words that both
have at the same place. Other words are the edit distance between the two, as a share of the words.

BLEU is that of the captions from sound against the captions from text, and, for a corpus, of both against its
references. Needs the speech extra.
"""

from __future__ import annotations

import argparse
import ctypes
import lzma
import re
import time
import wave
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np
from rapidfuzz.distance import Levenshtein

from turia.evaluation.latency import mean, stream_laal, stream_yaal
from turia.evaluation.quality import bleu
from turia.evaluation.resegment import resegment
from turia.runtime.translator import Translator
from turia.speech.agreement import letters
from turia.speech.choice import load_factory
from turia.speech.hearing import Hearing
from turia.speech.moonshine import packaged_model
from turia.speech.recogniser import RATE, Recogniser, Samples
from turia.speech.sound import BLOCK, file_sound
from turia.stream.times import Heard, Silent, SpokenWord, UnstableTail
from turia.stream.trace import Record, SentenceEnd, Write

TRANSCRIPTS = {
    "beckett.wav": "Ever tried. Ever failed. No matter. Try again. Fail again. Fail better.",
    "two_cities.wav": "It was the best of times, it was the worst of times, it was the age of wisdom, it was the age "
    "of foolishness, it was the epoch of belief, it was the epoch of incredulity, it was the season of Light, it was "
    "the season of Darkness, it was the spring of hope, it was the winter of despair, we had everything before us, we "
    "had nothing before us, we were all going direct to Heaven, we were all going direct the other way – in short, the "
    "period was so far like the present period, that some of its noisiest authorities insisted on its being received, "
    "for good or for evil, in the superlative degree of comparison only.",
}
LIBRARY = "libespeak-ng.so.1"
SPEED = 150
"""Words a minute."""


@dataclass(frozen=True)
class Speech:
    """A sound, what is said in it, when each word ends if that is known, and translations of its sentences if any."""

    name: str
    sound: Samples
    words: list[str]
    ends: list[float] | None = None
    references: list[str] | None = None
    seconds: list[float] | None = None
    """Of each sentence, if it has references."""


@dataclass(frozen=True)
class Piece:
    """A tenth of a second of sound: when it was over, the work of the recogniser, and what that heard."""

    over: float
    work: float
    heard: list[Heard]


@dataclass
class Recognition:
    """What was heard in a speech."""

    pieces: list[Piece]
    certainty: float | None

    @property
    def words(self) -> list[str]:
        return [item.text for piece in self.pieces for item in piece.heard if isinstance(item, SpokenWord)]

    @property
    def work(self) -> float:
        return sum(piece.work for piece in self.pieces)


@dataclass
class Captions:
    """What the translator wrote, and when."""

    records: list[tuple[Record, float]]
    work: float = 0.0

    @property
    def words(self) -> list[str]:
        return [record.word for record, _ in self.records if isinstance(record, Write)]

    @property
    def written(self) -> list[float]:
        """When each caption word was written."""
        return [when for record, when in self.records if isinstance(record, Write)]


class _Event(ctypes.Structure):
    """espeak_EVENT."""

    _fields_ = (
        ("type", ctypes.c_int),
        ("identifier", ctypes.c_uint),
        ("text_position", ctypes.c_int),
        ("length", ctypes.c_int),
        ("audio_position", ctypes.c_int),
        ("sample", ctypes.c_int),
        ("user_data", ctypes.c_void_p),
        ("id", ctypes.c_char * 8),
    )


_WORD, _PHONEME = 1, 7


class Espeak:
    """espeak-ng, which speaks a text and says when its words end."""

    def __init__(self, voice: str) -> None:
        try:
            self._library: Any = ctypes.CDLL(LIBRARY)
        except OSError as error:
            raise SystemExit(f"{LIBRARY} is not here; on Debian and Ubuntu: apt-get install espeak-ng") from error
        # Synchronous, with events for phonemes, of which pauses are some.
        self._rate: int = self._library.espeak_Initialize(2, 0, None, 1)
        self._library.espeak_SetVoiceByName(voice.encode())
        self._library.espeak_SetParameter(1, SPEED, 0)

    def speak(self, text: str) -> tuple[Samples, list[float]]:
        """The sound at our rate, and the end of each word in seconds."""
        import soxr

        sound: list[np.ndarray[Any, np.dtype[np.int16]]] = []
        events: list[tuple[int, int, float]] = []

        def take(samples: Any, count: int, given: Any) -> int:
            if count:
                sound.append(np.ctypeslib.as_array(samples, (count,)).copy())
            for event in given:
                if event.type == 0:
                    break
                if event.type == _WORD or (event.type == _PHONEME and event.id.startswith(b"_")):
                    events.append((event.type, event.text_position - 1, event.audio_position / 1000))
            return 0

        callback = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.POINTER(ctypes.c_short), ctypes.c_int, ctypes.POINTER(_Event))(
            take
        )
        self._library.espeak_SetSynthCallback(callback)
        data = text.encode()
        self._library.espeak_Synth(data, len(data) + 1, 0, 1, 0, 1, None, None)
        self._library.espeak_Synchronize()
        samples = np.concatenate(sound).astype(np.float32) / 32768
        events.append((_PHONEME, len(text), len(samples) / self._rate))
        return soxr.resample(samples, self._rate, RATE), list(_word_ends(text, events))


def _word_ends(text: str, events: Sequence[tuple[int, int, float]]) -> Iterator[float]:
    """A word ends where the next thing begins, be it a word or a pause. espeak's words may be parts of ours."""
    begun = [i for i, (kind, _, _) in enumerate(events) if kind == _WORD]
    latest = 0.0
    for match in re.finditer(r"\S+", text):
        inside = [events[i + 1][2] for i in begun if match.start() <= events[i][1] < match.end()]
        latest = max(latest, *inside) if inside else latest
        yield latest


def recordings() -> Iterator[Speech]:
    """The recordings of moonshine-voice."""
    for name, text in TRANSCRIPTS.items():
        sound = np.concatenate(list(file_sound(packaged_model().parent / name)))
        yield Speech(name, sound, text.split())


def recorded(folder: Path) -> Speech:
    """A folder as Sphinx has them: `transcription` has lines of <s> TEXT </s> (NAME), and NAME.wav is its sound."""
    lines = (folder / "transcription").read_text(encoding="utf-8").splitlines()
    rows = [row for line in lines if (row := re.fullmatch(r"<s>(.*)</s>\s*\((.+)\)\s*", line))]
    sounds = [block for row in rows for block in file_sound(folder / f"{row[2]}.wav")]
    return Speech(folder.name, np.concatenate(sounds), " ".join(row[1] for row in rows).split())


def spoken(espeak: Espeak, name: str, sentences: Sequence[str], references: list[str] | None = None) -> Speech:
    """Sentences spoken one after the other."""
    parts, words, ends, seconds, began = list[Samples](), list[str](), list[float](), list[float](), 0.0
    for sentence in sentences:
        sound, own = espeak.speak(sentence)
        parts.append(sound)
        words += sentence.split()
        ends += [began + end for end in own]
        seconds.append(ends[-1] - sum(seconds))
        began += len(sound) / RATE
    return Speech(name, np.concatenate(parts), words, ends, references, seconds)


def corpus(path: Path, sentences: int) -> tuple[list[str], list[str]]:
    """The first English sentences of a corpus and their German translations."""
    with lzma.open(path, "rt", encoding="utf-8") as file:
        rows = [line.rstrip("\n").split("\t") for line, _ in zip(file, range(sentences), strict=False)]
    return [row[2] for row in rows], [row[1] for row in rows]


def recognise(speech: Speech, recogniser: Recogniser, clock: Callable[[], float] = time.process_time) -> Recognition:
    """The speech through the recogniser, in pieces. The clock tells how much the processor has worked."""
    hearing = Hearing(recogniser)
    pieces = []
    seconds = len(speech.sound) / RATE
    for begin in [*range(0, len(speech.sound), BLOCK), None]:
        began = clock()
        heard = list(hearing.flush() if begin is None else hearing.push(speech.sound[begin : begin + BLOCK]))
        took = clock() - began
        pieces.append(Piece(seconds if begin is None else min(seconds, (begin + BLOCK) / RATE), took, heard))
    return Recognition(pieces, recogniser.certainty)


def translate(recognition: Recognition, translator: Translator, policy: str, partials: bool) -> Captions:
    """What was heard through the translator, on a clock of its own."""
    stream = translator.stream(policy=policy)
    captions = Captions([])
    now = 0.0

    def translated(item: Heard | None) -> list[Record]:
        match item:
            case SpokenWord(text):
                return stream.push(text)
            case UnstableTail(text):
                return stream.push_partial(text).records if partials else []
            case Silent():
                return stream.push_pause()
        return stream.flush()

    for number, piece in enumerate(recognition.pieces, 1):
        now = max(now, piece.over) + piece.work
        for item in [*piece.heard, *([None] if number == len(recognition.pieces) else [])]:
            began = time.process_time()
            records = translated(item)
            took = time.process_time() - began
            captions.work += took
            now += took
            captions.records += [(record, now) for record in records]
    return captions


def from_text(words: Sequence[str], translator: Translator, policy: str) -> list[str]:
    """The captions of the text itself."""
    stream = translator.stream(policy=policy)
    records = [record for word in words for record in stream.push(word)] + stream.flush()
    return [record.word for record in records if isinstance(record, Write)]


def compared(words: Sequence[str]) -> list[str]:
    """Words as errors are counted: letters and digits alone, hyphens part words."""
    parts = (letters(part) for word in words for part in word.replace("-", " ").split())
    return [part for part in parts if part.isalnum()]


def word_errors(speech: Speech, recognition: Recognition) -> tuple[int, int]:
    """Errors, and words that were said."""
    said = compared(speech.words)
    return Levenshtein.distance(said, compared(recognition.words)), len(said)


def ends_of(speech: Speech, recognition: Recognition) -> list[float | None]:
    """When each recognised word was over, if it can be told."""
    said, recognised = [letters(word) for word in speech.words], [letters(word) for word in recognition.words]
    ends: list[float | None] = [None] * len(recognised)
    for step in Levenshtein.opcodes(said, recognised):
        # What was misheard stands where it stands.
        if step.tag in ("equal", "replace"):
            for i, j in zip(range(step.src_start, step.src_end), range(step.dest_start, step.dest_end), strict=False):
                ends[j] = speech.ends[i] if speech.ends is not None else None
    return ends


def lags(speech: Speech, recognition: Recognition, captions: Captions) -> list[float]:
    """Seconds from the end of a spoken word to its caption word."""
    if speech.ends is None:
        return []
    ends = ends_of(speech, recognition)
    found, first, written = [], 0, list[float]()
    for record, when in captions.records:
        if isinstance(record, Write):
            written.append(when)
        elif isinstance(record, SentenceEnd):
            for i, at in enumerate(written):
                source = first + min(record.source_words - 1, i * record.source_words // len(written))
                end = ends[source] if record.source_words else None
                if end is not None:
                    found.append(at - end)
            first, written = first + record.source_words, []
    return found


def seconds_won(early: Captions, late: Captions) -> float:
    """How much earlier a word came in the one run than in the other, on average."""
    won = [
        late.written[step.dest_start + i] - early.written[step.src_start + i]
        for step in Levenshtein.opcodes(early.words, late.words)
        if step.tag == "equal"
        for i in range(step.src_end - step.src_start)
    ]
    return sum(won) / max(1, len(won))


def long_form(captions: Captions, references: Sequence[str], seconds: Sequence[float]) -> tuple[float, float]:
    """StreamLAAL and LongYAAL in seconds, from the times at which words were written."""
    cut = [len(words) for words in resegment(captions.words, references)]
    lengths = [len(reference.split()) for reference in references]
    laal, yaal = (score(captions.written, seconds, cut, lengths) for score in (stream_laal, stream_yaal))
    return mean(laal), mean(yaal)


def bleu_of(captions: Sequence[str], references: Sequence[str]) -> float:
    """Of captions that are cut like the references."""
    return bleu([" ".join(words) for words in resegment(captions, references)], references).value


def report(speech: Speech, recognition: Recognition) -> None:
    errors, said = word_errors(speech, recognition)
    print(f"\n{speech.name}: {len(speech.sound) / RATE:.0f} s, {said} words")
    print(f"  word errors              {errors} ({errors / said:.1%}), certainty {recognition.certainty or 0:.2f}")


def report_policy(speech: Speech, recognition: Recognition, translator: Translator, policy: str) -> None:
    """Translates with and without guesses, and says what came of it."""
    seconds, references = len(speech.sound) / RATE, speech.references
    print(f"  {policy}", flush=True)
    both = [translate(recognition, translator, policy, partials) for partials in (True, False)]
    text = from_text(speech.words, translator, policy)
    for captions, kind in zip(both, ("with", "without"), strict=True):
        print(f"    {kind} guesses")
        if late := lags(speech, recognition, captions):
            median, most = np.percentile(late, [50, 95])
            print(f"      lag of captions      median {median:.1f} s, p95 {most:.1f} s, {len(late)} words")
        if references is not None and speech.seconds is not None:
            laal, yaal = long_form(captions, references, speech.seconds)
            print(f"      StreamLAAL, LongYAAL {laal:.2f} s, {yaal:.2f} s, computing included")
        print(f"      load of one core     {_load(recognition.work, captions.work, seconds)}")
        if references is None:
            own = bleu([" ".join(captions.words)], [" ".join(text)]).value
            print(f"      BLEU                 {own:.1f} against the captions of the text")
        else:
            own = bleu_of(captions.words, [" ".join(words) for words in resegment(text, references)])
            sound, plain = bleu_of(captions.words, references), bleu_of(text, references)
            print(f"      BLEU                 {own:.1f} against the captions of the text")
            print(f"      BLEU, references     {sound:.1f} from sound, {plain:.1f} from text")
    others = Levenshtein.distance(both[0].words, both[1].words) / max(1, len(both[1].words))
    print(f"    won by guesses         {seconds_won(*both):.2f} s a word; other words {others:.1%}", flush=True)


def _load(recogniser: float, translator: float, seconds: float) -> str:
    load = (recogniser + translator) / seconds
    parts = f"recogniser {recogniser / seconds:.2f}, translator {translator / seconds:.2f}"
    return f"{load:.2f} ({parts}): {1 / load:.1f} streams a core"


def keep(folder: Path, speech: Speech) -> None:
    """Writes the sound, to listen to."""
    with wave.open(str(folder / f"{Path(speech.name).stem}.wav"), "wb") as file:
        file.setparams((1, 2, RATE, 0, "NONE", ""))
        file.writeframes((np.clip(speech.sound, -1, 1) * 32767).astype("<i2").tobytes())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--recogniser", default="moonshine", metavar="NAME[:FOLDER]")
    parser.add_argument("--model", default="en-de")
    parser.add_argument("--policy", action="append", help="wait-k:k=4 unless given; may be repeated")
    parser.add_argument("--voice", default="en-gb-x-rp", help="of espeak-ng")
    parser.add_argument("--corpus", type=Path, help="sentences to be spoken, with references")
    parser.add_argument("--sentences", type=int, default=100, help="of the corpus")
    parser.add_argument(
        "--only-corpus", action="store_true", help="without Moonshine's recordings and the sample speech"
    )
    parser.add_argument("--recordings", type=Path, metavar="FOLDER", help="WAV files with their `transcription`")
    parser.add_argument("--keep", type=Path, help="a folder for the sounds")
    arguments = parser.parse_args()

    translator = Translator.load(arguments.model)
    espeak = Espeak(arguments.voice)
    speeches = []
    if not arguments.only_corpus:
        sample = files("turia").joinpath("server/static/sample.en.txt").read_text(encoding="utf-8")
        speeches += [*recordings(), spoken(espeak, "sample speech", [line for line in sample.splitlines() if line])]
    if arguments.recordings is not None:
        speeches.append(recorded(arguments.recordings))
    if arguments.corpus is not None:
        english, german = corpus(arguments.corpus, arguments.sentences)
        speeches.append(spoken(espeak, arguments.corpus.name, english, german))
    make = load_factory(arguments.recogniser, translator.model.languages[0])
    for speech in speeches:
        if arguments.keep is not None:
            keep(arguments.keep, speech)
        recognition = recognise(speech, make(()))
        report(speech, recognition)
        for policy in arguments.policy or ["wait-k:k=4"]:
            report_policy(speech, recognition, translator, policy)


if __name__ == "__main__":
    main()
