"""A server with fakes in place of models, as a program that can be killed: `python -m tests.server.run_fake OPTIONS`.

OPTIONS is JSON: port, data, perhaps store (a Redis), origins, and hold (a file that stops the models while it is
there), and whatever limits are to be other than usual.
"""

from __future__ import annotations

import json
import logging
import sys
from pathlib import Path

from tests.server.fakes import fake_translators
from turia.server.limits import Limits
from turia.server.serve import ServeOptions, serve

if __name__ == "__main__":
    logging.basicConfig(level=logging.INFO)
    given = json.loads(sys.argv[1])
    limits = Limits(**given.get("limits", {}))
    key_file = Path(given["key_file"]) if "key_file" in given else None
    origins = tuple(given.get("origins", ()))
    options = ServeOptions(
        "127.0.0.1", given["port"], Path(given["data"]), limits, key_file, origins, given.get("store")
    )
    serve(fake_translators(Path(given["hold"]) if "hold" in given else None), options)
