"""What `turia serve` refuses before it begins."""

from __future__ import annotations

import logging
import socket
from pathlib import Path

import numpy as np
import pytest

from turia.cli import main
from turia.engine.backend import EncodeRequest
from turia.errors import InputError, ResourceError
from turia.policy.waitk import WaitK
from turia.runtime.folder import load_folder
from turia.server.choices import Translators
from turia.server.limits import Limits
from turia.server.logs import LINES_PER_MINUTE, fields_of
from turia.server.serve import News, ServeOptions, check_origins, data_folder, listen, read_keys, serve, url_of


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.0.2.1"])
def test_an_address_that_others_reach_needs_keys(host: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="--key-file"):
        serve({}, ServeOptions(host, 0, tmp_path, Limits()))


@pytest.mark.parametrize("text", ["", "\n", "short\n", "a-key-of-many-letters\nshort\n"])
def test_weak_keys_are_refused(text: str, tmp_path: Path) -> None:
    path = tmp_path / "keys"
    path.write_text(text)
    with pytest.raises(InputError, match="at least 16 characters"):
        read_keys(path)
    with pytest.raises(InputError, match="cannot be read"):
        read_keys(tmp_path / "absent")


def test_a_weak_key_is_told_by_its_line(tmp_path: Path) -> None:
    (tmp_path / "keys").write_text("a-key-of-many-letters\n\nshort\n")
    with pytest.raises(InputError, match="keys:3: a key has at least 16 characters") as caught:
        read_keys(tmp_path / "keys")
    assert "short" not in str(caught.value)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--host", "0.0.0.0"], "0.0.0.0 can be reached by others"),
        (["--key-file", "/absent"], "/absent: cannot be read as a file of keys"),
        (["--replicas", "2"], "--replicas needs --ray"),
        (["--store", "redis://127.0.0.1:1/0", "--data", "sessions"], "--data is not used with --store"),
        (["--retention", "soon"], "--retention soon: expected a time from 1m on"),
        (["--quota", "much"], "--quota much: expected a size from 1MB on"),
        (["--store", "redis://127.0.0.1:1/0", "--quota", "1GB"], "--quota is for sessions in a file"),
        (["--operator-key-file", "/absent"], "/absent: cannot be read as a file of keys"),
        (["--origin", "a.org"], "origin a.org: expected what browsers send"),
        (["--origin", "https://a.org/captions"], "origin https://a.org/captions: expected what browsers send"),
        (["--origin", "https://a.org", "--origin", "http://["], "error: origin http://[: expected what browsers send"),
        (["--frame-ancestor", "https://a.org;x"], "error: origin https://a.org;x: expected what browsers send"),
    ],
)
def test_what_cannot_work_is_refused_before_models_are_loaded(
    options: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["serve", "--model", "no-such-model", *options]) == 2
    assert message in capsys.readouterr().err


