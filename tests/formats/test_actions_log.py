"""The logs of the paper's authors score as the trace does."""

from __future__ import annotations

from pathlib import Path

from tests.formats.streams import EVERYTHING, example, made_up, report, write
from turia.evaluation.inputs import load_streams
from turia.evaluation.report import evaluate
from turia.stream.trace import End, Trace, trace_lines


def test_the_authors_logs_score_as_the_trace_does(tmp_path: Path) -> None:
    streams = [example(), made_up(tmp_path, 1, timed=False)]
    folder = write(tmp_path / "log", "actions", streams)
    names = [f"stream-{number:03d}" for number in range(2)]

    def files(ending: str) -> list[Path]:
        return [folder / f"{name}.{ending}" for name in names]

    logs = load_streams(files("source"), files("reference"), hypotheses=files("hypothesis"), actions=files("actions"))
    ours, again = report(streams), evaluate(logs, EVERYTHING)
    for name in ("AP", "AL", "DAL", "BLEU"):
        assert again.value(name) == ours.value(name)
    assert (folder / "stream-000.actions").read_text().startswith("R R R W R W R W R W W W")


def test_a_stream_without_words_has_a_score_in_the_authors_logs_too(tmp_path: Path) -> None:
    source, reference, _ = made_up(tmp_path, 1, timed=False)
    total = len(source.read_text(encoding="utf-8").split())
    silent = tmp_path / "silent.jsonl"
    lines = trace_lines(Trace({}, (End(total, 0),)))
    silent.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    folder = write(tmp_path / "log", "actions", [(source, reference, silent)])
    files = {name: [folder / f"stream-000.{name}"] for name in ("source", "reference", "hypothesis", "actions")}
    logs = load_streams(files["source"], files["reference"], hypotheses=files["hypothesis"], actions=files["actions"])
    ours, again = report([(source, reference, silent)]), evaluate(logs, EVERYTHING)
    assert (again.value("BLEU"), again.empty, again.sentences) == (ours.value("BLEU"), 12, 12)
    for name in ("AP", "AL", "DAL"):
        assert again.value(name) == ours.value(name)
