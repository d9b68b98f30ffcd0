"""A tiny Marian with random weights, made by transformers itself, in the files that OPUS-MT models have."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import TYPE_CHECKING

import sentencepiece
import torch

from turia.export.random_model import made_up_words

if TYPE_CHECKING:
    from transformers import MarianMTModel


def write_checkpoint(folder: Path) -> MarianMTModel:
    """Writes the checkpoint `folder`, from German to English by its name."""
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
    vocabulary = {piece: number for number, piece in enumerate(["</s>", "<unk>", *dict.fromkeys(pieces), "<pad>"])}
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
    with torch.no_grad():
        # Nothing is zero or one in it: a bias or a norm that got lost would be seen.
        for name, parameter in marian.named_parameters():
            if "embed_positions" not in name:
                parameter.add_(0.3 * torch.randn_like(parameter))
        marian.final_logits_bias.copy_(torch.randn_like(marian.final_logits_bias))
    marian.save_pretrained(folder)
    return marian
