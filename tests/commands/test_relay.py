"""`turia relay` is one more viewer of a session: its captions go to services, and to a folder for HLS."""

from __future__ import annotations

import asyncio
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.commands.caption_services import SECRET, CaptionService
from tests.formats.cues import parse
from tests.server.servers import FakeServer
from turia.cli import main
from turia.commands import relay as relay_module
from turia.commands.relay import HOLD_MS, Captioner, CaptionRelay, HlsTrack, Place, _session_in, place_of
from turia.errors import FormatError, InputError
from turia.formats.subtitles import Cue
from turia.protocol.client import Speaker
from turia.protocol.events import checked_event

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[FakeServer]:
    with FakeServer(tmp_path_factory.mktemp("server"), rooms=["hall"]) as running:
        yield running


def write(word: str, ms: float, kind: str = "write") -> dict[str, Any]:
    return {"type": kind, "word": word, "index": 0, "read": 0, "sentence": 0, "reason": "policy", "ms": ms}


def captioned(events: list[dict[str, Any]], side: Any = "target") -> tuple[list[Cue], list[str], Captioner]:
    cues: list[Cue] = []
    pieces: list[str] = []
    captioner = Captioner(side, cues.append, lambda word, ms: pieces.append(word), lambda ms: pieces.append("/"))
    for event in events:
        captioner.take(event)
    return cues, pieces, captioner


SETTINGS = {"type": "settings", "model": "de-en", "source": "de", "target": "en", "ms": 0.0}
SENTENCE = {"type": "sentence", "sentence": 0, "source_words": 1, "target_words": 1, "reason": "end", "ms": 0.0}


def test_a_cue_ends_with_its_sentence_its_speaker_or_a_silence() -> None:
    note = {"type": "note", "kind": "speaker", "sentence": 1, "detail": "Anna Bo"}
    events = [SETTINGS, write("one", 1000.0), SENTENCE, note, write("two", 2000.0), write("three", 4100.0)]
    cues, pieces, captioner = captioned(events)
    assert [(cue.text, cue.start) for cue in cues] == [("one", 1000.0), ("Anna Bo: two", 2000.0)]
    assert pieces == ["one", "/", "Anna", "Bo:", "two", "/", "three"]
    captioner.quiet(6100.0)
    assert len(cues) == 2
    captioner.quiet(6100.1)
    assert [cue.text for cue in cues[2:]] == ["three"]
    assert captioner.language == "en"


def test_what_is_spoken_is_not_cut_where_sentences_are_found_later() -> None:
    events = [
        SETTINGS,
        write("eins", 1000.0, "source"),
        write("one", 1100.0),
        SENTENCE,
        write("zwei", 1200.0, "source"),
    ]
    cues, pieces, captioner = captioned([*events, {"type": "end", "ms": 1300.0}], "source")
    assert [cue.text for cue in cues] == ["eins zwei"]
    assert pieces == ["eins", "zwei", "/"]
    assert captioner.language == "de"


def test_a_track_is_the_same_live_and_when_it_is_made_later(tmp_path: Path) -> None:
    events = [SETTINGS] + [write(f"w{i}", 700.0 * i + (3000 if i > 20 else 0)) for i in range(40)]
    events.append({"type": "end", "source_words": 40, "target_words": 40, "ms": 32_000.0})

    def made(folder: Path, live: bool) -> dict[str, str]:
        now = [100.0 if live else 1000.0]
        relay = CaptionRelay("target", hls=HlsTrack(folder, 900_000), clock=lambda: now[0])
        relay.connected(100.0, 0.0)
        for event in events:
            while live and now[0] < 100 + event["ms"] / 1000:
                now[0] = min(now[0] + 0.5, 100 + event["ms"] / 1000)
                relay.tick()
            relay.take(event)
        return {path.name: path.read_text() for path in folder.iterdir()}

    later = made(tmp_path / "later", live=False)
    assert made(tmp_path / "live", live=True) == later
    assert later["captions.m3u8"].endswith("#EXT-X-ENDLIST\n")
    words = {
        word
        for name, text in later.items()
        if name.endswith(".vtt")
        for cue in parse(text)
        for word in cue.text.split()
    }
    assert words == {f"w{i}" for i in range(40)}


