"""Model folders that somebody has spoilt, by chance or on purpose: python -m benchmarks.mutated_folders [COUNT] [SEED]

Each mutation is made on a copy of a packaged model and loaded in a process of its own, with a limit of time and of
memory. Either one clear line refuses it, or it loads and translates a sentence. A traceback, a crash, a time-out or
much memory is a finding, and so is an open file outside the folder. Most mutations have fitting sums: whoever means
harm writes those too. tests/runtime/test_mutated_folders.py makes a few of them.
"""

from __future__ import annotations

import collections
import json
import os
import random
import resource
import shutil
import signal
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from turia.errors import InputError
from turia.runtime.folder import WEIGHTS_FILE, write_sums
from turia.runtime.home import PACKAGED
from turia.runtime.tensors import read_stored
from turia.runtime.translator import Translator

SECONDS, WAITING, MEMORY = 20, 900, 4 * 2**30
"""Seconds of the processor, seconds of the clock, bytes."""
WORDS = ["meine", "damen", "und", "herren", "wir", "beginnen"]
JSON_FILES = ("config.json", "segmenter.json")
Mutation = Callable[[Path, random.Random], str]


# --- bytes ------------------------------------------------------------------------------------------------------------


def _some_file(folder: Path, chance: random.Random) -> Path:
    return chance.choice(sorted(path for path in folder.iterdir() if path.name != "README.md"))


