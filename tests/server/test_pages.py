"""The pages: their notice, and who may embed them."""

from __future__ import annotations

import re

import pytest
from fastapi import FastAPI
from fastapi.testclient import TestClient

from turia.errors import InputError
from turia.server.pages import STATIC, Pages, WholeFiles, add_pages, page_text, security_policy


def client(pages: Pages) -> TestClient:
    app = FastAPI()
    add_pages(app, pages)
    return TestClient(app)


@pytest.mark.parametrize(("path", "count"), [("/", 2), ("/watch/a", 1), ("/overlay/a", 1)])
def test_every_page_says_what_it_shows(path: str, count: int) -> None:
    said = '<p class="notice" data-position="top">Machine translation</p>'
    assert client(Pages()).get(path).text.count(said) == count
    chosen = client(Pages("Tom & <i>Jerry</i>", "bottom")).get(path).text
    assert chosen.count('<p class="notice" data-position="bottom">Tom &amp; &lt;i&gt;Jerry&lt;/i&gt;</p>') == count
    assert "notice" not in client(Pages("")).get(path).text


def test_other_sites_embed_what_is_for_the_audience_alone() -> None:
    asked = client(Pages(frame_ancestors=("https://a.org", "https://b.org:8443")))
    for path in ("/watch/a", "/overlay/a"):
        policy = asked.get(path).headers["Content-Security-Policy"]
        assert "frame-ancestors 'self' https://a.org https://b.org:8443; object-src 'none'" in policy
        assert policy.startswith("default-src 'self';")
    # The application gives it the policy of all answers.
    assert "Content-Security-Policy" not in asked.get("/").headers
    assert "frame-ancestors 'self';" in security_policy()


@pytest.mark.parametrize("notice", ["a" * 201, "two\nlines"])
def test_a_notice_is_one_short_line(notice: str) -> None:
    with pytest.raises(InputError, match="one line of at most 200 letters"):
        Pages(notice)


@pytest.mark.parametrize("name", sorted(path.name for path in STATIC.glob("*.html")))
def test_pages_are_put_together_of_their_parts(name: str) -> None:
    text = page_text(name)
    assert "<!-- part" not in text
    for once in ('<meta charset="utf-8">', "<title>", "</head>", 'name="viewport"'):
        assert text.count(once) == 1
    ids = re.findall(r'\bid="([^"]+)"', text)
    assert sorted(ids) == sorted(set(ids))
    if name != "overlay.html":
        assert text.index("/static/app.css") < text.index("</head>") < text.index('id="view"')


@pytest.mark.parametrize("parts", ["0-0", ",".join(f"{3 * i}-{3 * i}" for i in range(50))])
def test_files_are_given_whole_whatever_parts_are_asked_for(parts: str) -> None:
    answer = TestClient(WholeFiles(directory=STATIC)).get("/app.css", headers={"Range": f"bytes={parts}"})
    assert (answer.status_code, answer.content) == (200, (STATIC / "app.css").read_bytes())
