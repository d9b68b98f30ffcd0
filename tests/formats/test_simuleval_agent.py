"""The real `simuleval` command runs our agent; what it logs and scores is what we log and score."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.formats.scorers import Scorers
from tests.formats.streams import EVERYTHING, simuleval_scores
from turia.evaluation.options import Convention
from turia.evaluation.report import evaluate
from turia.export.random_model import made_up_words
from turia.formats.simuleval_log import read_instances
from turia.runtime.translator import Translator
from turia.stream.trace import Write

pytestmark = pytest.mark.slow


def test_simuleval_runs_our_agent(scorers: Scorers, model_folder: Path, tmp_path: Path) -> None:
    words = made_up_words()
    documents = [words[40 * n : 40 * n + 35 - 10 * n] for n in range(3)]
    source, target, output = (tmp_path / name for name in ("source", "target", "output"))
    source.write_text("".join(" ".join(document) + "\n" for document in documents), encoding="utf-8")
    # A space too many, and one at the end of a line, are words to SimulEval.
    target.write_text("one two three\nfour  five six seven eight nine ten \neleven \n", encoding="utf-8")
    scorers.run(
        "simuleval", "--agent-class", "turia.formats.simuleval_agent.TuriaAgent", "--source", source,
        "--target", target, "--output", output, "--model", model_folder, "--k", "2", "--window", "0",
        "--latency-metrics", "AL", "LAAL", "AP", "DAL",
    )  # fmt: skip
    log = output / "instances.log"
    instances = [json.loads(line) for line in log.read_text(encoding="utf-8").splitlines()]
    translator = Translator.load(model_folder)
    for document, instance in zip(documents, instances, strict=True):
        stream = translator.stream(k=2, window=0)
        records = [record for word in document for record in stream.push(word)] + stream.flush()
        writes = [record for record in records if isinstance(record, Write)]
        assert instance["delays"] == [write.read for write in writes]
        assert instance["prediction"].split() == [write.word for write in writes]
        assert instance["source_length"] == len(document)
    theirs = simuleval_scores(output)
    ours = evaluate(read_instances(log), EVERYTHING).group(Convention.SIMULEVAL)
    assert ours == {name: pytest.approx(theirs[name], abs=1e-3) for name in ("AP", "AL", "LAAL", "DAL")}
