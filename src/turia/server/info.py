"""`GET /api/info`: what a page or a client needs to know before it begins."""

from __future__ import annotations

from fastapi import FastAPI, Request
from pydantic import BaseModel, Field

from turia import __version__
from turia.policy.table import POLICIES
from turia.protocol.values import PROTOCOL
from turia.server.choices import Translating, finds_sentences


class DialStep(BaseModel):
    policy: str
    al: float | None = Field(description="Words behind the speaker, as measured; null where nobody has.")
    bleu: float | None = Field(description="BLEU there.")


class ModelInfo(BaseModel):
    name: str
    source: str
    target: str
    segmenter: bool = Field(description="Whether it finds sentence ends itself; without, ask for punctuation.")
    policy: str = Field(description="What a session has that chooses neither k nor policy.")
    dial: list[DialStep] = Field(description="Policies from the soonest to the surest.")


class Info(BaseModel):
    """What a page needs to know before it begins."""

    version: str
    protocol: int
    models: list[ModelInfo]
    policies: list[str] = Field(description="All that there are, with their parameters as they are by default.")
    needs_key: bool
    url: str = Field(description="What comes before the path in links for others.")
    recognises: list[str] = Field(description="Languages whose speech this server recognises itself.")
    browser_speech: bool = Field(description="Whether a page may use the browser's recognition for others.")


def add_info(app: FastAPI) -> None:
    """The route."""

    @app.get("/api/info", summary="Models and versions")
    async def info(request: Request) -> Info:
        state = request.app.state
        return Info(
            version=__version__,
            protocol=PROTOCOL,
            models=[_described(name, translator) for name, translator in state.manager.translators.items()],
            policies=[str(policy()) for policy in POLICIES.values()],
            needs_key=bool(state.access.keys),
            url=state.addresses.base(request),
            recognises=[] if state.ears is None else state.ears.languages,
            browser_speech=state.pages.browser_speech,
        )


def _described(name: str, translator: Translating) -> ModelInfo:
    source, target = translator.model.languages
    return ModelInfo(
        name=name,
        source=source,
        target=target,
        segmenter=finds_sentences(translator),
        policy=str(translator.model.policy),
        dial=[DialStep(policy=step.policy, al=step.al, bleu=step.bleu) for step in translator.model.dial],
    )