def test_a_track_is_made_again_as_the_operator_has_left_it_when_the_session_ends(tmp_path: Path) -> None:
    relay = CaptionRelay("target", hls=HlsTrack(tmp_path, 900_000), clock=lambda: 1000.0)
    relay.connected(100.0, 0.0)
    first = tmp_path / "captions-000000.vtt"

    def texts() -> list[str]:
        return [cue.text for cue in parse(first.read_text())]

    for event in (
        SETTINGS,
        write("bored", 1000.0),
        SENTENCE | {"ms": 1100.0},
        write("late", 30_000.0) | {"sentence": 1},
    ):
        relay.take(event)
    relay.take({"type": "correction", "sentence": 0, "words": 1, "text": "Board", "ms": 31_000.0})
    relay.take({"type": "insertion", "number": 0, "before": 0, "text": "[Music]", "ms": 31_000.0})
    # Players and caches have the segment: it stays as it is for now.
    assert texts() == ["bored"]
    relay.take({"type": "end", "source_words": 2, "target_words": 2, "ms": 32_000.0})
    assert texts() == ["[Music]", "Board"]
    assert (tmp_path / "captions.m3u8").read_text().endswith("#EXT-X-ENDLIST\n")


def test_corrections_reach_what_is_not_posted_yet(
    server: FakeServer, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    async def speak() -> None:
        async with Speaker(server.url, k=1, punctuation=True) as speaker:
            options = ["--youtube", str(tmp_path / "youtube.txt"), "--zoom", str(tmp_path / "zoom.txt"), "--hold", "30"]
            relaying = asyncio.create_task(
                asyncio.to_thread(main, ["relay", speaker.session, "--server", server.url, *options])
            )
            while "turia_viewers 1.0" not in server.get("/metrics")[1]:
                assert not relaying.done()
                await asyncio.sleep(0.05)
            await speaker.say("ka", "le.", "mi", "no.", "ka.")
            events = speaker.events()
            while (await anext(events)).get("sentence") != 2:
                pass
            for message in (
                {"type": "correct", "sentence": 0, "words": 2, "text": "Kalle!"},
                {"type": "correct", "sentence": 2, "words": 1, "text": ""},
                {"type": "insert", "before": 1, "text": "[Applause]"},
            ):
                assert server.post(f"/api/sessions/{speaker.session}/steer", message)[0] == 202
            await speaker.end()
            async for _ in events:
                pass
            assert await relaying == 0

    with CaptionService() as youtube, CaptionService() as zoom:
        (tmp_path / "youtube.txt").write_text(youtube.url)
        (tmp_path / "zoom.txt").write_text(zoom.url)
        asyncio.run(speak())
    posted = [line for taken in youtube.taken for line in taken.body.splitlines()[1::2]]
    assert posted == ["Kalle!", "[Applause]", "mi no"]
    assert "".join(taken.body for taken in zoom.taken) == "Kalle!\n[Applause]\nmi no\n"
    assert youtube.wrong == zoom.wrong == []
    assert "had been posted" not in capsys.readouterr().err


def test_segments_wait_for_cues_that_may_still_come(tmp_path: Path) -> None:
    now = [100.0]
    relay = CaptionRelay("target", hls=HlsTrack(tmp_path / "hls", 900_000), clock=lambda: now[0])
    relay.tick()
    relay.connected(100.0, 0.0)
    relay.take(SETTINGS)
    now[0] = 100 + 6 + (HOLD_MS - 1) / 1000
    relay.tick()
    assert not (tmp_path / "hls").exists()
    now[0] += 0.002
    relay.tick()
    assert sorted(path.name for path in (tmp_path / "hls").iterdir()) == ["captions-000000.vtt", "captions.m3u8"]


def test_only_what_is_said_from_now_on_is_posted(
    server: FakeServer, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A session is watched by name from its middle on, to all three outlets."""

    async def speak(url: str) -> str:
        async with Speaker(server.url, k=1, punctuation=True) as speaker:
            await speaker.say("ka", "le.")
            events = speaker.events()
            while (await anext(events))["type"] != "sentence":
                pass
            await asyncio.sleep(0.05)
            relaying = asyncio.create_task(
                asyncio.to_thread(main, ["relay", f"{server.url}/watch/{speaker.session}", *options])
            )
            while "turia_viewers 1.0" not in server.get("/metrics")[1]:
                assert not relaying.done()
                await asyncio.sleep(0.05)
            await speaker.pause(speaker="Anna")
            await speaker.say("mi", "no.")
            await speaker.end()
            async for _ in events:
                pass
            assert await relaying == 0
            return speaker.session

    with CaptionService(failures=[503]) as youtube, CaptionService() as zoom:
        (tmp_path / "youtube.txt").write_text(youtube.url)
        monkeypatch.setenv("TURIA_ZOOM_URL", zoom.url)
        options = ["--youtube", str(tmp_path / "youtube.txt"), "--hls", str(tmp_path / "hls")]
        asyncio.run(speak(server.url))
    assert youtube.tried[:2] == [1, 1]
    assert [line for taken in youtube.taken for line in taken.body.splitlines()[1::2]] == ["Anna: mi no"]
    assert "".join(taken.body for taken in zoom.taken) == "Anna: mi no\n"
    assert {taken.lang for taken in zoom.taken} == {"en-US"}
    assert youtube.wrong == zoom.wrong == []
    assert (tmp_path / "youtube.txt.seq").is_file()
    shown = [cue.text for cue in parse((tmp_path / "hls" / "captions-000000.vtt").read_text())]
    assert shown == ["ka le", "Anna: mi no"]
    assert SECRET not in "".join(capsys.readouterr())


def test_what_is_wrong_is_told_in_a_line(
    server: FakeServer, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("TURIA_YOUTUBE_URL", "TURIA_ZOOM_URL"):
        monkeypatch.delenv(name, raising=False)
    assert main(["relay", "name"]) == 2
    assert "nowhere to relay to: give --youtube FILE, --zoom FILE or --hls FOLDER" in capsys.readouterr().err
    assert main(["relay", "nobody", "--server", server.url, "--hls", str(tmp_path / "hls")]) == 2
    assert "no such session" in capsys.readouterr().err
    assert main(["relay", f"{server.url}/room/none", "--hls", str(tmp_path / "hls")]) == 2
    assert "--hls: expected a session" in capsys.readouterr().err
    assert main(["relay", "name", "--language", "fr", "--hls", str(tmp_path / "hls")]) == 2
    assert "--language is for rooms" in capsys.readouterr().err
    monkeypatch.setenv("TURIA_ZOOM_URL", "http://127.0.0.1:1/closedcaption?id=1")
    assert main(["relay", f"{server.url}/room/none"]) == 2
    assert "there is no room none" in capsys.readouterr().err


def test_a_session_or_a_room_is_known_by_the_address_of_its_page() -> None:
    assert place_of("x", "http://b") == Place("http://b", "x")
    assert place_of("https://a.example/watch/x%20y/", "http://b") == Place("https://a.example", "x y")
    assert place_of("https://a.example/room/main-hall", "http://b") == Place("https://a.example", "main-hall", True)
    for wrong in ("ftp://a/watch/x", "http://a/", "http://a/api/x", "http://[/watch/x", "http://a:b/watch/x"):
        with pytest.raises(InputError, match="expected the name of a session"):
            place_of(wrong, "http://b")


def test_a_room_is_relayed_from_one_session_to_the_next(
    server: FakeServer, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(relay_module, "ROOM_SECONDS", 0.05)

    async def speak(word: str) -> None:
        async with Speaker(server.url, k=1, punctuation=True, room="hall") as speaker:
            while "turia_viewers 1.0" not in server.get("/metrics")[1]:
                await asyncio.sleep(0.05)
            await speaker.say(word)
            await speaker.end()
            async for _ in speaker.events():
                pass

    async def hold() -> None:
        relaying = asyncio.create_task(asyncio.to_thread(main, ["relay", f"{server.url}/room/hall"]))
        for number, word in enumerate(("ka", "le"), start=1):
            await speak(word)
            while "".join(taken.body for taken in zoom.taken).count("\n") < number:
                await asyncio.sleep(0.05)
        request = urllib.request.Request(f"{server.url}/api/rooms/hall", method="DELETE")
        await asyncio.to_thread(urllib.request.urlopen, request)
        assert await relaying == 0

    with CaptionService() as zoom:
        monkeypatch.setenv("TURIA_ZOOM_URL", zoom.url)
        asyncio.run(hold())
    assert "".join(taken.body for taken in zoom.taken) == "ka\nle\n"
    assert zoom.wrong == []
    assert capsys.readouterr().err.endswith(" posts\n")


@pytest.mark.parametrize(
    "event",
    [
        write("one", -1.0),
        write("one", 1e15),
        {**write("one", 1.0), "ms": True},
        {**write("one", 1.0), "ms": "1"},
        {**write("one", 1.0), "word": 7},
        {**write("one", 1.0), "sentence": [0]},
        {"type": "insertion", "ms": 1.0},
        {"type": "correction", "sentence": "0", "words": 1, "text": "x", "ms": 1.0},
        {"type": "sentence"},
    ],
)
def test_an_event_that_is_none_is_refused_in_one_line(event: dict[str, Any]) -> None:
    with pytest.raises(FormatError, match=r"^the server sent an event .*$"):
        checked_event(event)


def test_events_of_later_releases_are_passed_over() -> None:
    later = {"type": "applause", "loud": True}
    assert checked_event(later) is later
    relay = CaptionRelay("target")
    relay.connected(0.0, 0.0)
    relay.take(later)
    with pytest.raises(FormatError, match="the session's clock shows 1e"):
        relay.connected(0.0, 1e300)


@pytest.mark.parametrize("languages", [None, "en", 7, [7], ["en"], [{}], [{"language": "de", "session": "x"}]])
def test_a_room_that_is_none_has_no_session(languages: object) -> None:
    assert _session_in({"languages": languages}, "en") is None
    assert _session_in({"session": ["x"]}, None) is None
