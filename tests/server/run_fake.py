"""A server with fakes in place of models, as a program that can be killed: `python -m tests.server.run_fake OPTIONS`.

OPTIONS is JSON: port, data, perhaps store (a Redis), origins, and hold (a file that stops the models while it is
there), models, rooms, public_url, pages, recogniser ("levels" hears levels of loudness as words, "moonshine" is the
real one), glossaries (as of `turia serve --glossary`), whatever limits are to be other than usual, files (how many it
may open), and log_level and log_format.
"""

from __future__ import annotations

import json
import resource
import sys
from collections.abc import Sequence
from pathlib import Path

from tests.server.fakes import fake_translators
from tests.speech.fakes import LevelDecoder, loud
from turia.server.audio import Recognition
from turia.server.glossaries import follow_glossaries, parse_tables
from turia.server.limits import Limits
from turia.server.logs import configure
from turia.server.pages import Pages
from turia.server.rooms import parse_room
from turia.server.serve import ServeOptions, serve
from turia.speech.choice import load_factory
from turia.speech.redecoding import RedecodingRecogniser


def recognition(name: str | None) -> Recognition | None:
    """English speech, by a recogniser of this name."""
    if name is None:
        return None
    factory = load_factory("moonshine", "en") if name == "moonshine" else level_recogniser
    return Recognition({"en": factory}, most=2, threads=1)


def level_recogniser(settled: Sequence[str]) -> RedecodingRecogniser:
    return RedecodingRecogniser(LevelDecoder(), loud, settled)


if __name__ == "__main__":
    given = json.loads(sys.argv[1])
    configure(given.get("log_level", "info"), given.get("log_format", "text"))
    if "files" in given:
        resource.setrlimit(resource.RLIMIT_NOFILE, (given["files"], given["files"]))
    limits = Limits(**given.get("limits", {}))
    key_file = Path(given["key_file"]) if "key_file" in given else None
    origins = tuple(given.get("origins", ()))
    operators = Path(given["operator_key_file"]) if "operator_key_file" in given else None
    options = ServeOptions(
        "127.0.0.1", given["port"], Path(given["data"]), limits, key_file, origins, given.get("store"), operators,
        pages=Pages(**given.get("pages", {})), rooms=tuple(map(parse_room, given.get("rooms", ()))),
        public_url=given.get("public_url"), recognition=recognition(given.get("recogniser")),
    )  # fmt: skip
    models = given.get("models", ("de-en", "en-de"))
    translators = fake_translators(Path(given["hold"]) if "hold" in given else None, models)
    follow_glossaries(translators, parse_tables(given.get("glossaries", ())))
    serve(translators, options)
