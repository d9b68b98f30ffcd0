"""benchmarks/learning.py: which runs are drawn, and what they are called."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.learning import main, runs_by_name
from turia.errors import InputError
from turia.training.run import RunFolder


def run_in(folder: Path) -> Path:
    folder.mkdir(parents=True)
    RunFolder(folder).log(step=10, seconds=60.0, dev_loss=4.0)
    return folder


def test_a_run_is_called_by_its_folder_or_as_one_likes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first, second, odd = (run_in(tmp_path / name) for name in ("a/run", "b/run", "rate=2"))
    runs = runs_by_name([str(first), f"other={second}", str(odd)])
    assert {name: run.path for name, run in runs.items()} == {"run": first, "other": second, "rate=2": odd}
    monkeypatch.chdir(first)
    assert list(runs_by_name(["."])) == ["run"]
    monkeypatch.setenv("HOME", str(tmp_path))
    assert runs_by_name(["home=~/b/run"])["home"].path == second


def test_runs_of_one_name_are_not_taken_for_one(tmp_path: Path) -> None:
    first, second = (run_in(tmp_path / name / "run") for name in "ab")
    with pytest.raises(InputError, match=rf"^{first} and {second} are both called run; name one of them: NAME=FOLDER$"):
        runs_by_name([str(first), str(second)])
    with pytest.raises(InputError, match="are both called x"):
        runs_by_name([f"x={first}", f"x={second}"])


def test_a_picture_and_a_folder_that_is_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out.svg"
    monkeypatch.setattr("sys.argv", ["learning.py", f"muon={run_in(tmp_path / 'run')}", "--out", str(out)])
    main()
    assert capsys.readouterr().out == f"{out}\n"
    assert "muon" in out.read_text(encoding="utf-8")
    monkeypatch.setattr("sys.argv", ["learning.py", f"muon={tmp_path / 'rum'}"])
    with pytest.raises(SystemExit, match=r"learning\.py: .*/rum: no metrics\.jsonl there; expected a run folder of"):
        main()
