"""Shards: what was written is what is mapped, and a damaged folder is found out."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from turia.corpus.shards import (
    OPENS,
    VERSION,
    WINDOW,
    Meta,
    Part,
    PartSide,
    Shards,
    Sizes,
    id_type,
    load_subwords,
    measure,
    save_subwords,
    write_shards,
)
from turia.errors import FormatError, ModelError
from turia.text.subwords import train_subwords

Sentence = list[list[int]]
"""The pieces of each word."""

META = Meta(
    version=VERSION,
    source_language="de",
    target_language="en",
    sizes=Sizes(),
    gamma=1.25,
    history=60,
    max_positions=512,
    source_vocabulary=1 << 16,
    target_vocabulary=1 << 17,
    source_subwords="0",
    target_subwords="1",
    recipe="2",
)


def side(sentences: list[Sentence], vocabulary: int) -> PartSide:
    words = [word for sentence in sentences for word in sentence]
    return PartSide(
        np.array([piece for word in words for piece in word], dtype=id_type(vocabulary)),
        np.array([len(word) for word in words], dtype=np.uint16),
        np.array([len(sentence) for sentence in sentences], dtype=np.int32),
    )


def part(pairs: list[tuple[Sentence, Sentence]]) -> Part:
    rows = [(n, 1, OPENS) for n in range(len(pairs))] + ([(0, len(pairs), WINDOW)] if pairs else [])
    return Part(
        np.array(rows, dtype=np.int32).reshape(-1, 3),
        side([source for source, _ in pairs], META.source_vocabulary),
        side([target for _, target in pairs], META.target_vocabulary),
    )


def write(folder: Path, parts: list[list[tuple[Sentence, Sentence]]]) -> Path:
    paths = []
    folder.mkdir(exist_ok=True)
    for number, pairs in enumerate(parts):
        paths.append(folder / f"{number}.npz")
        part(pairs).save(paths[-1])
    sizes = sum((measure(Part.load(path)) for path in paths), Sizes())
    write_shards(folder / "train", paths, replace(META, sizes=sizes))
    return folder / "train"


SENTENCE = st.lists(st.lists(st.integers(7, (1 << 16) - 1), min_size=1, max_size=4), min_size=1, max_size=5)
PARTS = st.lists(st.lists(st.tuples(SENTENCE, SENTENCE), max_size=4), min_size=1, max_size=4)


@settings(max_examples=30)
@given(parts=PARTS)
def test_every_sentence_comes_back(
    tmp_path_factory: pytest.TempPathFactory, parts: list[list[tuple[Sentence, Sentence]]]
) -> None:
    shards = Shards.open(write(tmp_path_factory.mktemp("shards"), parts))
    pairs = [pair for pairs in parts for pair in pairs]
    assert len(shards) == len(pairs)
    for index, pair in enumerate(pairs):
        for stored, sentence in zip(shards.sentence(index), pair, strict=True):
            assert stored.ids.tolist() == [piece for word in sentence for piece in word]
            assert stored.pieces.tolist() == [len(word) for word in sentence]
    assert shards.source_lengths.tolist() == [sum(map(len, source)) for source, _ in pairs]
    assert shards.target_lengths.tolist() == [sum(map(len, target)) for _, target in pairs]


ONE: tuple[Sentence, Sentence] = ([[7, 8], [9]], [[70_000]])
TWO: tuple[Sentence, Sentence] = ([[10]], [[11], [12]])


def test_samples_point_at_the_sentences_of_their_part(tmp_path: Path) -> None:
    shards = Shards.open(write(tmp_path, [[ONE], [TWO, ONE]]))
    assert shards.samples.tolist() == [
        [0, 1, OPENS],
        [0, 1, WINDOW],
        [1, 1, OPENS],
        [2, 1, OPENS],
        [1, 2, WINDOW],
    ]
    assert shards.meta.sizes == Sizes(3, 2, 5, 5, 4, 7, 4)


def test_arrays_are_mapped_and_read_only(tmp_path: Path) -> None:
    shards = Shards.open(write(tmp_path, [[ONE]]))
    source, target = shards.sentence(0)
    assert isinstance(shards.source.ids, np.memmap)
    assert np.shares_memory(source.ids, shards.source.ids)
    assert (source.ids.dtype.name, target.ids.dtype.name) == ("uint16", "uint32")
    with pytest.raises(ValueError, match="read-only"):
        source.ids[0] = 1


def test_the_same_parts_give_the_same_bytes(tmp_path: Path) -> None:
    first, second = (write(tmp_path / name, [[ONE, TWO], [ONE]]) for name in ("a", "b"))
    names = sorted(path.name for path in first.iterdir())
    assert len(names) == 10
    for name in names:
        assert (first / name).read_bytes() == (second / name).read_bytes(), name


def test_no_folder_says_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(FormatError, match="run `turia prepare` first"):
        Shards.open(tmp_path / "train")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"version": 99}, "expected prepared data of version 1"),
        ({"colour": "red"}, "unknown key 'colour'"),
        ({"sizes": vars(Sizes(9, 1, 2, 3, 1, 3, 1))}, "expected 9 sentences"),
        ({"sizes": vars(Sizes(1, 1, 2, 3, 9, 3, 1))}, "source_words is 3 in meta.json, but 2 here"),
    ],
)
def test_a_folder_that_contradicts_itself_is_refused(tmp_path: Path, change: dict[str, object], message: str) -> None:
    folder = write(tmp_path, [[ONE]])
    meta = json.loads((folder / "meta.json").read_text(encoding="utf-8"))
    (folder / "meta.json").write_text(json.dumps(meta | change), encoding="utf-8")
    with pytest.raises(FormatError, match=message):
        Shards.open(folder)


@pytest.mark.parametrize("name", ["samples.npy", "source.ids.npy", "target.word_offsets.npy"])
def test_a_half_copied_array_is_refused(tmp_path: Path, name: str) -> None:
    folder = write(tmp_path, [[ONE, TWO]])
    content = (folder / name).read_bytes()
    (folder / name).write_bytes(content[:-1])
    with pytest.raises(FormatError, match=f"{name}: cannot map it"):
        Shards.open(folder)
    (folder / name).unlink()
    with pytest.raises(FormatError, match=f"{name}: cannot map it"):
        Shards.open(folder)


def test_subwords_joint_and_separate(tmp_path: Path) -> None:
    german, english = train_subwords({"ja": 5}, 300), train_subwords({"yes": 5}, 300)
    for name, source, target in (("joint", german, german), ("separate", german, english)):
        (tmp_path / name).mkdir()
        save_subwords(tmp_path / name, source, target)
        loaded = load_subwords(tmp_path / name)
        assert [subwords.model for subwords in loaded] == [source.model, target.model]
        assert (loaded[0] is loaded[1]) is (source is target)
    with pytest.raises(ModelError, match=r"source\.subwords\.model: cannot read"):
        load_subwords(tmp_path)
