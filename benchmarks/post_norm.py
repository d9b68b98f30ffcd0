"""A model of Marian's shape to start from, out of one that is not: for the proof in docs/models.md.

    git archive bf18459 src/turia/models/de-en | tar x -C ~/runs/release01
    MODEL=~/runs/release01/src/turia/models/de-en
    python -m benchmarks.post_norm $MODEL ~/runs/data/offline-de-en-cased ~/runs/offline-start

Marian normalises what a part of a layer adds its result to (post-norm), the models of release 0.1 what the part reads
(pre-norm). Where the numbers that a part reads are of about the same size at all pieces, one can be turned into the
other: the norm's gain goes into the matrices that read, the mean size out of those that write. Pieces are matched by
their letters, in whatever case. What is lost is won back by training; from nothing that would take hours.
"""

from __future__ import annotations

import argparse
import shutil
from collections.abc import Iterator
from dataclasses import replace
from itertools import islice
from pathlib import Path

import torch
from torch import Tensor, nn

from turia.config import Corpus
from turia.corpus.shards import load_subwords
from turia.export.stored import read_weights
from turia.formats.documents import read
from turia.model.checkpoint import fill_model, save_checkpoint
from turia.model.layers import DecoderLayer, EncoderLayer, FeedForward, MultiHeadAttention, Residual
from turia.model.transformer import Transformer
from turia.runtime.folder import load_folder
from turia.text.normalise import normalise
from turia.text.subwords import Subwords
from turia.text.symbols import DOC_ID, SEP_ID, WORD_END

Part = tuple[Residual, MultiHeadAttention | FeedForward, bool]
"""A part of a layer, what is around it, and whether it attends to what it reads itself."""

SENTENCES = 100


def parts(layers: nn.ModuleList) -> Iterator[Part]:
    """In the order in which they are computed."""
    for layer in layers:
        assert isinstance(layer, EncoderLayer | DecoderLayer)
        yield layer.around_attention, layer.attention, True
        if isinstance(layer, DecoderLayer):
            yield layer.around_cross_attention, layer.cross_attention, False
        yield layer.around_feed_forward, layer.feed_forward, True


def mean_sizes(model: Transformer, pairs: list[tuple[list[int], list[int]]]) -> dict[nn.Module, float]:
    """The mean standard deviation of what each norm gets."""
    found: dict[nn.Module, list[float]] = {}

    def note(norm: nn.Module, given: tuple[Tensor]) -> None:
        found.setdefault(norm, []).append(float(given[0].std(-1).mean()))

    hooks = [norm.register_forward_pre_hook(note) for norm in model.modules() if isinstance(norm, nn.LayerNorm)]
    with torch.no_grad():
        for source, target in pairs:
            whole = torch.full((1, len(source)), len(source))
            limit = torch.full((1, len(target)), len(source))
            model(torch.tensor([source]), whole, torch.tensor([target]), limit)
    for hook in hooks:
        hook.remove()
    return {norm: sum(sizes) / len(sizes) for norm, sizes in found.items()}


def to_post_norm(model: Transformer, sizes: dict[nn.Module, float]) -> None:
    """Changes the weights such that post-norm computes about what pre-norm did."""
    for layers, last in ((model.encoder_layers, model.encoder_norm), (model.decoder_layers, model.decoder_norm)):
        assert isinstance(last, nn.LayerNorm)
        chain = list(parts(layers))
        for number, (around, part, reads_itself) in enumerate(chain):
            first, size = number == 0, sizes[around.norm]
            if isinstance(part, FeedForward):
                readers, writer = [part.expand], part.contract
            else:
                readers, writer = [part.query, *([part.key_value] if reads_itself else [])], part.output
            for reader in readers:
                reader.bias.add_(reader.weight @ around.norm.bias)
                reader.weight.mul_(around.norm.weight)
                if first:  # what comes before is no norm: its mean and its size are taken out here
                    reader.weight.sub_(reader.weight.mean(1, keepdim=True))
                    reader.weight.div_(size)
            if not first:
                writer.weight.div_(size)
                writer.bias.div_(size)
        for (around, _, _), after in zip(chain, [*chain[1:], None], strict=True):
            norm = around.norm
            norm.weight.copy_(torch.ones_like(norm.weight) if after else last.weight)
            norm.bias.copy_(torch.zeros_like(norm.bias) if after else last.bias)


def with_pieces(embedding: Tensor, theirs: Subwords, mine: Subwords) -> Tensor:
    """[my pieces, D] rows by letters; pieces that are not found get rows of the mean size and no meaning."""
    rows: dict[str, int] = {}
    for row, piece in enumerate(theirs.pieces):
        for key in (piece, piece.strip(WORD_END), piece.strip(WORD_END).lower()):
            rows.setdefault(key, row)
    torch.manual_seed(1)
    result = torch.randn(len(mine.pieces), embedding.shape[1]) * embedding.std()
    for row, piece in enumerate(mine.pieces):
        bare = piece.strip(WORD_END)
        # A piece that begins a word is mostly a whole word: there they end with the sign.
        keys = (piece, bare + WORD_END, bare.lower() + WORD_END, bare, bare.lower())
        found = next((rows[key] for key in keys if key in rows), None)
        if found is not None:
            result[row] = embedding[found]
    return result


def pieces(subwords: Subwords, words: list[str]) -> list[int]:
    return [piece for word in words for piece in subwords.encode_word(word)]


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("model", type=Path, help="folder of a model with sinusoidal positions and pre-norm")
    parser.add_argument("data", type=Path, help="folder of prepared data: its subwords are the new model's")
    parser.add_argument("run", type=Path, help="the run folder to write, for training.start_from")
    parser.add_argument("--dev", type=Path, default=Path("../shared/data/europarl-st/deen.dev.tsv.xz"))
    arguments = parser.parse_args()
    config = load_folder(arguments.model).config
    model = Transformer(config.shape).eval()
    fill_model(
        model,
        {name: torch.from_numpy(one.copy()) for name, one in read_weights(arguments.model).items()},
        arguments.model,
    )
    theirs = load_subwords(arguments.model)
    mine = load_subwords(arguments.data)
    documents = read(Corpus(path=arguments.dev), config.source_language, config.target_language, held_out=True)
    every = (pair for one in documents for pair in zip(one.source, one.target, strict=True))
    pairs = [
        ([DOC_ID, *pieces(theirs[0], normalise(source)), SEP_ID], [DOC_ID, *pieces(theirs[1], target.split())])
        for source, target in islice(every, SENTENCES)
    ]
    sizes = mean_sizes(model, pairs)
    with torch.no_grad():
        to_post_norm(model, sizes)
    weights = model.state_dict()
    weights["target_embedding.weight"] = with_pieces(weights["target_embedding.weight"], theirs[1], mine[1])
    for name in [name for name in weights if name.startswith(("encoder_norm", "decoder_norm"))]:
        del weights[name]
    count = len(mine[1].pieces)
    shape = replace(
        config.shape, pre_norm=False, encoder="bidirectional", positions="marian", activation="swish", logits_bias=True,
        source_opening=False, source_vocabulary=count, target_vocabulary=count,
    )  # fmt: skip
    new = Transformer(shape)
    fill_model(new, {**weights, "logits_bias": torch.zeros(count)}, arguments.run)
    save_checkpoint(arguments.run / "checkpoints" / "step-00000001", new)
    shutil.copy(arguments.data / "subwords.model", arguments.run)
    print(arguments.run)


if __name__ == "__main__":
    main()
