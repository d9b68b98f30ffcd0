"""What a page is told before it begins."""

from __future__ import annotations

from types import SimpleNamespace

from fastapi import FastAPI
from fastapi.testclient import TestClient

from tests.server.fakes import fake_translators
from turia import __version__
from turia.policy.table import POLICIES
from turia.server.info import add_info


def test_models_policies_and_what_the_operator_has_chosen() -> None:
    app = FastAPI()
    add_info(app)
    app.state.manager = SimpleNamespace(translators=fake_translators())
    app.state.access = SimpleNamespace(keys={"a": "b"})
    app.state.addresses = SimpleNamespace(base=lambda request: "https://captions.example")
    app.state.ears = None
    app.state.pages = SimpleNamespace(browser_speech=True)
    told = TestClient(app).get("/api/info").json()
    models = told.pop("models")
    assert [(model["name"], model["source"], model["target"], model["segmenter"]) for model in models] == [
        ("de-en", "de", "en", True),
        ("en-de", "en", "de", True),
    ]
    assert models[0]["policy"] == "wait-k:k=4,rounding=floor"
    assert models[0]["dial"][0] == {"policy": "wait-k:k=1", "al": None, "bleu": None}
    assert [policy.split(":")[0] for policy in told.pop("policies")] == list(POLICIES)
    assert told == {
        "version": __version__,
        "protocol": 1,
        "needs_key": True,
        "url": "https://captions.example",
        "recognises": [],
        "browser_speech": True,
    }
