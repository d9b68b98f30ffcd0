"""Translation quality on plain text: BLEU and chrF by sacrebleu, with its signatures and its bootstrap."""

from __future__ import annotations

from collections.abc import Sequence

from sacrebleu.metrics.bleu import BLEU
from sacrebleu.metrics.chrf import CHRF
from sacrebleu.significance import PairedTest, Result

from turia.evaluation.figures import Figure


def bleu(hypotheses: Sequence[str], references: Sequence[str], resamples: int = 0) -> Figure:
    """Corpus BLEU (13a tokens, case kept); `resamples` above 1 asks for a confidence interval."""
    return _score(BLEU(), "BLEU", hypotheses, references, resamples)


def chrf(hypotheses: Sequence[str], references: Sequence[str], resamples: int = 0) -> Figure:
    """Corpus chrF2; `resamples` above 1 asks for a confidence interval."""
    return _score(CHRF(), "chrF", hypotheses, references, resamples)


def paired_p_values(
    baseline: Sequence[str], others: Sequence[Sequence[str]], references: Sequence[str], resamples: int
) -> list[float]:
    """How likely each difference in BLEU from the baseline would be by chance: sacrebleu's paired bootstrap."""
    named: list[tuple[str, Sequence[str]]] = [
        (str(number), list(hypotheses)) for number, hypotheses in enumerate([baseline, *others])
    ]
    test = PairedTest(named, {"BLEU": BLEU()}, [list(references)], test_type="bs", n_samples=resamples)
    _, results = test()
    base, *found = (result for result in results["BLEU"] if isinstance(result, Result))
    # For equal scores, as of a system and itself, sacrebleu gives a p near 0, as if the difference were significant.
    return [1.0 if own.score == base.score or own.p_value is None else float(own.p_value) for own in found]


def _score(
    metric: BLEU | CHRF, name: str, hypotheses: Sequence[str], references: Sequence[str], resamples: int
) -> Figure:
    assert len(hypotheses) == len(references) > 0
    # sacrebleu takes 1 for "no bootstrap" and leaves -1 where it has no interval.
    result = metric.corpus_score(list(hypotheses), [list(references)], n_bootstrap=max(resamples, 1))
    interval = float(result._ci) if resamples > 1 else None
    signature = metric.get_signature().format()
    return Figure(name, float(result.score), "sacrebleu", decimals=2, signature=signature, confidence=interval)
