"""A tiny Marian with random weights, made by transformers itself, in the files that OPUS-MT models have."""

from __future__ import annotations

import io
import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import sentencepiece
import torch

from turia.export.random_model import made_up_words

if TYPE_CHECKING:
    from transformers import M2M100ForConditionalGeneration, MarianMTModel


def write_checkpoint(folder: Path, targets: Sequence[str] = (), steps: int = 150) -> MarianMTModel:
    """Writes the checkpoint `folder`, from German to English by its name; with `targets`, to any of these
    languages. It learns for so many steps."""
    # Here, as its import takes as long as all others together, and every test process collects every test.
    from transformers import MarianConfig, MarianMTModel

    folder.mkdir(parents=True)
    words = made_up_words()
    pieces: list[str] = []
    for name, part in (("source.spm", words[:400]), ("target.spm", words[200:600])):
        model = io.BytesIO()
        sentencepiece.SentencePieceTrainer.train(
            sentence_iterator=iter([" ".join(part)] * 3), model_writer=model, model_type="unigram", vocab_size=120,
            hard_vocab_limit=False, minloglevel=2,
        )  # fmt: skip
        (folder / name).write_bytes(model.getvalue())
        processor = sentencepiece.SentencePieceProcessor(model_proto=model.getvalue())
        pieces += [processor.id_to_piece(i) for i in range(3, len(processor))]
    named = [f">>{target}<<" for target in targets]
    vocabulary = {
        piece: number for number, piece in enumerate(["</s>", "<unk>", *dict.fromkeys(pieces), *named, "<pad>"])
    }
    (folder / "vocab.json").write_text(json.dumps(vocabulary), encoding="utf-8")
    pad = vocabulary["<pad>"]
    torch.manual_seed(3)
    config = MarianConfig(
        vocab_size=len(vocabulary), d_model=16, encoder_layers=2, decoder_layers=2, encoder_ffn_dim=32,
        decoder_ffn_dim=32, encoder_attention_heads=4, decoder_attention_heads=4, max_position_embeddings=128,
        scale_embedding=True, activation_function="swish", pad_token_id=pad, eos_token_id=0,
        decoder_start_token_id=pad, forced_eos_token_id=0,
    )  # fmt: skip
    marian = MarianMTModel(config)
    marian.train(False)
    randomise(marian, 0, [vocabulary[">>eng<<"]] if targets else [], steps)
    with torch.no_grad():
        marian.final_logits_bias.copy_(0.3 * torch.randn_like(marian.final_logits_bias))
    marian.save_pretrained(folder)
    return marian


def randomise(
    model: MarianMTModel | M2M100ForConditionalGeneration, end: int, prefix: Sequence[int], steps: int
) -> None:
    """Random weights that have learnt a little: to say pieces of the source, and to come to an end.

    Nothing is zero or one in them: a bias or a norm that got lost would be seen.
    """
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if "embed_positions" not in name:
                parameter.add_(0.1 * torch.randn_like(parameter))
    optimiser = torch.optim.Adam(model.parameters(), lr=1e-2)
    start = int(model.config.decoder_start_token_id)
    for _ in range(steps):
        length = int(torch.randint(4, 10, ()))
        said = torch.randint(10, 110, (16, length))
        ends = torch.full((16, 1), end)
        openings = torch.tensor([[start, *prefix]] * 16)
        result = model(
            input_ids=torch.cat([torch.tensor([list(prefix)] * 16, dtype=torch.long), said, ends], dim=1),
            decoder_input_ids=torch.cat([openings, said], dim=1),
        )
        wanted = torch.cat([said, ends], dim=1)
        loss = torch.nn.functional.cross_entropy(result.logits[:, len(prefix) :].flatten(0, 1), wanted.flatten())
        optimiser.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        optimiser.step()
