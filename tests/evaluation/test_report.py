"""Reports: figures of all streams together, each under its convention's name, with what they were computed with."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from turia import __version__
from turia.evaluation import latency, measures
from turia.evaluation.figures import CutStreams, Figure
from turia.evaluation.inputs import Microseconds, StreamLog, stream_from_trace
from turia.evaluation.options import Convention, EvaluationOptions, Unit
from turia.evaluation.report import evaluate
from turia.stream.trace import End, Record, SentenceEnd, Trace, Write, trace_lines

FIRST = StreamLog(
    source_lengths=[3, 2],
    references=["One two three.", "Four five."],
    words=["One", "two", "three.", "Four", "five."],
    delays=[1, 3, 3, 4, 5],
    settings={"model": "de-en", "k": 1, "window": 0, "history": 60, "gamma": 1.0, "rounding": "floor"},
)
SECOND = StreamLog([4], ["Six seven eight"], ["Six", "eight"], [2, 4], settings={"k": 2, "window": 0})


def test_figures_are_means_over_the_sentences_of_all_streams() -> None:
    report = evaluate([FIRST, SECOND], EvaluationOptions(dal_scale=1.0))
    assert (report.streams, report.sentences, report.empty) == (2, 3, 0)
    ap = latency.stream_ap(FIRST.delays, [3, 2], [3, 2]) + latency.stream_ap([2, 4], [4], [2])
    al = latency.stream_al(FIRST.delays, [3, 2], [3, 2]) + latency.stream_al([2, 4], [4], [2])
    dal = latency.stream_dal(FIRST.delays, [3, 2], [3, 2], 1.0) + latency.stream_dal([2, 4], [4], [2], 1.0)
    assert report.value("AP") == pytest.approx(sum(ap) / 3)
    assert report.value("AL") == pytest.approx(sum(al) / 3)
    assert report.value("DAL") == pytest.approx(sum(dal) / 3)
    assert 0 < report.value("BLEU") < 100


def test_given_cuts_are_used() -> None:
    cut = replace(FIRST, segments=[["One"], ["two", "three.", "Four", "five."]])
    report = evaluate([cut], EvaluationOptions())
    assert report.value("AP") == pytest.approx(latency.mean(latency.stream_ap(FIRST.delays, [3, 2], [1, 4])))
    assert "|resegmenter:given|" in report.signature


def test_the_signature_says_what_the_trace_told() -> None:
    assert evaluate([FIRST, SECOND], EvaluationOptions(dal_scale=0.95, latency=(Convention.LONGYAAL,))).signature == (
        "latency:authors+longyaal|unit:word|dal-scale:0.95|resegmenter:mwer.1|streams:2"
        f"|model:de-en,unknown|k:1,2|w:0|h:60,unknown|gamma:1.0,unknown|rounding:floor,unknown|turia:{__version__}"
    )
    assert "|resegmenter:none|" in evaluate([SECOND], EvaluationOptions()).signature
    assert "|unit:moses|language:de|" in evaluate([SECOND], EvaluationOptions(unit=Unit.MOSES, language="de")).signature


def test_no_trace_can_add_a_key_or_a_line_to_the_signature() -> None:
    hostile = {"model": "de-en|k:9\nBLEU|", "policy": "act\x1b[2J"}
    signature = evaluate([replace(SECOND, settings=hostile)], EvaluationOptions()).signature
    assert "|model:de-en\ufffdk:9\ufffdBLEU\ufffd|policy:act\ufffd[2J|turia:" in signature


def test_the_signature_says_what_is_unusual() -> None:
    usual = {"segmenter": "segmenter", "encoding": "incremental", "recompute": False}
    assert evaluate([replace(SECOND, settings=usual)], EvaluationOptions()).signature.endswith(
        f"|streams:1|turia:{__version__}"
    )
    unusual = {"segmenter": "given", "encoding": "full", "recompute": True, "beam": 4}
    assert evaluate([replace(SECOND, settings=unusual)], EvaluationOptions()).signature.endswith(
        f"|streams:1|segmenter:given|encoding:full|recompute:True|beam:4|turia:{__version__}"
    )


def test_the_signature_tells_a_wait_k_by_its_own_gamma_from_one_by_the_streams() -> None:
    plain, own = ({"policy": f"wait-k:k=4{gamma},rounding=floor", "k": 4} for gamma in ("", ",gamma=0.5"))
    signatures = [evaluate([replace(SECOND, settings=each)], EvaluationOptions()).signature for each in (plain, own)]
    assert "policy" not in signatures[0]
    assert "|k:4|policy:wait-k:k=4,gamma=0.5,rounding=floor|" in signatures[1]


def test_other_conventions_stand_beside_the_papers() -> None:
    plain = evaluate([FIRST, SECOND], EvaluationOptions())
    report = evaluate([FIRST, SECOND], EvaluationOptions(latency=(Convention.ALL,)))
    assert [report.value(name) for name in ("AP", "AL", "DAL")] == [plain.value(name) for name in ("AP", "AL", "DAL")]
    groups = dict.fromkeys(figure.group for figure in report.figures)
    assert list(groups) == [None, Convention.SIMULEVAL, Convention.STREAMLAAL, Convention.LONGYAAL]
    assert list(report.group(Convention.SIMULEVAL)) == ["AP", "AL", "LAAL", "DAL"]
    # The third hypothesis has 2 words, its reference 3: 4/3 words a word, and (2 + 4) / (4 * 3) in proportion.
    relative = [[1, 3, 3], [1, 2], [2, 4]]
    lengths, references = [3, 2, 4], [3, 2, 3]
    triples = list(zip(relative, lengths, references, strict=True))
    expected = {
        "AP": latency.mean([latency.sentence_ap(*triple) for triple in triples]),
        "AL": latency.mean([latency.sentence_al(*triple) for triple in triples]),
        "LAAL": latency.mean([latency.sentence_laal(*triple) for triple in triples]),
        "DAL": latency.mean([latency.sentence_dal(own, source) for own, source, _ in triples]),
    }
    assert report.group(Convention.SIMULEVAL) == pytest.approx(expected)
    assert report.value("StreamLAAL", Convention.STREAMLAAL) == pytest.approx(expected["LAAL"])
    # The words written at the end of their stream do not count: d < 5 in the first, d < 4 in the second.
    long = [((1 - 0) + (3 - 1) + (3 - 2)) / 3, 1.0, 2.0]
    assert report.value("LongYAAL", Convention.LONGYAAL) == pytest.approx(latency.mean(long))


def test_json_has_the_keys_of_release_0_1_in_their_order() -> None:
    report = evaluate([FIRST], EvaluationOptions(latency=(Convention.ALL,), resamples=10))
    data = json.loads(json.dumps(report.as_json(), allow_nan=False))
    assert list(data) == [
        *("AP", "AL", "DAL", "BLEU", "BLEU_confidence", "chrF", "chrF_confidence"),
        *("sentences", "streams", "empty", "signature", "BLEU_signature", "chrF_signature"),
        *("simuleval", "streamlaal", "longyaal"),
    ]
    assert set(data["simuleval"]) == {"AP", "AL", "LAAL", "DAL"}
    assert "BLEU_confidence" not in evaluate([FIRST], EvaluationOptions()).as_json()


def test_a_new_measure_is_one_function_and_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is then wherever figures are: in the table, in --json, in the signatures."""

    def compression(cut: CutStreams) -> list[Figure]:
        words = sum(length for lengths in cut.lengths for length in lengths)
        source = sum(length for stream in cut.streams for length in stream.source_lengths)
        return [Figure("compression", words / source, "toy", decimals=1, signature="by:words")]

    monkeypatch.setattr(measures, "MEASURES", [*measures.MEASURES, compression])
    report = evaluate([FIRST, SECOND], EvaluationOptions())
    assert report.value("compression") == 7 / 9
    data = report.as_json()
    assert (data["compression"], data["compression_signature"]) == (7 / 9, "by:words")
    last = [list(column.cells)[-1] for column in report.as_table().columns]
    assert last == ["compression", "toy", "0.8", ""]
    assert report.signed()[-1].name == "compression"


