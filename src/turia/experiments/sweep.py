"""`turia sweep`: every k x segmentation x history on test sets, translated once each and scored from the traces.

The results folder:

    results.json, results.md, TEST-latency.png, TEST-k.png, ...    made anew by every run from the traces
    TEST/000.source, TEST/000.reference                            the streams of a test set, a sentence a line
    TEST/MODEL/CONFIGURATION/000.jsonl                             the trace of each stream
    TEST/MODEL/CONFIGURATION/configuration.json                    what was run: model, streams, settings
    TEST/MODEL/CONFIGURATION/cost.json                             model calls for each word, and words a second

A configuration's folder appears when all of it is done. One that says the same as what would be run is kept, so an
interrupted sweep goes on and a finished one is only scored again. Streams see the source as it is written: making it
look like recognised speech is the engine's work.
"""

from __future__ import annotations

import hashlib
import json
import multiprocessing
import queue
import threading
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, field, replace
from itertools import islice, product
from pathlib import Path
from typing import Any

from turia import __version__
from turia.config import SweepRecipe, SweepTest, file_name
from turia.engine.backend import Backend, Steps
from turia.engine.batcher import run_together
from turia.engine.model import without_attention
from turia.engine.settings import Encoding, Settings
from turia.engine.stream import Stream
from turia.engine.writer import SEARCH_VERSION
from turia.errors import FormatError, InputError, ModelError
from turia.evaluation.inputs import read_lines
from turia.experiments.cost import Cost, Meter, time_alone
from turia.formats.documents import read
from turia.policy.base import CountingPolicy, LearnedPolicy, LookingPolicy, Policy, check_heads
from turia.policy.table import parse_policy
from turia.policy.waitk import WaitK
from turia.policy.whole import Whole
from turia.runtime.folder import ModelFolder, load_folder
from turia.runtime.heads import head_list
from turia.runtime.home import named_model
from turia.runtime.translator import Translator, find_model
from turia.segmenter.classifier import windows_in
from turia.segmenter.online import GIVEN_VERSION, BlockSegmenter, GivenSegmenter, Segmenter
from turia.stream.trace import Record, Trace, trace_lines
from turia.system.files import replacing, write_file
from turia.system.processes import in_processes

COST_FILE = "cost.json"
_REPORT_WORDS = 100
"""Progress is told after so many source words."""

Show = Callable[[float, str], None]


@dataclass(frozen=True)
class Configuration:
    """One way to translate a test set."""

    window: int | None
    """Future words of the segmenter; None is the reference segmentation, or blocks."""
    policy: Policy
    history: int
    encoding: Encoding = "incremental"
    recompute: bool = False
    beam: int = 1
    gamma: float | None = None
    block: int | None = None
    """Words after which the stream is cut, in place of sentences."""
    max_lag: int | None = None
    target_lag: str | None = None

    @property
    def offline(self) -> bool:
        return isinstance(self.policy, Whole)

    @property
    def segments(self) -> str:
        """Of which sentences, for people."""
        if self.block is not None:
            return f"b{self.block}"
        return "oracle" if self.window is None else f"w{self.window}"

    def name(self) -> str:
        """The name of its folder."""
        parts = [self.segments, self._policy_name(), f"h{self.history}"]
        if self.encoding == "full":
            parts.append("full")
        if self.recompute:
            parts.append("recompute")
        if self.beam > 1:
            parts.append(f"beam{self.beam}")
        if self.gamma is not None:
            parts.append(f"gamma{self.gamma:g}")
        if self.max_lag is not None:
            parts.append(f"lag{self.max_lag}")
        if isinstance(self.policy, WaitK) and self.policy.rounding == "ceil":
            parts.append("ceil")
        if self.target_lag is not None:
            parts.append(f"target{self.target_lag}")
        return "-".join(parts)

    def _policy_name(self) -> str:
        if self.offline:
            return "offline"
        if isinstance(self.policy, WaitK):
            return f"k{self.policy.k}"
        return file_name(str(self.policy))

    def as_json(self) -> dict[str, Any]:
        # What is newer than release 0.1 is left out where it is not used: what was translated before is still good.
        newer = {name for name in ("block", "max_lag", "target_lag") if getattr(self, name) is None}
        found = asdict(self) | {"policy": str(self.policy)}
        return {name: value for name, value in found.items() if name not in newer}


