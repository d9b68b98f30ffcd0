"""A tiny M2M-100 or NLLB-200 with random weights, made by transformers itself, in the files that such models have."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import sentencepiece
import torch

from tests.export.marian_checkpoint import randomise
from turia.export.languages import M2M_100
from turia.export.random_model import made_up_words

if TYPE_CHECKING:
    from transformers import M2M100ForConditionalGeneration

NLLB = ("arb_Arab", "deu_Latn", "eng_Latn", "zho_Hans", "zho_Hant")
PAD, END = 1, 2


def write_m2m(folder: Path, kind: Literal["m2m", "nllb"], steps: int = 150) -> M2M100ForConditionalGeneration:
    """Writes the checkpoint `folder`, after so many steps of learning."""
    from transformers import M2M100Config, M2M100ForConditionalGeneration

    folder.mkdir(parents=True)
    model = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter([" ".join(made_up_words()[:500])] * 3), model_writer=model, model_type="bpe",
        vocab_size=200, hard_vocab_limit=False, minloglevel=2,
    )  # fmt: skip
    (folder / "sentencepiece.bpe.model").write_bytes(model.getvalue())
    processor = sentencepiece.SentencePieceProcessor(model_proto=model.getvalue())
    pieces = ["<s>", "<pad>", "</s>", "<unk>", *(processor.id_to_piece(i) for i in range(3, len(processor)))]
    if kind == "m2m":
        (folder / "vocab.json").write_text(json.dumps({piece: i for i, piece in enumerate(pieces)}), encoding="utf-8")
        size = len(pieces) + len(M2M_100) + 8
    else:
        added = [{"id": len(pieces) + i, "content": code} for i, code in enumerate(NLLB)]
        tokens = [{"id": i, "content": piece} for i, piece in enumerate(pieces[:4])]
        (folder / "tokenizer.json").write_text(json.dumps({"added_tokens": [*tokens, *added]}), encoding="utf-8")
        size = len(pieces) + len(NLLB) + 1
    torch.manual_seed(5)
    config = M2M100Config(
        vocab_size=size, d_model=16, encoder_layers=2, decoder_layers=2, encoder_ffn_dim=32, decoder_ffn_dim=32,
        encoder_attention_heads=4, decoder_attention_heads=4, max_position_embeddings=128, scale_embedding=True,
        activation_function="relu", bos_token_id=0, pad_token_id=PAD, eos_token_id=END, decoder_start_token_id=END,
    )  # fmt: skip
    made = M2M100ForConditionalGeneration(config)
    made.train(False)
    english = M2M_100.index("en") if kind == "m2m" else NLLB.index("eng_Latn")
    randomise(made, END, [len(pieces) + english], steps)
    made.save_pretrained(folder)
    return made
