"""Fetches a checkpoint from the Hugging Face hub, only the files that are needed, into the cache of huggingface_hub.

`HF_ENDPOINT`, `HF_TOKEN`, `HF_HOME` and the proxies of the environment work as they do everywhere. A download that was
interrupted goes on where it was (resume.py). The revision is the commit that the hub named at the beginning, so that
all files are of one state.
"""

from __future__ import annotations

import errno
import os
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from huggingface_hub import HfApi, ModelInfo, constants, errors, hf_hub_download
from huggingface_hub.errors import (
    EntryNotFoundError,
    GatedRepoError,
    HfHubHTTPError,
    HFValidationError,
    LocalEntryNotFoundError,
    OfflineModeIsEnabled,
    RepositoryNotFoundError,
    RevisionNotFoundError,
)
from huggingface_hub.utils import logging
from tqdm import tqdm

from turia.errors import InputError, ModelError, ResourceError, TuriaError
from turia.export.families import CONFIG, read_checkpoint
from turia.export.offline import Origin
from turia.export.plain_weights import INDEX, PICKLE, SAFETENSORS
from turia.export.tokenizer_json import TOKENIZER
from turia.export.vocabulary import SHARED_SPM, SOURCE_SPM, TARGET_SPM, TOKENIZER_CONFIG, VOCABULARY
from turia.hub.resume import fetch_large
from turia.system.files import read_json

Show = Callable[[float, str], None]
"""Told the share of the work that is done, and what is being done."""
_STEP = 0.05
_SMALL = {
    "marian": (SOURCE_SPM, TARGET_SPM, VOCABULARY, TOKENIZER_CONFIG),
    "m2m_100": (SHARED_SPM, VOCABULARY, TOKENIZER_CONFIG),
}


@dataclass(frozen=True)
class Fetched:
    """A checkpoint on this machine."""

    folder: Path
    origin: Origin


def endpoint() -> str:
    """The address of the hub."""
    return os.environ.get("HF_ENDPOINT", "").rstrip("/") or constants.ENDPOINT


def fetch(model: str, revision: str | None, show: Show, check: Callable[[Path], None]) -> Fetched:
    """The checkpoint of a model on the hub, by its id: OWNER/NAME.

    `check` is called when everything but the weights is there: it may refuse the model before they are fetched.
    """
    logging.set_verbosity_error()  # type: ignore[no-untyped-call]  # what goes wrong is said here, in one line
    try:
        info = HfApi(endpoint()).model_info(model, revision=revision, files_metadata=True)
        return _fetch(model, info, show, check)
    except TuriaError:
        raise
    except Exception as error:
        raise _explained(error, model, revision) from error


def _fetch(model: str, info: ModelInfo, show: Show, check: Callable[[Path], None]) -> Fetched:
    assert info.sha is not None
    revision = info.sha
    sizes = {file.rfilename: file.size or 0 for file in info.siblings or []}
    licence = info.card_data.get("license") if info.card_data else None
    if CONFIG not in sizes:
        raise ModelError(f"{model}: the repository has no {CONFIG}; expected a model of the library transformers")

    told = -1.0

    def tell(share: float, name: str) -> None:
        nonlocal told
        # Where there is no bar, each of these is a line.
        if share >= told + _STEP:
            told = share
            show(min(1.0, share), f"{name} of {model}")

    def download(name: str, begin: int, total: int, large: bool = False) -> Path:
        progress = _progress(lambda done: tell((begin + done) / max(1, total), name))
        if large:
            fetch_large(model, name, revision, endpoint(), progress)
        return Path(hf_hub_download(model, name, revision=revision, tqdm_class=progress, endpoint=endpoint()))

    folder = download(CONFIG, 0, 1 << 62).parent
    kind = read_checkpoint(folder, model).model_type
    small = [name for name in _SMALL[kind] if name in sizes]
    if kind == "m2m_100" and TOKENIZER in sizes and not {SHARED_SPM, VOCABULARY} <= sizes.keys():
        small.append(TOKENIZER)  # has the pieces and the languages, where no other file has them
    weights = _weight_files(model, sizes, lambda name: download(name, 0, 1 << 62))
    total = sum(sizes[name] for name in (*small, *weights))
    _check_room(model, total)
    done = 0
    for name in (*small, None, *weights):
        if name is None:
            check(folder)
            continue
        download(name, done, total, name in weights)
        done += sizes[name]
        tell(done / max(1, total), name)
    return Fetched(folder, Origin(model, info.sha, str(licence) if licence else None, endpoint()))


