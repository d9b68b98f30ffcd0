"""SimulStream's JSONL: what was written after how many seconds of each recording.

    {"id":0,"metadata":{"wav_name":"stream-000.wav"}}
    {"id":0,"total_audio_processed":3.0,"computation_time":0.0,"generated_tokens":["Good"],"deleted_tokens":[]}

Nothing is ever deleted. A trace does not say how long the computation took, so `computation_time` is 0 and the
computation-aware figures equal the others. `config.yaml` tells the scorers that a token is a word.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from itertools import groupby

from turia.formats.omnisteval_log import segment_files
from turia.formats.recording import Recording

LOG_FILE, CONFIG_FILE = "simulstream.jsonl", "config.yaml"


def simulstream_files(recordings: Sequence[Recording]) -> dict[str, str]:
    """The log, its configuration, and the segments and references that go with it."""
    lines = []
    for number, recording in enumerate(recordings):
        lines.append(json.dumps({"id": number, "metadata": {"wav_name": f"{recording.name}.wav"}}))
        timed = zip(recording.delays(), recording.trace.words(), strict=True)
        for delay, written in groupby(timed, key=lambda pair: pair[0]):
            output = {"generated_tokens": [word for _, word in written], "deleted_tokens": []}
            lines.append(json.dumps({"id": number, "total_audio_processed": delay, "computation_time": 0.0} | output))
    config = "detokenizer_type: simuleval\nlatency_unit: word\n"
    return {LOG_FILE: "".join(f"{line}\n" for line in lines), CONFIG_FILE: config} | segment_files(recordings)
