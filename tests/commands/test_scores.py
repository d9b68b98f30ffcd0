"""`turia evaluate` and `turia resegment` as a user's shell sees them."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from turia.cli import main

SOURCE = "eins zwei drei\nvier fünf\n"
REFERENCE = "One two three.\nFour five.\n"
HYPOTHESIS = "One two\nthree . Four\nfive .\n"
ACTIONS = "R W R W R W W R W R W W\n"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a small stream in it, which is the current one."""
    files = {"source": SOURCE, "reference": REFERENCE, "hypothesis": HYPOTHESIS, "actions": ACTIONS}
    for name, text in files.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    return tmp_path


STREAM = ["--source", "source", "--reference", "reference", "--hypothesis", "hypothesis", "--actions", "actions"]


@pytest.mark.slow
def test_json_of_evaluate(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["evaluate", *STREAM, "--unit", "moses", "--latency", "all", "--json"]) == 0
    data = json.loads(capsys.readouterr().out)
    assert {"AP", "AL", "DAL", "BLEU", "chrF", "sentences", "signature"} <= data.keys()
    assert data["sentences"] == 2
    assert data["AP"] == pytest.approx(((1 + 2 + 3 + 3) / 12 + (1 + 2 + 2) / 6) / 2)
    assert data["chrF"] == pytest.approx(100)
    assert data["signature"].startswith("latency:authors+simuleval+streamlaal+longyaal|unit:moses|")
    assert set(data["simuleval"]) == {"AP", "AL", "LAAL", "DAL"}


def test_a_table_is_for_people(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["evaluate", *STREAM]) == 0
    out = capsys.readouterr().out
    for expected in ("AL", "DAL", "2 sentences", "latency:authors|unit:word|dal-scale:0.85", "BLEU|nrefs:1"):
        assert expected in out


def test_a_trace_and_several_streams(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "trace").write_text(
        '{"type":"stream","version":1,"k":3,"window":2}\n'
        '{"type":"write","word":"One","index":0,"read":3,"sentence":0,"reason":"policy"}\n'
        '{"type":"end","source_words":5,"target_words":1}\n',
        encoding="utf-8",
    )
    one = ["--source", "source", "--reference", "reference", "--trace", "trace"]
    assert main(["evaluate", *one, *one, "--json"]) == 0
    data = json.loads(capsys.readouterr().out)
    assert (data["streams"], data["sentences"], data["empty"]) == (2, 4, 2)
    assert data["AL"] == pytest.approx(3 / 2)
    assert "|k:3|w:2|" in data["signature"]


def test_sentence_by_sentence(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "hypothesis").write_text("One two three.\nFour five.\n", encoding="utf-8")
    (folder / "actions").write_text("R W R W R W\nR R W W\n", encoding="utf-8")
    assert main(["evaluate", *STREAM, "--sentences", "--json", "--dal-scale", "1"]) == 0
    data = json.loads(capsys.readouterr().out)
    assert data["AL"] == data["DAL"] == pytest.approx((1 + 2) / 2)
    assert data["BLEU"] == pytest.approx(100)
    assert "|resegmenter:none|" in data["signature"]


