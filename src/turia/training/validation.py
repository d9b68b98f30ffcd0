"""How good the model is on the dev set: loss at several k, and BLEU of its streaming translation."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import torch

from turia.config import Validation
from turia.corpus.batches import Batch, assemble, assemble_sentences, samples_in_order
from turia.corpus.flowing import assemble_flowing
from turia.corpus.shards import CLOSES, OPENS, WINDOW, Shards
from turia.engine.model import Model
from turia.engine.settings import Settings
from turia.engine.stream import Stream
from turia.model.backend import TorchBackend
from turia.model.transformer import Transformer
from turia.segmenter.online import GivenSegmenter
from turia.stream.trace import words_by_sentence
from turia.text.layout import Sentence
from turia.text.subwords import Subwords
from turia.training.loss import SummedLoss
from turia.training.paths import MaskSettings, batch_limits

_BATCH_TOKENS = 4000


@torch.no_grad()
def dev_loss(model: Transformer, dev: Shards, policy: MaskSettings, windows: bool, k: int, batches: int) -> float:
    """Mean cross-entropy per label in nats, without smoothing, at one k."""
    model.eval()
    total, labels = 0.0, 0
    lay_out = assemble_flowing if policy.free else assemble
    for samples in samples_in_order(dev, windows, _BATCH_TOKENS, batches):
        batch = lay_out(dev, samples, policy.source_opening)
        total += _summed_loss(model, batch, policy, k)
        labels += batch.target_tokens
    return total / labels


@torch.no_grad()
def loss_with_history_and_alone(
    model: Transformer, dev: Shards, policy: MaskSettings, k: int, batches: int
) -> tuple[float, float] | None:
    """The same mean of the same labels twice: of the last sentence of each window behind its history, and alone.

    None if no window has a history.
    """
    model.eval()
    with_history, alone, labels = 0.0, 0.0, 0
    for samples in samples_in_order(dev, True, _BATCH_TOKENS, batches):
        chosen = samples[dev.samples[samples, 1] > 1]
        if not len(chosen):
            continue
        first, count, flags = dev.samples[chosen].T
        # One that has others before it does not open its document.
        last = np.stack([first + count - 1, np.ones_like(count), flags & CLOSES], axis=1)
        windows = assemble(dev, chosen, policy.source_opening)
        single = assemble_sentences(dev, last, policy.source_opening)
        counted = torch.from_numpy(windows.last_sentence > 0)
        with_history += _summed_loss(model, windows, policy, k, counted)
        alone += _summed_loss(model, single, policy, k)
        labels += single.target_tokens
    return (with_history / labels, alone / labels) if labels else None


def _summed_loss(
    model: Transformer, batch: Batch, policy: MaskSettings, k: int, counted: torch.Tensor | None = None
) -> float:
    """Cross-entropy of a batch without smoothing, over all labels or the `counted` ones."""
    device = next(model.parameters()).device
    reach, limit = batch_limits(batch, k, policy)
    tensors = [torch.from_numpy(batch.source), reach, torch.from_numpy(batch.target), limit]
    measure = SummedLoss(model, smoothing=0.0)
    only = None if counted is None else counted.to(device)
    return float(measure(*(tensor.to(device) for tensor in tensors), counted=only))


def documents(dev: Shards, sentences: int) -> list[list[tuple[Sentence, Sentence]]]:
    """The first documents of the dev set, `sentences` pairs in all."""
    found: list[list[tuple[Sentence, Sentence]]] = [[]]
    singles = dev.samples[(dev.samples[:, 2] & WINDOW) == 0]
    for first, _, flags in singles[:sentences].tolist():
        # The last pair of the document before may have been dropped, and none closes it then.
        if flags & OPENS:
            found.append([])
        found[-1].append(dev.sentence(first))
        if flags & CLOSES:
            found.append([])
    return [document for document in found if document]


def translate(model: Model, document: Sequence[Sequence[str]], k: int, history: int) -> list[list[str]]:
    """The words of each sentence's translation, by the engine, with the sentence ends given."""
    segmenter = GivenSegmenter([len(words) for words in document])
    stream = Stream(model, segmenter, Settings(k=k, gamma=model.gamma, history=history))
    records = [record for words in document for word in words for record in stream.push(word)] + stream.flush()
    return words_by_sentence(records, len(document))


def dev_bleu(model: Model, dev: Shards, history: int, k: int, sentences: int) -> float:
    """BLEU of greedy streaming translation with the reference segmentation."""
    import sacrebleu  # here, because most processes of a training never compute BLEU

    hypotheses, references = [], []
    for document in documents(dev, sentences):
        source = [model.source_subwords.decode_words(pair[0].ids) for pair in document]
        hypotheses += [" ".join(words) for words in translate(model, source, k, history)]
        references += [" ".join(model.target_subwords.decode_words(pair[1].ids)) for pair in document]
    return float(sacrebleu.corpus_bleu(hypotheses, [references]).score)


def engine_model(model: Transformer, subwords: tuple[Subwords, Subwords], policy: MaskSettings, history: int) -> Model:
    """The model being trained, as the engine sees it."""
    return Model(
        "training",
        TorchBackend(model),
        *subwords,
        encoder=policy.encoder,
        anchor=policy.anchor,
        gamma=policy.gamma,
        history=history,
        max_positions=model.shape.max_positions,
        source_opening=policy.source_opening,
    )


def validate(
    model: Transformer,
    dev: Mapping[str, Shards],
    subwords: tuple[Subwords, Subwords],
    policy: MaskSettings,
    history: int,
    validation: Validation,
) -> dict[str, float]:
    """All figures of one validation by name; `dev_loss`, the mean over dev sets and k, tells the best checkpoint.

    Where there are several dev sets, a figure's name ends in its set's.
    """
    engine = engine_model(model, subwords, policy, history)
    figures: dict[str, float] = {}
    for name, shards in dev.items():
        of_set = _set_figures(engine, model, shards, policy, history, validation)
        figures |= of_set if len(dev) == 1 else {f"{key}_{name}": value for key, value in of_set.items()}
    losses = [value for name, value in figures.items() if name.startswith("dev_loss_k")]
    return {"dev_loss": sum(losses) / len(losses), **figures}


def _set_figures(
    engine: Model, model: Transformer, dev: Shards, policy: MaskSettings, history: int, validation: Validation
) -> dict[str, float]:
    has_windows = history > 0 and bool((dev.samples[:, 2] & WINDOW).any())
    figures: dict[str, float] = {}
    for k in validation.k:
        figures[f"dev_loss_k{k}"] = dev_loss(model, dev, policy, has_windows, k, validation.batches)
    for k in validation.history_k or validation.k[-1:]:
        if has_windows and (pair := loss_with_history_and_alone(model, dev, policy, k, validation.batches)):
            figures[f"dev_loss_last_k{k}"], figures[f"dev_loss_single_k{k}"] = pair
    if validation.bleu_sentences:
        for k in validation.bleu_k:
            for h in sorted({0, history if has_windows else 0}):
                figures[f"bleu_k{k}_h{h}"] = dev_bleu(engine, dev, h, k, validation.bleu_sentences)
    return figures