def test_a_hypothesis_without_words_scores_nothing() -> None:
    nothing = replace(FIRST, words=[], delays=[])
    report = evaluate([nothing], EvaluationOptions(latency=(Convention.ALL,)))
    assert [report.value(name) for name in ("AP", "AL", "DAL", "BLEU")] == [0, 0, 0, 0]
    assert report.empty == 2
    data = json.loads(json.dumps(report.as_json(), allow_nan=False))
    assert data["longyaal"] == {"LongYAAL": None}


def test_moses_units_are_scored_as_plain_text_and_counted_as_tokens() -> None:
    tokens = StreamLog([2], ["It's so."], ["It", "&apos;s", "so", "."], [1, 2, 2, 2])
    report = evaluate([tokens], EvaluationOptions(unit=Unit.MOSES, latency=(Convention.SIMULEVAL,)))
    assert report.value("chrF") == pytest.approx(100)
    # The reference has four Moses tokens, as the hypothesis has.
    assert report.value("AP", Convention.SIMULEVAL) == pytest.approx(7 / 8)


def test_the_table_shows_every_figure_once() -> None:
    table = evaluate([FIRST], EvaluationOptions(latency=(Convention.ALL,), resamples=10)).as_table()
    measures = list(table.columns[0].cells)
    assert measures == ["AP", "AL", "DAL", "AP", "AL", "LAAL", "DAL", "StreamLAAL", "LongYAAL", "BLEU", "chrF"]
    assert "±" in str(list(table.columns[2].cells)[-1])
    assert list(table.columns[3].cells)[:3] == ["", "source words", "source words"]