def test_one_sentence_is_named_as_one(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    log = {"prediction": "one", "reference": "one", "source_length": 1, "delays": [1]}
    (folder / "instances.log").write_text(json.dumps(log) + "\n", encoding="utf-8")
    assert main(["evaluate", "--instances", "instances.log"]) == 0
    assert "\n1 sentence, 0 of them without words\n" in capsys.readouterr().out


def test_resegment_prints_a_line_for_each_reference(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["resegment", "--hypothesis", "hypothesis", "--reference", "reference"]) == 0
    assert capsys.readouterr().out == "One two three .\nFour five .\n"


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("actions", b"R W R W R W W R W R W X\n", "error: actions:1: column 23: expected R or W, found 'X'"),
        ("actions", b"R W R W R W W R W R W\n", "error: actions:1: 6 writes, but hypothesis has 7 words"),
        ("actions", b"R W R W R W W R W R W W W\n", "error: actions:1: 8 writes, but hypothesis has 7 words"),
        ("actions", b"R R W R W R W W R W R W W\n", "error: actions:1: 6 reads, but the source has 5 words"),
        ("actions", None, "error: actions: no such file"),
        ("hypothesis", b"", "error: hypothesis: an empty file"),
        ("source", b"eins\n", "error: source:1: ends here: source has 1 line, but reference has 2"),
        ("reference", b"One\nTw\xff\n", "error: reference:2: not UTF-8: byte 0xff"),
    ],
)
def test_bad_input_is_one_line_and_exit_code_2(
    folder: Path, capsys: pytest.CaptureFixture[str], name: str, content: bytes | None, message: str
) -> None:
    if content is None:
        (folder / name).unlink()
    else:
        (folder / name).write_bytes(content)
    assert main(["evaluate", *STREAM]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.startswith(message)
    assert captured.err.count("\n") == 1


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["nonsense"], "error: No such command 'nonsense'."),
        (["evaluate", "--source", "source"], "error: expected --source and --reference, or --instances"),
        (["evaluate", *STREAM, "--instances", "log"], "error: --instances has sources and references of its own"),
        (["evaluate", "--instances", "log", "--sentences"], "error: --sentences is for files of lines; each instance"),
        (["evaluate", *STREAM, "--unit", "byte"], "error: Invalid value for '--unit'"),
        (["evaluate", *STREAM, "--dal-scale", "nan"], "error: --dal-scale is nan, expected a number from 0 to 100"),
        (["evaluate", *STREAM, "--dal-scale", "inf"], "error: --dal-scale is inf, expected a number from 0 to 100"),
        (["evaluate", *STREAM, "--dal-scale", "-1"], "error: --dal-scale is -1.0, expected a number from 0 to 100"),
        (["evaluate", *STREAM, "--bootstrap", "1"], "error: --bootstrap is 1, expected 0 for no interval"),
        (["evaluate", *STREAM[:4]], "error: expected either a trace, or a hypothesis with its actions"),
        (["evaluate", *STREAM, "--source", "source"], "error: 2 x source, but 1 x reference"),
    ],
)
def test_wrong_usage_is_one_line_too(
    folder: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], message: str
) -> None:
    assert main(arguments) == 2
    err = capsys.readouterr().err
    assert err.startswith(message)
    assert err.count("\n") == 1


def test_debug_shows_the_traceback(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "actions").unlink()
    assert main(["--debug", "evaluate", *STREAM]) == 2
    err = capsys.readouterr().err
    assert "Traceback (most recent call last)" in err
    assert "actions: no such file" in err


@pytest.mark.slow
@pytest.mark.parametrize(
    "locale", [{"PYTHONIOENCODING": "latin-1"}, {"LC_ALL": "C", "PYTHONCOERCECLOCALE": "0", "PYTHONUTF8": "0"}]
)
def test_what_is_written_does_not_depend_on_the_locale(folder: Path, locale: dict[str, str]) -> None:
    (folder / "hypothesis").write_text("Łódź → 東京", encoding="utf-8")
    command = [sys.executable, "-m", "turia", "resegment", "--hypothesis", "hypothesis", "--reference", "reference"]
    done = subprocess.run(command, env=os.environ | locale, capture_output=True, check=False)
    assert (done.returncode, done.stderr) == (0, b"")
    assert done.stdout.decode("utf-8").split() == ["Łódź", "→", "東京"]
    (folder / "actions").write_text("Ł", encoding="utf-8")
    command = [sys.executable, "-m", "turia", "evaluate", *STREAM]
    done = subprocess.run(command, env=os.environ | locale, capture_output=True, check=False)
    told = "error: actions:1: column 1: expected R or W, found 'Ł'\n"
    assert (done.returncode, done.stderr.decode("utf-8")) == (2, told)
