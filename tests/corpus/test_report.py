"""What a preparation says: progress, a line for each corpus, names that differ."""

from __future__ import annotations

from pathlib import Path

import pytest

from turia.config import Corpus
from turia.corpus.filters import Dropped
from turia.corpus.report import CorpusReport, PrepareProgress, PrepareReport, corpus_names, read_report
from turia.corpus.shards import Sizes

SIZES = Sizes(sentences=4, windows=2, samples=6, source_words=20, target_words=25, source_pieces=30, target_pieces=40)
REPORT = PrepareReport(
    digest="abc",
    corpora=(
        CorpusReport("ted/train.tsv", "train", 9, Dropped(length=3, language=1), SIZES, repeats=1),
        CorpusReport("ted/dev.tsv", "dev", 0, Dropped(), Sizes()),
    ),
    train=SIZES,
    dev=Sizes(),
    gamma=1.25,
    source_vocabulary=500,
    target_vocabulary=600,
)


@pytest.mark.parametrize(
    ("progress", "share"),
    [
        (PrepareProgress("clean", 5), 0.0),
        (PrepareProgress("learn", 1, 2), 0.775),
        (PrepareProgress("encode", 3, 3), 0.98),
        (PrepareProgress("done"), 1.0),
    ],
)
def test_the_share_of_a_stage_is_its_share_of_the_time(progress: PrepareProgress, share: float) -> None:
    assert progress.share() == pytest.approx(share)


def test_a_report_has_a_fact_a_line() -> None:
    assert REPORT.lines() == [
        "train ted/train.tsv: 9 pairs read, 4 kept; dropped: length 3, language 1; 1 repeats kept for windows alone",
        "dev ted/dev.tsv: 0 pairs read, 0 kept",
        "train: 4 pairs, 2 window samples, 20 source words of 1.50 pieces, 25 target words of 1.60",
        "gamma 1.25; 500 source and 600 target pieces",
    ]


def test_a_report_counts_only_where_all_that_it_tells_of_is_there(tmp_path: Path) -> None:
    assert read_report(tmp_path) is None
    (tmp_path / "report.json").write_text(REPORT.to_json(), encoding="utf-8")
    assert read_report(tmp_path) is None
    for name in ("train/meta.json", "subwords.model"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).touch()
    assert read_report(tmp_path) == REPORT
    (tmp_path / "report.json").write_text(REPORT.to_json()[:-9], encoding="utf-8")
    assert read_report(tmp_path) is None, "half a report is none"


def test_names_are_as_long_as_they_must_be_to_differ() -> None:
    paths = ["/disk/one/talks/train.tsv", "/disk/two/talks/train.tsv", "/disk/one/europarl/train.tsv"]
    plain = Corpus(source=Path("/disk/one/plain/train.de"), target=Path("/disk/one/plain/train.en"), format="plain")
    same = Corpus(Path(paths[2]), repeat=2)
    assert corpus_names([*(Corpus(Path(path)) for path in paths), plain, same]) == [
        "one/talks/train.tsv",
        "two/talks/train.tsv",
        "europarl/train.tsv",
        "plain/train.de",
        "europarl/train.tsv",
    ]