def configurations(recipe: SweepRecipe, model: SweptModel) -> list[Configuration]:
    """All that a recipe asks of one model, in the order of its table."""
    chosen = policies(recipe)
    segmentations: list[tuple[int | None, int | None, Policy]] = [
        *((window, None, policy) for window, policy in product(recipe.windows, chosen)),
        *((None, block, policy) for block, policy in product(recipe.blocks, chosen)),
    ]
    if recipe.oracle:
        segmentations += [(None, None, policy) for policy in chosen]
    if recipe.offline:
        segmentations.append((None, None, Whole()))
    variants = product(
        recipe.history or (model.history,), recipe.encoding, recipe.recompute, recipe.beam or (model.beam,)
    )
    return [
        Configuration(
            window, policy, history, encoding, recompute, beam, recipe.gamma, block, _max_lag(recipe, policy), target
        )
        for history, encoding, recompute, beam in variants
        for window, block, policy in segmentations
        for target in (None, *(recipe.target_lag if policy.movable else ()))
    ]


def _max_lag(recipe: SweepRecipe, policy: Policy) -> int | None:
    """Policies that count know none."""
    return None if isinstance(policy, CountingPolicy) else recipe.max_lag


def policies(recipe: SweepRecipe) -> list[Policy]:
    """The policies of a recipe: wait-k for each k, then those that it names."""
    named = [parse_policy(text) for text in recipe.policies]
    return [*(WaitK(k, rounding=recipe.rounding) for k in recipe.k), *named]


@dataclass(frozen=True)
class SweptTest:
    """A test set as files, a pair for each stream."""

    name: str
    folder: Path
    sources: tuple[Path, ...]
    references: tuple[Path, ...]
    source_words: int
    sentences: int
    sha256: str


@dataclass(frozen=True)
class SweptModel:
    """A model of a sweep."""

    name: str
    folder: Path
    history: int
    beam: int
    sha256: str
    """Of its SHA256SUMS, and so of all that it is."""
    source_language: str
    target_language: str
    windows: tuple[int, ...]
    """Future words that its segmenters look at."""


