"""Models come from a hub over HTTP: what is fetched, what goes on after a break, and what is said if it cannot be."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from tests.hub.conftest import NLLB, OPUS
from tests.hub.local_hub import LocalHub
from turia.cli import main
from turia.errors import TuriaError
from turia.hub.download import _weight_files, fetch
from turia.runtime.folder import ORIGIN_FILE

pytestmark = pytest.mark.slow


def fetched(model: str, revision: str | None = None) -> Path:
    return fetch(model, revision, lambda share, what: None, lambda folder: None).folder


def refusal(model: str, revision: str | None = None) -> str:
    with pytest.raises(TuriaError) as refused:
        fetched(model, revision)
    assert "\n" not in str(refused.value)
    return str(refused.value)


def test_only_what_is_needed_is_fetched_and_only_once(hub: LocalHub) -> None:
    found = fetch(OPUS, None, lambda share, what: None, lambda folder: None)
    assert {file.name for file in found.folder.iterdir()} == {
        "config.json", "model.safetensors", "source.spm", "target.spm", "vocab.json",
    }  # fmt: skip
    for file in found.folder.iterdir():
        assert file.read_bytes() == (hub.models[OPUS].folder / file.name).read_bytes()
    assert (found.origin.revision, found.origin.licence, found.origin.endpoint) == ("a" * 40, "cc-by-4.0", hub.url)
    hub.asked.clear()
    assert fetched(OPUS, "a" * 40) == found.folder
    assert not [asked for asked in hub.asked if asked[0] == "GET"]


def test_one_command_installs_it(hub: LocalHub, home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["models", "add", NLLB, "--source", "de", "--target", "eng_Latn"]) == 0
    printed = capsys.readouterr()
    assert printed.out == "nllb-200-tiny-de-en\n"
    assert "licence: cc-by-4.0\nde → en: Guten Morgen" in printed.err
    origin = json.loads((home / "nllb-200-tiny-de-en" / ORIGIN_FILE).read_text(encoding="utf-8"))
    assert (origin["id"], origin["revision"], origin["model_type"]) == (NLLB, "a" * 40, "m2m_100")


def test_an_interrupted_download_goes_on_where_it_was(hub: LocalHub, monkeypatch: pytest.MonkeyPatch) -> None:
    from huggingface_hub import constants

    monkeypatch.setattr(constants, "DOWNLOAD_CHUNK_SIZE", 1000)
    monkeypatch.setattr("huggingface_hub.file_download.time.sleep", lambda seconds: None)
    hub.cut_at = 10_000
    folder = fetched(NLLB)
    begun = [asked[2] for asked in hub.asked if asked[:2] == ("GET", "sentencepiece.bpe.model")]
    assert begun[:3] == [None, "bytes=10000-", "bytes=20000-"]
    name = "sentencepiece.bpe.model"
    assert (folder / name).read_bytes() == (hub.models[NLLB].folder / name).read_bytes()


def test_what_cannot_be_fetched_is_said_in_one_line(
    hub: LocalHub, home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert "no such model at http://127.0.0.1" in refusal("somebody/nothing")
    assert "no revision 'old'" in refusal(OPUS, "old")
    hub.models[OPUS].token = "secret"
    assert "no such model" in refusal(OPUS)
    monkeypatch.setenv("HF_TOKEN", "secret")
    fetched(OPUS)
    hub.models[NLLB].gated = True
    assert f"{NLLB}: gated; ask for access" in refusal(NLLB)
    hub.models[NLLB].gated = False
    monkeypatch.setattr(shutil, "disk_usage", lambda place: shutil._ntuple_diskusage(10, 9, 1))
    assert "MB are needed for facebook/nllb-200-tiny, 0 MB are free" in refusal(NLLB)
    monkeypatch.undo()
    monkeypatch.setenv("TURIA_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("HF_ENDPOINT", "http://127.0.0.1:9")
    assert main(["models", "add", NLLB, "--source", "de", "--target", "en"]) == 1
    assert capsys.readouterr().err.startswith(f"error: {NLLB}: cannot be fetched from http://127.0.0.1:9 (")
    assert not home.exists()


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"model_type": "t5"}, "architecture 't5', expected one of marian, m2m_100"),
        ({"activation_function": "tanh"}, "activation_function is 'tanh', expected relu, swish, silu, gelu"),
    ],
)
def test_what_cannot_be_computed_is_refused_before_its_weights_are_fetched(
    change: dict[str, str], said: str, hub: LocalHub
) -> None:
    config = hub.models[OPUS].folder / "config.json"
    config.write_text(json.dumps(json.loads(config.read_text(encoding="utf-8")) | change), encoding="utf-8")
    assert said in refusal(OPUS)
    assert {asked[1] for asked in hub.asked} == {"config.json"}


def test_languages_are_checked_before_the_weights_are_fetched(
    hub: LocalHub, home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["models", "add", NLLB, "--source", "de", "--target", "tlh"]) == 2
    assert "nllb-200-tiny: no language 'tlh'; it has arb_Arab, deu_Latn" in capsys.readouterr().err
    assert "model.safetensors" not in {asked[1] for asked in hub.asked}


def test_a_repository_without_weights_is_refused(hub: LocalHub) -> None:
    (hub.models[OPUS].folder / "model.safetensors").unlink()
    assert refusal(OPUS).endswith("no weights; expected model.safetensors or pytorch_model.bin")
    (hub.models[OPUS].folder / "config.json").unlink()
    assert "the repository has no config.json" in refusal(OPUS)


@pytest.mark.parametrize(
    "weight_map", [{"a": 1, "b": "x"}, {"a": ["x"]}, {"a": None}, {}, [], 7, {"a": "../x"}, {"a": "/x"}, {"a": "in/x"}]
)
def test_a_list_of_weights_that_is_none_is_not_followed(weight_map: object, tmp_path: Path) -> None:
    (tmp_path / "index").write_text(json.dumps({"weight_map": weight_map}))
    sizes = dict.fromkeys(("model.safetensors.index.json", "x", "../x", "/x", "in/x"), 1)
    with pytest.raises(TuriaError, match="the repository has no weights"):
        _weight_files("m", sizes, lambda name: tmp_path / "index")
    (tmp_path / "index").write_text(json.dumps({"weight_map": {"a": "x", "b": "x"}}))
    assert _weight_files("m", sizes, lambda name: tmp_path / "index") == ["x"]