def truncated(folder: Path, chance: random.Random) -> str:
    path = _some_file(folder, chance)
    data = path.read_bytes()
    _put(path, data[: chance.choice([0, 1, len(data) // 2, len(data) - 1, chance.randrange(len(data))])])
    return path.name


def flipped(folder: Path, chance: random.Random) -> str:
    path = _some_file(folder, chance)
    data = bytearray(path.read_bytes())
    for _ in range(chance.choice([1, 2, 20, 1000])):
        # Headers are at the beginning.
        place = chance.randrange(min(len(data), chance.choice([100, 10_000, len(data)])))
        data[place] ^= 1 << chance.randrange(8)
    _put(path, data)
    return path.name


def grown(folder: Path, chance: random.Random) -> str:
    path = _some_file(folder, chance)
    _put(path, path.read_bytes() + chance.choice([b"\0", b"x" * 1000, os.urandom(5000), b"[" * 10**6]))
    return path.name


def swapped(folder: Path, chance: random.Random) -> str:
    one, other = _some_file(folder, chance), _some_file(folder, chance)
    first, second = one.read_bytes(), other.read_bytes()
    _put(one, second)
    _put(other, first)
    return f"{one.name} and {other.name}"


def external(folder: Path, chance: random.Random) -> str:
    """Weights of a graph somewhere else: a name of the same length, so that the graph stays one."""
    path = chance.choice(sorted(folder.glob("*.onnx")))
    data, name = path.read_bytes(), b"weights.bin"
    place = chance.choice([b"../secret.x", b"/etc/passwd", b"a/../../b.x", b"subwords.mo", b"weights.\0in"])
    _put(path, data.replace(name, place))
    return f"{path.name}: {place!r}"


def odd_numbers(folder: Path, chance: random.Random) -> str:
    """Scales that are no numbers, which loading refuses, or so large that scores are none."""
    path = folder / WEIGHTS_FILE
    data = bytearray(path.read_bytes())
    name = chance.choice(["target_embedding", "memory", "decoder_layers.0.attention"])
    numbers = read_stored(folder)[f"{name}.scale"]
    value = chance.choice([float("nan"), float("inf"), 1e38, -1e38])
    place = data.find(numbers.tobytes())
    data[place : place + numbers.nbytes] = np.full_like(numbers, value).tobytes()
    _put(path, data)
    return f"{name}.scale = {value}"


# --- JSON and lists ---------------------------------------------------------------------------------------------------

VALUES: tuple[Any, ...] = (
    None, True, -1, 0, 1, 2**31, 10**18, 10**400, 0.5, 1e308, float("nan"), float("inf"), "", "x" * 10**5, "4", "../..",
    [], [0] * 1000, {}, {"a": {}}, "\ud800",
)  # fmt: skip


def odd_value(folder: Path, chance: random.Random) -> str:
    """Another value for one key, at any depth."""
    path = folder / chance.choice(JSON_FILES)
    data = json.loads(path.read_text())
    place, keys = data, []
    while True:
        key = chance.choice(sorted(place))
        keys.append(key)
        if not isinstance(place[key], dict) or not place[key] or chance.random() < 0.2:
            break
        place = place[key]
    value = chance.choice(VALUES)
    if value == "" and chance.random() < 0.5:
        del place[key]
    else:
        place[key] = value
    _put(path, json.dumps(data).encode())
    return f"{path.name}: {'.'.join(keys)} = {value!r:.40}"


def deep(folder: Path, chance: random.Random) -> str:
    path = folder / chance.choice(JSON_FILES)
    depth = chance.choice([1000, 100_000])
    opened, closed = chance.choice([("[", "]"), ('{"a":', "}")])
    text = f'{{"format": 2, "a": {opened * depth}1{closed * depth}}}'
    _put(path, text.encode())
    return f"{path.name}: {depth} deep"


def odd_sums(folder: Path, chance: random.Random) -> str:
    path = folder / "SHA256SUMS"
    lines = path.read_text().splitlines()
    odd = ["..", ".", "../secret", "/etc/passwd", "a\0b", "x" * 5000, "pipe", "folder", "loop"]
    line = f"{'0' * 64}  {chance.choice(odd)}"
    lines[chance.randrange(len(lines))] = line
    os.mkfifo(folder / "pipe")
    (folder / "folder").mkdir()
    (folder / "loop").symlink_to("loop")
    path.write_text("\n".join(lines) + "\n")
    return line[66:90]


def not_a_file(folder: Path, chance: random.Random) -> str:
    """A folder, a pipe or an endless device where a file should be."""
    path = _some_file(folder, chance)
    path.unlink()
    kind = chance.choice(["folder", "pipe", "device", "loop", "nothing"])
    if kind == "folder":
        path.mkdir()
    elif kind == "pipe":
        os.mkfifo(path)
    elif kind != "nothing":
        path.symlink_to("/dev/zero" if kind == "device" else path.name)
    return f"{path.name}: {kind}"


def odd_vocabulary(folder: Path, chance: random.Random) -> str:
    path = folder / "segmenter-vocabulary.txt"
    lines = path.read_text().splitlines()
    change = chance.choice(["doubled", "shuffled", "endless line", "fewer"])
    if change == "doubled":
        lines[1:] = [lines[1]] * (len(lines) - 1)
    elif change == "shuffled":
        chance.shuffle(lines)
    elif change == "endless line":
        lines[5] = "x" * 10**7
    else:
        del lines[len(lines) // 2 :]
    _put(path, "\n".join(lines).encode())
    return change


MUTATIONS: tuple[Mutation, ...] = (
    truncated, flipped, flipped, grown, swapped, external, odd_numbers, odd_value, odd_value, odd_value, deep, odd_sums,
    not_a_file, odd_vocabulary,
)  # fmt: skip
KEEP_SUMS = (odd_sums, not_a_file)


def _put(path: Path, data: bytes | bytearray) -> None:
    """A new file: the old one is shared with the package."""
    path.unlink()
    path.write_bytes(data)


# --- trying -----------------------------------------------------------------------------------------------------------


def mutate(place: Path, seed: int) -> str:
    """A spoilt folder at `place`; what was done to it."""
    chance = random.Random(seed)
    shutil.copytree(PACKAGED / "de-en", place, copy_function=os.link)
    config = json.loads((place / "config.json").read_text()) | {"beam": chance.choice([1, 4])}
    _put(place / "config.json", json.dumps(config).encode())
    _put(place / "SHA256SUMS", b"")
    write_sums(place)
    (place.parent / "secret").write_text("not for models\n")
    mutation = chance.choice(MUTATIONS)
    done = mutation(place, chance)
    # Now and then as a broken disk does it, which knows nothing of sums.
    if mutation not in KEEP_SUMS and done != "SHA256SUMS" and chance.random() < 0.9:
        write_sums(place)
    return f"{mutation.__name__} {done}"


def attempt(place: Path) -> str:
    """What comes of loading the folder: `fine`, `refused: ...`, or a finding."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reading)
        _child(place, writing)
    os.close(writing)
    with os.fdopen(reading, "rb") as file:
        said = file.read().decode(errors="replace")
    _, status = os.waitpid(child, 0)
    if os.WIFSIGNALED(status):
        return f"FINDING: killed by {signal.Signals(os.WTERMSIG(status)).name} {said}"
    return said or f"FINDING: exit {os.WEXITSTATUS(status)} without a word"


def _child(place: Path, out: int) -> None:
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_CPU, (SECONDS, SECONDS))
    # For what waits and does nothing, such as the reader of a pipe. A busy machine takes its time too.
    signal.alarm(WAITING)
    outside: list[str] = []
    watched = str(place.parent / "secret"), "/etc/passwd"

    def note(event: str, arguments: tuple[Any, ...]) -> None:
        if event == "open" and str(arguments[0]).startswith(watched):
            outside.append(str(arguments[0]))

    sys.addaudithook(note)
    try:
        translator = Translator.load(place)
        stream = translator.stream(k=2)
        for word in WORDS:
            stream.push(word)
        stream.flush()
        said = "fine"
    except InputError as error:
        said = f"refused: {error}" if len(str(error).splitlines()) == 1 else f"FINDING: not one line: {error!r}"
    except BaseException as error:
        said = f"FINDING: {error!r:.300}"
    if outside:
        said = f"FINDING: opened {outside}"
    used = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    if used > 1500:
        said = f"FINDING: {used:.0f} MB of memory; {said}"
    os.write(out, said.encode(errors="replace"))
    os._exit(0)


def run(count: int, seed: int = 0, verbose: bool = False) -> tuple[collections.Counter[str], list[str]]:
    """How many were fine, refused and found, and the findings."""
    counts: collections.Counter[str] = collections.Counter()
    findings = []
    for number in range(seed, seed + count):
        with tempfile.TemporaryDirectory() as folder:
            place = Path(folder) / "model"
            what = mutate(place, number)
            said = attempt(place)
        kind = said.partition(":")[0]
        counts[kind] += 1
        if verbose:
            print(number, what, "→", said.replace(folder, "")[:200], flush=True)
        if kind not in ("fine", "refused"):
            findings.append(f"{number} {what} → {said}")
    return counts, findings


if __name__ == "__main__":
    numbers = [int(text) for text in sys.argv[1:3]]
    counted, found = run(numbers[0] if numbers else 1000, numbers[1] if len(numbers) > 1 else 0, verbose=True)
    print(dict(counted), *found, sep="\n")
    sys.exit(bool(found))