@pytest.mark.parametrize("by_option", [True, False])
def test_a_password_on_the_command_line_is_warned_of(
    by_option: bool, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Other users see command lines, and do not see variables."""
    store = "redis://:hidden@127.0.0.1:1/0"
    given = ["--store", store] if by_option else []
    if not by_option:
        monkeypatch.setenv("TURIA_STORE", store)
    monkeypatch.setattr("sys.argv", ["turia", "serve", *given])
    assert main(["serve", "--data", "sessions", *given]) == 2
    said = capsys.readouterr().err
    assert ("can see the password of --store" in said) == by_option
    assert "hidden" not in said


@pytest.mark.parametrize(
    "origin",
    [
        *(
            "https://A.org",
            "https://a.org:443",
            "http://a.org:80",
            "https://*",
            "https://u@a.org",
            "https://a.org?",
            "",
        ),
        *("http://[", "http://]", "http://[]", "http://[::1", "http://::1", "http://[::1]]", "http://[1.2.3.4]"),
        *("http://[::g]", "http://[0:0:0:0:0:0:0:1]", "http://[::1]:80", "http://[fe80::1%eth0]", "http://[1:2]"),
        *("http://1.2.3", "http://256.1.1.1", "http://127.0.0.01", "http://0x7f.1", "http://1.2.3.4."),
        *("https://a.org:", "https://:8080", "https://a.org:0", "https://a.org:080", "https://a.org:65536"),
        *("https://a.org:8o", "https://a.org:1:2", "https://a.org/", "https://a..org", "https://.", "https://.a.org"),
        *(
            "https://bücher.example",
            "https://a.org;b",
            "https://a.org,https://b.org",
            "https://a.org\\b",
            "https://a%20b",
        ),
        *("https://a.org\n", "https://a.org\nb", "https://" + "a" * 254, "wss://a.org", "ws://a.org", "file://a"),
        *("https:a.org", "https:///a.org", "//a.org", "://a.org", "null", "*", "'self'", "about:blank"),
    ],
)
def test_origins_that_no_browser_sends_are_refused(origin: str) -> None:
    with pytest.raises(InputError, match="expected what browsers send") as error:
        check_origins(["https://a.org", origin])
    assert str(error.value).isprintable(), "one line"


def test_origins_that_browsers_send_are_taken() -> None:
    check_origins(
        [
            *(
                "https://a.org",
                "http://127.0.0.1:8080",
                "http://[::1]:8044",
                "chrome-extension://abc",
                "https://a.org:80",
            ),
            *("http://[2001:db8::1]", "https://xn--bcher-kva.example", "http://localhost:65535", "http://a_b-c.org."),
            *("capacitor://localhost", "app://.", "moz-extension://0f7e-1", "https://1.a.org", "http://a.org:443"),
        ]
    )


def test_keys_are_read() -> None:
    assert read_keys(None) == []


def test_a_port_that_is_taken_is_named() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        with pytest.raises(ResourceError, match=f"127.0.0.1:{port}: cannot listen"):
            listen("127.0.0.1", port)


def test_a_port_that_is_taken_is_told_before_models_are_loaded(capsys: pytest.CaptureFixture[str]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        assert main(["serve", "--model", "no-such-model", "--port", str(port)]) == 1
    assert f"127.0.0.1:{port}: cannot listen" in capsys.readouterr().err


def test_an_address_that_is_not_this_machines_is_named() -> None:
    with pytest.raises(InputError, match=r"192\.0\.2\.1: not an address of this machine; choose another --host"):
        listen("192.0.2.1", 0)


def test_an_ipv6_address_is_told_as_a_browser_takes_it() -> None:
    assert url_of("127.0.0.1", 8000) == "http://127.0.0.1:8000"
    assert url_of("::1", 8000) == "http://[::1]:8000"


@pytest.fixture
def served(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> list[Translators]:
    """What `turia serve` would serve; a model is in `tmp_path`."""
    pytest.importorskip("onnx", reason="the train extra, which writes models, is not installed")
    from turia.export.random_model import write_random_folder

    write_random_folder(tmp_path, "tiny", "int8", ("de", "en"), vocabulary=500)
    found: list[Translators] = []

    def serve(translators: Translators, options: ServeOptions, listening: socket.socket) -> None:
        listening.close()
        assert options.prepare is not None
        assert options.prepare() in (1, 5), "as many as --streams says"
        found.append(translators)

    monkeypatch.setattr("turia.server.serve.serve", serve)
    return found


def test_graphs_for_many_streams_are_there_before_anybody_comes(served: list[Translators], tmp_path: Path) -> None:
    assert main(["serve", "--model", str(tmp_path), "--streams", "5"]) == 0
    for graph in tmp_path.glob("*.onnx"):
        graph.unlink()
    one = np.ones(1, dtype=np.int64)
    [translators] = served
    assert len(translators["de-en"].model.backend.encode([EncodeRequest(None, one, one)] * 5)) == 5


def test_search_and_history_of_a_server_are_the_models_own_unless_told(
    served: list[Translators], tmp_path: Path
) -> None:
    command = ["serve", "--model", str(tmp_path), "--streams", "1"]
    assert main(command) == 0
    assert main([*command, "--beam", "3", "--history", "7"]) == 0
    own, told = (translators["de-en"].stream(policy=WaitK(1), punctuation=True).settings for translators in served)
    config = load_folder(tmp_path).config
    assert (own.beam, own.history) == (config.beam, config.history)
    assert (told.beam, told.history) == (3, 7)


def test_two_models_of_one_direction_are_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("onnx", reason="the train extra, which writes models, is not installed")
    from turia.export.random_model import write_random_folder

    for name in ("one", "other"):
        (tmp_path / name).mkdir()
        write_random_folder(tmp_path / name, "tiny", "int8", ("de", "en"), vocabulary=500)
    chosen = [option for name in ("one", "other") for option in ("--model", str(tmp_path / name))]
    assert main(["serve", *chosen, "--streams", "5"]) == 2
    assert capsys.readouterr().err == "error: --model: one model a direction, but these are de-en, de-en\n"


def test_sessions_are_kept_in_the_users_state(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    assert data_folder() == tmp_path / "turia"


def test_what_anybody_can_cause_does_not_fill_the_log() -> None:
    """A request that is no HTTP is a line of uvicorn's, an error that nobody foresaw a traceback."""
    now = 0.0
    news = News(lambda: now)

    def told(message: str, error: Exception | None = None) -> logging.LogRecord | None:
        info = None if error is None else (type(error), error, None)
        record = logging.LogRecord("uvicorn.error", logging.WARNING, "file.py", 1, message, (), info)
        return record if news(record) else None

    assert told("opening handshake failed") is None
    wrong = [told("Invalid HTTP request received.") for _ in range(3 * LINES_PER_MINUTE)]
    assert len([record for record in wrong if record is not None]) == LINES_PER_MINUTE
    failed = [told("Exception in ASGI application\n", error) for error in (KeyError(), ValueError())]
    assert None not in failed
    now = 61.0
    later = told("Invalid HTTP request received.")
    assert later is not None
    assert fields_of(later) == {"left_out": 2 * LINES_PER_MINUTE}
