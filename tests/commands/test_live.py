"""`turia translate` as a process: a pipe that stays open, an interrupt, a reader that goes away."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import onnxruntime
import pytest

from turia.export.random_model import write_random_folder
from turia.stream.trace import parse_trace

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("model")
    write_random_folder(folder, "tiny", "int8", ("de", "en"), vocabulary=500)
    return folder


def begin(model: Path, *options: str) -> subprocess.Popen[bytes]:
    chosen = ["--model", str(model), "--punctuation", "--window", "0", "--k", "1", *options]
    command = [sys.executable, "-m", "turia", "translate", *chosen]
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, bufsize=0)


def say(process: subprocess.Popen[bytes], text: str) -> None:
    assert process.stdin is not None
    process.stdin.write(text.encode())


def hear(process: subprocess.Popen[bytes]) -> bytes:
    """What comes next, while the input is still open."""
    assert process.stdout is not None
    return os.read(process.stdout.fileno(), 1 << 16)


def test_words_are_answered_before_their_line_ends_and_an_interrupt_loses_none(model: Path, tmp_path: Path) -> None:
    trace = tmp_path / "trace.jsonl"
    with begin(model, "--trace", str(trace)) as process:
        say(process, "hallo ")
        first = hear(process)
        say(process, "welt ")
        second = hear(process)
        process.send_signal(signal.SIGINT)
        rest, errors = process.communicate()
    assert (process.returncode, errors) == (130, b"")
    recorded = parse_trace(trace.read_text(encoding="utf-8").splitlines())
    assert recorded.source_words() == 2
    assert [write.read for write in recorded.writes()][:2] == [1, 2]
    assert (first + second + rest).decode().split() == recorded.words()
    assert rest.endswith(b"\n")


def test_a_reader_that_goes_away_gets_no_complaint(model: Path) -> None:
    with begin(model) as process:
        say(process, "hallo ")
        assert hear(process)
        assert process.stdout is not None
        process.stdout.close()
        process.stdout = None
        say(process, "welt und mehr.\n")
        _, errors = process.communicate()
    assert errors == b""
    assert process.returncode == 1


def test_a_reader_that_goes_away_costs_no_trace(model: Path, tmp_path: Path) -> None:
    trace = tmp_path / "trace.jsonl"
    with begin(model, "--trace", str(trace)) as process:
        say(process, "hallo ")
        assert hear(process)
        assert process.stdout is not None
        process.stdout.close()
        process.stdout = None
        say(process, "welt und mehr. ")
        assert process.wait() == 1
    lines = trace.read_text(encoding="utf-8").splitlines()
    assert '"type":"end"' in lines[-1]
    assert 2 <= parse_trace(lines).source_words() <= 4


def test_a_trace_is_written_as_it_goes(model: Path, tmp_path: Path) -> None:
    trace = tmp_path / "trace.jsonl"
    with begin(model, "--trace", str(trace)) as process:
        for word in ("hallo ", "welt ", "und ", "mehr. "):
            say(process, word)
            heard = hear(process)
        # The output of a word comes before its trace, and that of the word before is complete.
        process.kill()
    assert heard
    recorded = parse_trace(trace.read_text(encoding="utf-8").splitlines())
    assert recorded.delays()[:3] == [1, 2, 3]


def shell(model: Path, redirections: str) -> tuple[int, str, str]:
    """Exit code, output and errors of a short translation with its streams redirected so."""
    options = f"--model {model} --punctuation --window 0"
    command = f"printf 'hallo welt.' | {{ {sys.executable} -m turia translate {options} {redirections}; }}"
    result = subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=False)
    return result.returncode, result.stdout, result.stderr


def test_standard_input_that_is_closed(model: Path) -> None:
    told = "error: standard input is closed; give a file, or something to read from\n"
    assert shell(model, "<&-") == (2, "", told)


def test_standard_output_that_is_closed(model: Path) -> None:
    told = "error: standard output is closed; send it to a file, or to /dev/null\n"
    assert shell(model, ">&-") == (2, "", told)


def test_standard_error_that_is_closed_sends_nothing_elsewhere(model: Path) -> None:
    assert shell(model, "missing 2>&-") == (2, "", "")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
def test_a_full_disk_is_told_with_the_name_of_the_file(model: Path, tmp_path: Path) -> None:
    code, out, told = shell(model, "--trace /dev/full")
    assert (code, told) == (1, "error: /dev/full: cannot be written: No space left on device\n")
    assert out.endswith("\n")
    trace = tmp_path / "trace.jsonl"
    told = "error: standard output: cannot be written: No space left on device\n"
    assert shell(model, f"--trace {trace} >/dev/full") == (1, "", told)
    assert '"type":"end"' in trace.read_text(encoding="utf-8").splitlines()[-1]


def test_a_gpu_that_cannot_be_used_is_refused_by_name(model: Path) -> None:
    if "CUDAExecutionProvider" in onnxruntime.get_available_providers():
        pytest.skip("this ONNX Runtime can use a GPU")
    with begin(model, "--gpu") as process:
        _, errors = process.communicate()
    assert process.returncode == 2
    assert b"CUDAExecutionProvider is not in this installation of ONNX Runtime" in errors
