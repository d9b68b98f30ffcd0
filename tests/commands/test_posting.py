"""Posts are tried again with their own number, and their address is told to nobody."""

from __future__ import annotations

import asyncio
import io
from pathlib import Path

import pytest

from tests.commands.caption_services import SECRET, CaptionService
from turia.commands import posting
from turia.commands.posting import MOST_BYTES, Answer, Poster, _text_of, ask, secret_address
from turia.errors import InputError
from turia.formats.caption_posts import TOO_OLD, Service, YouTubeCaptions, ZoomCaptions
from turia.formats.subtitles import Cue

NOW = 1_356_307_206.873


class Clock:
    def __init__(self) -> None:
        self.now = NOW
        self.waits: list[float] = []

    async def wait(self, seconds: float) -> None:
        self.waits.append(seconds)
        self.now += seconds


def post(service: Service, url: str, texts: list[str], clock: Clock, numbers: Path | None = None) -> Poster:
    """Posts these texts, one a POST."""

    class Texts(YouTubeCaptions):
        def take(self, now: float) -> str | None:
            return texts.pop(0) if texts else None

    async def run() -> Poster:
        poster = Poster(service, url, Texts(), numbers, wait=clock.wait, clock=lambda: clock.now)
        poster.finish()
        await poster.run()
        return poster

    return asyncio.run(run())


def test_a_post_is_tried_again_with_the_same_number_and_longer_waits(capsys: pytest.CaptureFixture[str]) -> None:
    clock = Clock()
    with CaptionService(failures=[500, 400, 503]) as service:
        assert post("youtube", service.url, ["one\n", "two\n"], clock).posted == 2
    assert service.tried == [1, 1, 1, 1, 2]
    assert [(taken.seq, taken.body) for taken in service.taken] == [(1, "one\n"), (2, "two\n")]
    assert service.wrong == []
    assert clock.waits == [0.5, 1.0, 2.0, posting.LEAST_INTERVAL, posting.LEAST_INTERVAL]
    told = capsys.readouterr().err
    assert told == "YouTube: status 500; trying again\n"


def test_a_caption_that_is_too_old_is_given_up_and_the_next_has_its_number(capsys: pytest.CaptureFixture[str]) -> None:
    clock = Clock()
    with CaptionService(failures=[403] * 13) as service:
        assert post("youtube", service.url, ["one\n", "two\n"], clock).posted == 1
        url = service.url
    assert [(taken.seq, taken.body) for taken in service.taken] == [(1, "two\n")]
    told = capsys.readouterr().err
    assert "YouTube: gave up a caption after 60 s: 403, the address is not valid (any more)" in told
    assert SECRET not in told
    assert clock.now - NOW > TOO_OLD
    # Where nobody answers it is the same.
    assert ask(url, "text") == Answer(0)


@pytest.mark.slow
def test_numbers_go_on_in_the_next_run(tmp_path: Path) -> None:
    numbers = tmp_path / "youtube.txt.seq"
    with CaptionService() as service:
        post("youtube", service.url, ["one\n", "two\n"], Clock(), numbers)
        post("youtube", service.url, ["three\n"], Clock(), numbers)
        post("zoom", service.url, ["four\n"], Clock())
        assert [taken.seq for taken in service.taken] == [1, 2, 3, 4]
        assert [taken.lang for taken in service.taken] == [None, None, None, "en-US"]
    assert SECRET not in numbers.read_text()
    with CaptionService() as another:
        # Another stream has numbers of its own.
        post("youtube", another.url, ["one\n"], Clock(), numbers)
    assert [taken.seq for taken in another.taken] == [1]


def test_what_waits_is_posted_as_it_comes() -> None:
    async def run(url: str) -> None:
        waiting, clock = ZoomCaptions(), Clock()
        poster = Poster("zoom", url, waiting, wait=clock.wait, clock=lambda: clock.now)
        running = asyncio.create_task(poster.run())
        for word in ("guten", "morgen"):
            waiting.word(word, NOW)
            poster.wake()
            while poster.posted < 1 + (word == "morgen"):
                await asyncio.sleep(0.01)
        poster.finish()
        await running

    with CaptionService() as service:
        asyncio.run(run(service.url))
    assert [taken.body for taken in service.taken] == ["guten", " morgen"]


def test_captions_that_were_left_out_are_told_once(capsys: pytest.CaptureFixture[str]) -> None:
    async def run() -> None:
        waiting, clock = YouTubeCaptions(), Clock()
        waiting.push(Cue("old", 0.0, 1.0), NOW - TOO_OLD - 1)
        poster = Poster("youtube", "http://127.0.0.1:1/", waiting, wait=clock.wait, clock=lambda: clock.now)
        poster.finish()
        await poster.run()

    asyncio.run(run())
    assert capsys.readouterr().err == "YouTube: 1 captions were too old and left out\n"


def test_an_address_comes_from_a_file_or_the_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("TURIA_ZOOM_URL", raising=False)
    assert secret_address("zoom", None) is None
    monkeypatch.setenv("TURIA_ZOOM_URL", "https://wmcc.zoom.us/closedcaption?id=1")
    assert secret_address("zoom", None) == "https://wmcc.zoom.us/closedcaption?id=1"
    file = tmp_path / "zoom.txt"
    file.write_text("https://a.example/closedcaption?id=2\n")
    assert secret_address("zoom", file) == "https://a.example/closedcaption?id=2"
    for wrong in (f"{SECRET}\n", f"ftp://{SECRET}", f"http://[{SECRET}", f"https://a.example/ {SECRET}", ""):
        file.write_text(wrong)
        with pytest.raises(InputError, match="expected one address that Zoom gives for captions") as caught:
            secret_address("zoom", file)
        assert SECRET not in str(caught.value)
    with pytest.raises(InputError, match=r"none\.txt: cannot be read: No such file"):
        secret_address("zoom", tmp_path / "none.txt")


@pytest.mark.parametrize(("told", "number"), [("41", 41), ("9" * 5000, 0), ("-1", 0), ("", 0), ("4 1", 0)])
def test_a_number_that_is_none_is_passed_over(told: str, number: int) -> None:
    poster = Poster("zoom", "http://127.0.0.1:1/", ZoomCaptions(), send=lambda url, body: Answer(200, told))
    assert asyncio.run(poster._last_number()) == number


def test_an_answer_is_read_no_further_than_it_needs() -> None:
    class Endless(io.BytesIO):
        def read1(self, size: int | None = -1) -> bytes:
            return b"x" * min(1000, size or 0)

    assert len(_text_of(Endless())) == MOST_BYTES  # type: ignore[arg-type]
