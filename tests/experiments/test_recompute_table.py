"""The table of kept and recomputed decoder states: benchmarks/recompute.py."""

from __future__ import annotations

import datetime
from pathlib import Path

from benchmarks.recompute import section
from tests.experiments.test_policy_tables import results, row
from turia.stream.trace import End, SentenceEnd, Trace, Write, trace_lines

REFERENCES = ["one two three four five", "six seven eight nine ten"]


def written(folder: Path, sentences: list[str]) -> None:
    """A trace with these sentences, each written when it had been read."""
    records: list[Write | SentenceEnd | End] = []
    count = 0
    for number, sentence in enumerate(sentences):
        for word in sentence.split():
            records.append(Write(word, count, 5 * (number + 1), number, "policy"))
            count += 1
        records.append(SentenceEnd(number, 5, len(sentence.split()), "given"))
    folder.mkdir(parents=True)
    lines = trace_lines(Trace({"policy": "wait-k:k=4"}, (*records, End(10, count))))
    (folder / "000.jsonl").write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")


def test_a_policy_is_compared_with_itself(tmp_path: Path) -> None:
    (tmp_path / "dev").mkdir()
    (tmp_path / "dev/000.source").write_text("a b c d e\nf g h i j\n", encoding="utf-8")
    (tmp_path / "dev/000.reference").write_text("".join(f"{line}\n" for line in REFERENCES), encoding="utf-8")
    written(tmp_path / "dev/de-en/kept", [REFERENCES[0], "six seven eight nine nine"])
    written(tmp_path / "dev/de-en/again", REFERENCES)
    found = results(
        row("wait-k:k=4,rounding=floor", 3.0, 80.0, beam=1, words_per_second=900.4, trace="dev/de-en/kept"),
        row("wait-k:k=4,rounding=floor", 3.0, 100.0, beam=1, recompute=True, trace="dev/de-en/again"),
    )
    lines = section(found, "sweep-recompute-de-en", datetime.date(2026, 11, 18), tmp_path).splitlines()
    assert lines[0].endswith("18 November 2026, `python -m benchmarks.recompute recipes/sweep-recompute-de-en.toml`.")
    assert len(lines) == 5
    # With one word wrong, BLEU is the fourth root of 9/10 · 7/8 · 5/6 · 3/4.
    assert lines[-1].startswith("| `wait-k:k=4` | 80.0 | 3.0 | 900 | 100.0 | 3.0 |  | +16.2 (")
