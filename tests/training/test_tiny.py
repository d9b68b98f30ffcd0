"""recipes/tiny.toml learns its toy language: the whole path from text to a translating model."""

from __future__ import annotations

from pathlib import Path

from tests.training.toy import toy_recipe
from turia.corpus.shards import Shards
from turia.model.checkpoint import load_model
from turia.text.subwords import Subwords
from turia.training.decoding import DevTranslator
from turia.training.loop import train
from turia.training.multik import Policy
from turia.training.run import RunFolder
from turia.training.validation import documents


def test_the_toy_language_is_learned(tmp_path: Path) -> None:
    recipe = toy_recipe(tmp_path)
    run = RunFolder(train(recipe, lambda _: None))
    dev = Shards.open(recipe.data.folder / "dev")
    subwords = Subwords.load(run.path / "subwords.model")
    model = load_model(run.newest()).eval()
    policy = Policy(recipe.model.encoder, recipe.model.anchor, dev.meta.gamma)
    translator = DevTranslator(model, subwords, policy, history=0)
    wrong = total = 0
    for document in documents(dev, 48):
        found = translator.translate([pair[0] for pair in document], k=4)
        wanted = [subwords.decode_words(pair[1].ids) for pair in document]
        wrong += sum(one != other for one, other in zip(found, wanted, strict=True))
        total += len(wanted)
    assert total == 48
    assert wrong / total <= 0.03
