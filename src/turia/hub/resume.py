"""Fetches a large file so that a second attempt goes on where the first one was, even if that was killed.

huggingface_hub goes on by itself after a break in the connection. But what a process has fetched of a file when it ends
is lost: since its release 2 each process has a file of its own. So weights are fetched here, into one file beside the
place in its cache where huggingface_hub looks for them.
"""

from __future__ import annotations

import hashlib
import re
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from huggingface_hub import constants, get_hf_file_metadata, hf_hub_url
from huggingface_hub.file_download import http_get, repo_folder_name
from huggingface_hub.utils import build_hf_headers  # type: ignore[attr-defined]  # public, and exported when it is used

from turia.errors import ResourceError
from turia.system.locks import hold

_NAME = re.compile(r"[0-9A-Za-z-]+")
_SHA256 = 64
"""Digits of the sum by which the hub names large files."""


def fetch_large(model: str, name: str, revision: str, endpoint: str, progress: type[Any]) -> None:
    """Puts a file of a repository into the cache, if it is not there. `progress` is a bar as tqdm's."""
    url, headers = hf_hub_url(model, name, revision=revision, endpoint=endpoint), build_hf_headers()
    told = get_hf_file_metadata(url, headers=headers, endpoint=endpoint)
    if told.etag is None or told.size is None or not _NAME.fullmatch(told.etag):
        return  # huggingface_hub knows more about such hubs
    cache, repository = Path(constants.HF_HUB_CACHE), repo_folder_name(repo_id=model, repo_type="model")
    blobs, locks = cache / repository / "blobs", cache / ".locks" / repository
    if (blobs / told.etag).exists():
        return
    for folder in (blobs, locks):
        folder.mkdir(parents=True, exist_ok=True)
    part = blobs / f"{told.etag}.incomplete"
    if urlsplit(told.location).netloc != urlsplit(url).netloc:
        headers.pop("authorization", None)  # the token is for the hub, not for where it keeps its files
    with hold(locks / f"{told.etag}.lock", f"it fetches {name} of {model}: wait for it, and try again"):
        with part.open("ab") as file:
            if file.tell() > told.size:
                file.truncate(0)
            http_get(
                told.location,
                file,
                resume_size=file.tell(),
                headers=headers,
                expected_size=told.size,
                displayed_filename=name,
                tqdm_class=progress,
            )
        if len(told.etag) == _SHA256 and _sum(part) != told.etag:
            part.unlink()
            raise ResourceError(f"{model}: {name} came damaged: its SHA-256 sum is not the hub's; try again")
        part.replace(blobs / told.etag)


def _sum(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