@dataclass(frozen=True)
class Run:
    """One configuration of one model on one test set."""

    test: SweptTest
    model: SweptModel
    configuration: Configuration

    @property
    def folder(self) -> Path:
        return self.test.folder / self.model.name / self.configuration.name()

    def traces(self) -> list[Path]:
        return [self.folder / f"{source.stem}.jsonl" for source in self.test.sources]

    def description(self) -> dict[str, Any]:
        """What determines the traces."""
        return {
            "model": self.model.name,
            "model_sha256": self.model.sha256,
            "test": self.test.name,
            "streams_sha256": self.test.sha256,
            "turia": __version__,
            "search": SEARCH_VERSION,
            **({"given": GIVEN_VERSION} if self.configuration.segments == "oracle" else {}),
            **self.configuration.as_json(),
        }

    def cost(self) -> dict[str, float]:
        """What it took; nothing, if it was translated before that was noted."""
        try:
            found: dict[str, float] = json.loads((self.folder / COST_FILE).read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return {}
        return found

    def is_done(self) -> bool:
        """Whether the very same has been translated before."""
        try:
            found = json.loads((self.folder / "configuration.json").read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return False
        return bool(found == self.description())


@dataclass(frozen=True)
class Plan:
    """A sweep, ready to be run: its models, its test sets and all pairs of them."""

    tests: tuple[SweptTest, ...]
    models: tuple[SweptModel, ...]
    bounds: tuple[SweptModel, ...]
    """Models that are run offline only."""
    runs: tuple[Run, ...]


def plan(recipe: SweepRecipe, base: Path) -> Plan:
    """Looks at the models, and writes the streams of the test sets. Folders of models are relative to `base`."""
    plain = replace(recipe, policies=()) if recipe.wait_k_models else recipe
    others = tuple(swept_model(name, base, plain) for name in recipe.wait_k_models)
    models = (*(swept_model(name, base, recipe) for name in recipe.models), *others)
    bounds = tuple(swept_model(name, base, recipe) for name in recipe.bounds)
    languages = {(model.source_language, model.target_language) for model in models + bounds}
    if len(languages) > 1:
        pairs = ", ".join(sorted(f"{source}-{target}" for source, target in languages))
        raise InputError(f"the models of one sweep must be of one language pair, found {pairs}")
    for model in models:
        if missing := set(recipe.windows if policies(recipe) else ()) - set(model.windows):
            known = ", ".join(map(str, model.windows)) or "none"
            raise InputError(
                f"{model.folder}: the model has no segmenter of {min(missing)} future words (it has: {known}); "
                f"set windows in the recipe to what it has, or to []"
            )
    tests = tuple(write_streams(test, recipe, *languages.copy().pop()) for test in recipe.test)
    runs = tuple(
        Run(test, model, configuration)
        for test in tests
        for model in models + bounds
        for configuration in (
            _bound(recipe, model) if model in bounds else configurations(plain if model in others else recipe, model)
        )
    )
    return Plan(tests, models, bounds, runs)


def _bound(recipe: SweepRecipe, model: SweptModel) -> list[Configuration]:
    """What a model is run with that is a bound alone."""
    beams = recipe.beam or (model.beam,)
    return [Configuration(None, Whole(), model.history, beam=beam, gamma=recipe.gamma) for beam in beams]


def swept_model(name: str, base: Path, recipe: SweepRecipe) -> SweptModel:
    """The model of a packaged name, or of a folder, if it can be run as the recipe says."""
    folder = find_model(name if named_model(name) else base / Path(name).expanduser())
    checked = load_folder(folder)
    _check_settings(recipe, checked)
    config = checked.config
    return SweptModel(
        Path(name).name,
        folder,
        config.history,
        config.beam,
        checked.sha256(),
        config.source_language,
        config.target_language,
        windows_in(folder, checked.listed),
    )


def _check_settings(recipe: SweepRecipe, model: ModelFolder) -> None:
    """Refuses what a stream would refuse, before a worker comes to it, which may be hours later."""
    own = model.config
    gamma = own.gamma if recipe.gamma is None else recipe.gamma
    for history, beam in product(recipe.history or (own.history,), recipe.beam or (own.beam,)):
        for policy in policies(recipe):
            Settings(policy=policy, gamma=gamma, history=history, beam=beam)
            for target in recipe.target_lag if policy.movable else ():
                Settings(policy=policy, target_lag=target)
            if isinstance(policy, LookingPolicy) and policy.attention and not model.can_look:
                raise ModelError(without_attention(str(model.path), policy.name))
            if isinstance(policy, LearnedPolicy):
                check_heads(policy, head_list(model).values, str(model.path))


def write_streams(test: SweepTest, recipe: SweepRecipe, source_language: str, target_language: str) -> SweptTest:
    """Writes the streams of a test set; sentences without a source have no latency and are refused."""
    pairs: list[list[tuple[str, str]]] = []
    for document in read(test.corpus, source_language, target_language, held_out=True):
        if not pairs or recipe.streams == "documents":
            pairs.append([])
        pairs[-1] += zip(map(_one_line, document.source), map(_one_line, document.target), strict=True)
    pairs = _first(pairs, recipe.sentences)
    if not pairs:
        raise FormatError("no sentences", test.corpus.path or test.corpus.source)
    if not all(source for stream in pairs for source, _ in stream):
        raise FormatError("a sentence without source words has no latency; drop it", test.corpus.path)
    folder = recipe.folder / file_name(test.name)
    folder.mkdir(parents=True, exist_ok=True)
    digest = hashlib.sha256()
    files: tuple[list[Path], list[Path]] = ([], [])
    for number, stream in enumerate(pairs):
        for side, suffix in enumerate(("source", "reference")):
            path = folder / f"{number:03}.{suffix}"
            content = "".join(f"{pair[side]}\n" for pair in stream).encode()
            digest.update(b"%d %d\n" % (side, len(content)) + content)
            write_file(path, content)
            files[side].append(path)
    words = sum(len(source.split()) for stream in pairs for source, _ in stream)
    sentences = sum(map(len, pairs))
    return SweptTest(test.name, folder, tuple(files[0]), tuple(files[1]), words, sentences, digest.hexdigest())


def _first(streams: list[list[tuple[str, str]]], sentences: int) -> list[list[tuple[str, str]]]:
    """The first `sentences` of all streams together; 0 takes all."""
    if not sentences:
        return streams
    rest = iter([(number, pair) for number, stream in enumerate(streams) for pair in stream])
    kept: list[list[tuple[str, str]]] = [[] for _ in streams]
    for number, pair in islice(rest, sentences):
        kept[number].append(pair)
    return [stream for stream in kept if stream]


def _one_line(text: str) -> str:
    return " ".join(text.split())


# --- translating ------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Job:
    """A stream to be translated."""

    begin: Callable[[], Stream]
    words: Sequence[str]
    meter: Meter = field(default_factory=Meter)
    """Counts its calls of the model."""


def translate_all(jobs: Sequence[Job], backend: Backend, together: int, report: Callable[[int], None]) -> list[Trace]:
    """The trace of each job. So many at a time go `together`, their steps as one batch, and none waits for another.

    `report` is told the source words read since it was last told. Traces have no times: a batch has no moment at which
    a word was written.
    """
    waiting = deque(enumerate(jobs))
    traces: dict[int, Trace] = {}

    def lane() -> Steps[None]:
        try:
            while waiting:
                number, job = waiting.popleft()
                stream = job.begin()
                header = stream.header()
                records: list[Record] = []
                for count, word in enumerate(job.words, start=1):
                    records += yield from job.meter.count(stream.push_steps(word))
                    if count % _REPORT_WORDS == 0:
                        report(_REPORT_WORDS)
                report(len(job.words) % _REPORT_WORDS)
                records += yield from job.meter.count(stream.flush_steps())
                traces[number] = Trace(header, tuple(records))
        except Exception:
            # Nobody gets a trace now: the other lanes need not begin another stream.
            waiting.clear()
            raise

    run_together([lane() for _ in range(min(together, len(jobs)))], backend)
    return [traces[number] for number in range(len(jobs))]


@dataclass(frozen=True)
class _Task:
    """Runs of one model that a process translates together."""

    runs: tuple[Run, ...]
    together: int
    timed_words: int
    """Source words that each run translates once more, alone, to measure its speed."""
    words_read: Any
    """A queue of `int`, to which progress goes."""


def _translate_task(task: _Task) -> tuple[Run, ...]:
    translator = Translator.load(task.runs[0].model.folder)
    jobs = [_job(translator, run.configuration, read_lines(source)) for run in task.runs for source in run.test.sources]
    traces = translate_all(jobs, translator.model.backend, task.together, task.words_read.put)
    for number, run in enumerate(task.runs):
        own = slice(number * len(run.test.sources), (number + 1) * len(run.test.sources))
        _save(run, traces[own], _cost(translator, jobs[own], task.timed_words))
    return task.runs


def _cost(translator: Translator, jobs: Sequence[Job], timed_words: int) -> Cost:
    """Calls of all streams; seconds for so many words of the first one."""
    meters = [job.meter for job in jobs]
    words = sum(len(job.words) for job in jobs)
    every = Cost(
        words, sum(one.calls for one in meters), sum(one.requests for one in meters), sum(one.rows for one in meters)
    )
    if not timed_words:
        return every
    alone = time_alone(jobs[0].begin(), translator.model.backend, jobs[0].words[:timed_words])
    assert alone.seconds is not None
    return replace(every, seconds=alone.seconds / alone.words * words)


def _job(translator: Translator, configuration: Configuration, sentences: Sequence[str]) -> Job:
    lengths = [len(line.split()) for line in sentences]

    def begin() -> Stream:
        segmenter: Segmenter | None = None
        if configuration.block is not None:
            segmenter = BlockSegmenter(configuration.block)
        elif configuration.window is None:
            segmenter = GivenSegmenter(lengths)
        return translator.stream(
            policy=configuration.policy,
            gamma=configuration.gamma,
            window=configuration.window or 0,
            history=configuration.history,
            encoding=configuration.encoding,
            recompute=configuration.recompute,
            beam=configuration.beam,
            max_lag=configuration.max_lag,
            target_lag=configuration.target_lag,
            segmenter=segmenter,
        )

    return Job(begin, [word for line in sentences for word in line.split()])


def _save(run: Run, traces: Sequence[Trace], cost: Cost) -> None:
    """The run's folder, which appears when it is complete."""
    with replacing(run.folder) as new:
        new.mkdir()
        for path, trace in zip(run.traces(), traces, strict=True):
            lines = "".join(f"{line}\n" for line in trace_lines(trace))
            (new / path.name).write_text(lines, encoding="utf-8", newline="\n")
        described = json.dumps(run.description(), indent=1) + "\n"
        (new / "configuration.json").write_text(described, encoding="utf-8")
        (new / COST_FILE).write_text(json.dumps(cost.as_json()) + "\n", encoding="utf-8")


def translate(runs: Sequence[Run], recipe: SweepRecipe, processes: int, show: Show) -> None:
    """Translates the runs that are not done yet; each leaves its folder."""
    waiting = [run for run in runs if not run.is_done()]
    total = sum(run.test.source_words for run in waiting)
    if not waiting:
        return
    with _progress(total, processes, show) as words_read:
        groups = _groups(waiting, recipe.batch, processes)
        tasks = [_Task(group, recipe.batch, recipe.timed_words, words_read) for group in groups]
        for done in in_processes(_translate_task, tasks, min(processes, len(tasks))):
            assert all(run.is_done() for run in done)


def _groups(runs: Sequence[Run], batch: int, processes: int) -> Iterator[tuple[Run, ...]]:
    """Runs of one model in groups that fill a batch, unless processes would then be idle."""
    by_model: dict[str, list[Run]] = {}
    for run in runs:
        by_model.setdefault(run.model.name, []).append(run)
    for own in by_model.values():
        rest = deque(own)
        share = -(-len(own) // processes)
        while rest:
            size = min(share, -(-batch // len(rest[0].test.sources)))
            yield tuple(rest.popleft() for _ in range(min(size, len(rest))))


@contextmanager
def _progress(total: int, processes: int, show: Show) -> Iterator[Any]:
    """A queue for numbers of source words read, from this process or others; a thread shows them as they come."""
    manager = multiprocessing.get_context("spawn").Manager() if processes > 1 else None
    words_read: Any = queue.Queue() if manager is None else manager.Queue()

    def follow() -> None:
        done, shown = 0, -1
        # After an interrupt the queue's process may be gone.
        with suppress(EOFError, OSError):
            while (words := words_read.get()) is not None:
                done += words
                # On no terminal every update is a line: a hundred of them are enough.
                if shown < (percent := 100 * done // total):
                    shown = percent
                    show(done / total, f"{done:,} of {total:,} source words")

    thread = threading.Thread(target=follow)
    thread.start()
    try:
        yield words_read
    finally:
        with suppress(EOFError, OSError):
            words_read.put(None)
        thread.join()
        if manager is not None:
            manager.shutdown()