def test_seconds_are_a_group_of_their_own() -> None:
    clock = Microseconds([500_000, 1_500_000, 1_500_000, 2_500_000, 3_000_000], source_lengths=[2_000_000, 1_000_000])
    report = evaluate([replace(FIRST, spoken=clock)], EvaluationOptions())
    assert list(report.group("seconds")) == ["AL", "DAL", "StreamLAAL", "LongYAAL"]
    expected = latency.mean(latency.stream_al([0.5, 1.5, 1.5, 2.5, 3.0], [2.0, 1.0], [3, 2]))
    assert report.as_json()["seconds"]["AL"] == report.value("AL", "seconds") == pytest.approx(expected)
    assert report.figure("AL", "seconds").unit == "seconds"
    # A stream without times among them: then there are none at all.
    assert evaluate([replace(FIRST, spoken=clock), SECOND], EvaluationOptions()).group("seconds") == {}


def test_a_word_that_waited_for_its_sentence_is_seen_to_whatever_the_rounding(tmp_path: Path) -> None:
    # In floats, 0.3 + (0.9 - 0.3) + (1.2 - 0.9) is more than 1.2.
    ends, texts = [0.3, 0.9, 1.2], [["x"], ["y"], ["z", "q"]]
    records: list[Record] = []
    for number, (end, words) in enumerate(zip(ends, texts, strict=True)):
        for word in words:
            index = sum(isinstance(record, Write) for record in records)
            records.append(Write(word, index, number + 1, number, "policy", read_seconds=end))
        records.append(SentenceEnd(number, 1, len(words), "given", ends=(end,)))
    lines = trace_lines(Trace({}, (*records, End(3, 4))))
    files = [tmp_path / name for name in ("source", "reference", "trace")]
    for file, text in zip(files, ("a\nb\nc\n", "x\ny\nz q\n", "\n".join(lines)), strict=True):
        file.write_text(text, encoding="utf-8")
    report = evaluate([stream_from_trace(*files)], EvaluationOptions())
    # The second word of the last sentence is beyond tau, and both are written when the stream has ended.
    assert report.value("AL", "seconds") == pytest.approx((0.3 + 0.6 + 0.3) / 3)
    assert report.value("LongYAAL", "seconds") == pytest.approx((0.3 + 0.6) / 2)
