"""Captions as YouTube and Zoom document them."""

from __future__ import annotations

from urllib.parse import parse_qs, urlsplit

from turia.formats.caption_posts import (
    TOO_OLD,
    YouTubeCaptions,
    ZoomCaptions,
    number_address,
    post_address,
    utc,
)
from turia.formats.subtitles import Cue

NOW = 1_356_307_206.873


def test_a_post_to_youtube_has_times_in_utc_and_breaks_of_its_own() -> None:
    waiting = YouTubeCaptions()
    waiting.push(Cue("I'M\nSENDING", 0.0, 1.0), NOW)
    waiting.push(Cue("5 < 6", 0.0, 1.0), NOW + 0.101)
    assert waiting.take(NOW + 2) == ("2012-12-24T00:00:06.873\nI'M<br>SENDING\n2012-12-24T00:00:06.974\n5 \u2039 6\n")
    assert waiting.take(NOW + 2) is None


def test_old_captions_are_left_out_and_counted() -> None:
    youtube, zoom = YouTubeCaptions(), ZoomCaptions()
    for text, spoken in (("old", NOW), ("new", NOW + 50)):
        youtube.push(Cue(text, 0.0, 1.0), spoken)
        zoom.word(text, spoken)
        zoom.end_line(spoken)
    late = NOW + TOO_OLD + 1
    assert youtube.take(late) == f"{utc(NOW + 50)}\nnew\n"
    assert zoom.take(late) == "new\n"
    assert (youtube.dropped, zoom.dropped) == (1, 1)


def test_many_captions_share_posts() -> None:
    waiting = YouTubeCaptions()
    for index in range(45):
        waiting.push(Cue(str(index), 0.0, 1.0), NOW)
    bodies = [str(waiting.take(NOW)).count("\n") // 2 for _ in range(3)]
    assert bodies == [20, 20, 5]


def test_zoom_gets_pieces_of_lines() -> None:
    waiting = ZoomCaptions()
    waiting.word("I'M", NOW)
    waiting.word("SENDING", NOW)
    assert waiting.take(NOW) == "I'M SENDING"
    waiting.word("CAPTIONS.", NOW)
    waiting.end_line(NOW)
    waiting.end_line(NOW)
    waiting.word("MORE", NOW)
    assert waiting.take(NOW) == " CAPTIONS.\nMORE"
    assert waiting.take(NOW) is None


def test_an_address_keeps_what_the_service_put_into_it() -> None:
    url = "https://wmcc.zoom.us/closedcaption?id=200610693&ns=GZHkEA%3D%3D&expire=86400&spparams=id%2Cns%2Cexpire&signature=nYtX"
    made = parse_qs(urlsplit(post_address("zoom", url, 7, "en")).query)
    assert made == parse_qs(urlsplit(url).query) | {"seq": ["7"], "lang": ["en-US"]}
    assert "lang=de-DE" in post_address("zoom", url, 7, "de")
    assert "lang=fr-CA" not in post_address("zoom", f"{url}&lang=fr-CA", 7, "fr"), "its own would be another"
    assert post_address("youtube", "http://upload.youtube.com/closedcaption?cid=a-b", 1, "en") == (
        "http://upload.youtube.com/closedcaption?cid=a-b&seq=1"
    )
    assert urlsplit(number_address(url)).path == "/closedcaption/seq"
    assert urlsplit(number_address(url)).query == urlsplit(url).query
