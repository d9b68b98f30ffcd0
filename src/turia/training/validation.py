"""How good the model is on the dev set: loss at several k, and BLEU of its streaming translation."""

from __future__ import annotations

from itertools import islice

import sacrebleu
import torch

from turia.config import Validation
from turia.corpus.batches import in_order
from turia.corpus.shards import CLOSES, WINDOW, Shards
from turia.model.transformer import Transformer
from turia.text.layout import Sentence
from turia.text.subwords import Subwords
from turia.training.decoding import DevTranslator
from turia.training.loss import SummedLoss
from turia.training.multik import Policy, batch_limits

_BATCH_TOKENS = 4000


@torch.no_grad()
def dev_loss(model: Transformer, dev: Shards, policy: Policy, windows: bool, k: int, batches: int) -> float:
    """Mean cross-entropy per label in nats, without smoothing, at one k."""
    model.eval()
    measure = SummedLoss(model, smoothing=0.0)
    device = next(model.parameters()).device
    total, labels = 0.0, 0
    for batch in islice(in_order(dev, windows, _BATCH_TOKENS), batches or None):
        reach, limit = batch_limits(batch, k, policy)
        source, target = torch.from_numpy(batch.source), torch.from_numpy(batch.target)
        total += float(measure(*(tensor.to(device) for tensor in (source, reach, target, limit))))
        labels += batch.target_tokens
    return total / labels


def documents(dev: Shards, sentences: int) -> list[list[tuple[Sentence, Sentence]]]:
    """The first documents of the dev set, `sentences` pairs in all."""
    found: list[list[tuple[Sentence, Sentence]]] = [[]]
    singles = dev.samples[(dev.samples[:, 2] & WINDOW) == 0]
    for first, _, flags in singles[:sentences].tolist():
        found[-1].append(dev.sentence(first))
        if flags & CLOSES:
            found.append([])
    return [document for document in found if document]


def dev_bleu(
    model: Transformer, dev: Shards, subwords: Subwords, policy: Policy, history: int, k: int, sentences: int
) -> float:
    """BLEU of greedy streaming decoding with the reference segmentation."""
    model.eval()
    translator = DevTranslator(model, subwords, policy, history)
    hypotheses, references = [], []
    for document in documents(dev, sentences):
        for words in translator.translate([pair[0] for pair in document], k):
            hypotheses.append(" ".join(words))
        references += [" ".join(subwords.decode_words(pair[1].ids)) for pair in document]
    return float(sacrebleu.corpus_bleu(hypotheses, [references]).score)


def validate(
    model: Transformer,
    dev: Shards,
    subwords: Subwords,
    policy: Policy,
    history: int,
    validation: Validation,
) -> dict[str, float]:
    """All figures of one validation by name; `dev_loss` (their mean over k) decides which checkpoint is best."""
    has_windows = history > 0 and bool((dev.samples[:, 2] & WINDOW).any())
    figures: dict[str, float] = {}
    for k in validation.k:
        figures[f"dev_loss_k{k}"] = dev_loss(model, dev, policy, has_windows, k, validation.batches)
    figures["dev_loss"] = sum(figures.values()) / len(figures)
    if has_windows:
        k = validation.k[-1]
        figures[f"dev_loss_single_k{k}"] = dev_loss(model, dev, policy, False, k, validation.batches)
    if validation.bleu_sentences:
        for k in validation.bleu_k:
            for h in sorted({0, history}):
                score = dev_bleu(model, dev, subwords, policy, h, k, validation.bleu_sentences)
                figures[f"bleu_k{k}_h{h}"] = score
    return figures