def _weight_files(model: str, sizes: dict[str, int], download: Callable[[str], Path]) -> list[str]:
    """Safetensors if there are some: they need no unpickling."""
    if SAFETENSORS in sizes:
        return [SAFETENSORS]
    if INDEX in sizes:
        parts = read_json(download(INDEX), "a list of weight files", ModelError).get("weight_map")
        named = list(parts.values()) if isinstance(parts, dict) else []
        # Beside the list, in no other folder.
        if named and all(isinstance(name, str) and name in sizes and Path(name).name == name for name in named):
            return sorted(set(named))
    if PICKLE in sizes:
        return [PICKLE]
    raise ModelError(f"{model}: the repository has no weights; expected {SAFETENSORS} or {PICKLE}")


def _check_room(model: str, size: int) -> None:
    cache = Path(constants.HF_HUB_CACHE)
    place = next(folder for folder in (cache, *cache.parents) if folder.exists())
    free = shutil.disk_usage(place).free
    if size > free:
        raise ResourceError(
            f"{place}: {size / 1e6:.0f} MB are needed for {model}, {free / 1e6:.0f} MB are free; make "
            "room, or set HF_HOME"
        )


def _progress(tell: Callable[[int], None]) -> type[Any]:
    """A progress bar that draws nothing and tells how many bytes there are."""

    class _Bar(tqdm):  # type: ignore[misc]  # it has no types
        def __init__(self, *arguments: Any, **options: Any) -> None:
            options.pop("name", None)
            super().__init__(*arguments, **{**options, "disable": True})
            self._bytes = int(options.get("initial") or 0)

        def update(self, n: float | None = 1) -> None:
            self._bytes += int(n or 0)
            tell(self._bytes)

    return _Bar


def _explained(error: Exception, model: str, revision: str | None) -> Exception:
    """What to say to people, in one line; an error that is none of the hub's is given back."""
    hub = endpoint()
    if isinstance(error, GatedRepoError):
        return InputError(
            f"{model}: gated; ask for access on its page at {hub}/{model}, and set HF_TOKEN to a token of yours"
        )
    if isinstance(error, RevisionNotFoundError):
        return InputError(f"{model}: no revision {revision!r} at {hub}")
    if isinstance(error, RepositoryNotFoundError | HFValidationError):
        return InputError(
            f"{model}: no such model at {hub}, and no folder here; expected OWNER/NAME (private ones need HF_TOKEN)"
        )
    if isinstance(error, OfflineModeIsEnabled):
        return InputError(f"{model}: HF_HUB_OFFLINE is set, so nothing is fetched; unset it, or give a folder")
    if isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT):
        return ResourceError(f"{constants.HF_HUB_CACHE}: {error.strerror}; make room, or set HF_HOME, and try again")
    if isinstance(error, EntryNotFoundError) and not isinstance(error, LocalEntryNotFoundError):
        return ModelError(f"{model}: a file that the hub lists is not there; try again later")
    if isinstance(error, HfHubHTTPError):
        return ResourceError(f"{model}: {hub} answered: {next(iter(str(error).splitlines()), 'nothing')}")
    if isinstance(error, errors.HTTPError | LocalEntryNotFoundError | OSError):  # type: ignore[attr-defined]
        cause = next(iter(str(error.__cause__ or error).splitlines()), type(error).__name__)
        return ResourceError(f"{model}: cannot be fetched from {hub} ({cause}); try again, and it goes on where it was")
    return error
