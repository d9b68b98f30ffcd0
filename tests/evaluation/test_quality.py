"""Quality: sacrebleu's own figures and signatures, and Moses tokens as plain text."""

from __future__ import annotations

import sacrebleu

from turia.evaluation.options import Unit
from turia.evaluation.quality import bleu, chrf, paired_p_values
from turia.evaluation.units import plain_lines, unit_counts

HYPOTHESES = ["the cat sat on the mat", "a dog ran away", "it rains all day long"] * 4
REFERENCES = ["the cat sat on a mat", "the dog ran away", "it rained all day long"] * 4


def test_figures_are_sacrebleus() -> None:
    assert bleu(HYPOTHESES, REFERENCES).value == sacrebleu.corpus_bleu(HYPOTHESES, [REFERENCES]).score
    assert chrf(HYPOTHESES, REFERENCES).value == sacrebleu.corpus_chrf(HYPOTHESES, [REFERENCES]).score
    assert bleu(REFERENCES, REFERENCES).value > 99.99
    assert bleu([""] * 12, REFERENCES).value == 0


def test_signatures_say_how() -> None:
    score = bleu(HYPOTHESES, REFERENCES)
    assert score.signature.startswith("nrefs:1|case:mixed|eff:no|tok:13a|smooth:exp|version:")
    assert score.confidence is None
    assert "nc:6" in chrf(HYPOTHESES, REFERENCES).signature


def test_confidence_comes_from_the_bootstrap_when_asked_for() -> None:
    for score in (bleu(HYPOTHESES, REFERENCES, 50), chrf(HYPOTHESES, REFERENCES, 50)):
        assert score.confidence is not None
        assert 0 < score.confidence < 50
        assert "bs:50" in score.signature
    assert bleu(HYPOTHESES, REFERENCES, 50).value == bleu(HYPOTHESES, REFERENCES).value


def test_a_difference_that_is_the_same_everywhere_is_hardly_chance() -> None:
    worse = [line.rsplit(" ", 1)[0] for line in HYPOTHESES]
    mixed = HYPOTHESES[:6] + worse[6:9] + REFERENCES[9:]
    same, much, some = paired_p_values(HYPOTHESES, [HYPOTHESES, worse, mixed], REFERENCES, 200)
    assert same == 1
    other_words = ["it rains all day tomorrow" if line.startswith("it rains") else line for line in HYPOTHESES]
    equal = [line.replace("tomorrow", "yesterday") for line in other_words]
    assert bleu(other_words, REFERENCES).value == bleu(equal, REFERENCES).value
    assert paired_p_values(other_words, [equal], REFERENCES, 200) == [1]
    assert much < 0.05
    assert much < some < same


def test_moses_tokens_become_plain_text() -> None:
    tokens = ["&quot;", "It", "&apos;s", "fast", "@-@", "forward", ",", "&quot;", "she", "said", "."]
    assert plain_lines([tokens, []], Unit.MOSES, "en") == ['"It\'s fast-forward," she said.', ""]
    assert plain_lines([["It's", "so."], []], Unit.WORD, "en") == ["It's so.", ""]


def test_lines_are_counted_in_units() -> None:
    lines = ["It's so, she said.", "it &apos;s so , she said .", ""]
    assert unit_counts(lines, Unit.WORD, "en") == [4, 7, 0]
    assert unit_counts(lines, Unit.MOSES, "en") == [7, 7, 0]
