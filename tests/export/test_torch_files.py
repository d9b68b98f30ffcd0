"""Files of torch that were made to do harm are refused in one line, at once. test_plain_weights.py has good ones.

The pickles are written opcode by opcode: torch would not write them.
"""

from __future__ import annotations

import resource
import struct
import zipfile
from pathlib import Path

import pytest

from turia.errors import ModelError
from turia.export import torch_files
from turia.export.torch_files import open_torch_file

PROTO, STOP, NO_HOOKS = b"\x80\x02", b".", b"\x89ccollections\nOrderedDict\n)R"
MAGIC = PROTO + b"\x8a\x0al\xfc\x9cF\xf9 j\xa8P\x19" + STOP


def text(value: bytes) -> bytes:
    return b"X" + struct.pack("<I", len(value)) + value


def storage(kind: bytes = b"FloatStorage", key: bytes = text(b"0")) -> bytes:
    return b"(" + text(b"storage") + b"ctorch\n" + kind + b"\n" + key + text(b"cpu") + b"K\x02tQ"


def tensor(shape: bytes = b"K\x02\x85", strides: bytes = b"K\x01\x85", stored: bytes | None = None) -> bytes:
    rebuilt = b"ctorch._utils\n_rebuild_tensor_v2\n("
    return rebuilt + (storage() if stored is None else stored) + b"K\0" + shape + strides + NO_HOOKS + b"tR"


def saved(value: bytes = b"", name: bytes = text(b"a")) -> bytes:
    """A dictionary with one tensor."""
    return PROTO + b"}" + name + (value or tensor()) + b"s" + STOP


ENDLESS = b"K\x01" + b"2\x86" * 60
"""A tuple of two tuples of two tuples, and so on: its text, and its hash, would take 2 to the power of 60 steps."""


def write_archive(path: Path, described: bytes, numbers: bytes = bytes(8), compressed: bool = False) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED if compressed else zipfile.ZIP_STORED) as archive:
        archive.writestr("x/data.pkl", described)
        archive.writestr("x/data/0", numbers)
    return path


def write_legacy(path: Path, described: bytes, count: int = 2) -> Path:
    keys = PROTO + b"]" + text(b"0") + b"a" + STOP
    rest = struct.pack("<q", count) + bytes(8)
    path.write_bytes(MAGIC + PROTO + b"M\xe9\x03" + STOP + PROTO + b"}" + STOP + described + keys + rest)
    return path


def refusal(path: Path) -> str:
    """Of opening the file or of reading its tensors."""
    with pytest.raises(ModelError) as refused:
        [found.read() for found in open_torch_file(path).values()]
    assert len(str(refused.value).splitlines()) == 1
    return str(refused.value).partition(": not plain weights: ")[2]


def test_files_that_are_as_torch_writes_them(tmp_path: Path) -> None:
    """Or the others would be refused for something else."""
    for path in (write_archive(tmp_path / "a", saved()), write_legacy(tmp_path / "b", saved())):
        assert open_torch_file(path)["a"].read().tolist() == [0.0, 0.0]


@pytest.mark.parametrize(
    ("described", "cause"),
    [
        (saved(name=ENDLESS), "it has steps that tensors do not need"),
        (saved(name=b"K\x01" + b"q\x01h\x01\x86" * 60), "expected tensors by their names"),
        (saved(tensor(stored=storage(key=b"K\x01" + b"q\x01h\x01\x86" * 60))), "expected the name of a storage"),
        (saved(tensor(shape=text(b"22"))), "expected whole numbers for the shape of a tensor"),
        # The function that makes tensors would get other defaults.
        (PROTO + b"ctorch._utils\n_rebuild_tensor_v2\n}b" + STOP, "expected attributes of a dictionary alone"),
        # Places of a memo: the library's reader in C would make room for 2 to the power of 31 of them.
        (PROTO + b"Nr\xff\xff\xff\x7f" + STOP, "expected tensors by their names"),
        (PROTO + b"F1\nx2\n.", "it has steps that tensors do not need"),
        (PROTO + b"cos\nsystem\n" + text(b"true") + b"\x85R" + STOP, "it holds os.system"),
    ],
    ids=["steps", "name", "storage", "shape", "attributes", "memo", "float", "code"],
)
def test_harmful_pickles(described: bytes, cause: str, tmp_path: Path) -> None:
    """Where reading took memory or time without end, the limits of the test's process would end it."""
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    assert refusal(write_archive(tmp_path / "a", described)) == cause
    assert refusal(write_legacy(tmp_path / "b", described)) == cause
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 200 * 1024


@pytest.mark.parametrize(
    ("described", "cause"),
    [
        # One number, two million million times.
        (saved(tensor(b"J\0\0\0\x10J\0\0\0\x10\x86", b"K\0K\0\x86")), "a tensor outside of its numbers"),
        (saved(tensor(b"K\x03\x85")), "a tensor outside of its numbers"),
        (saved(tensor(b"J\xff\xff\xff\xff\x85")), "a tensor outside of its numbers"),
        (saved(tensor(b"K\x02\x85", b"K\x01K\x01\x86")), "a tensor of 1 dimensions and 2 strides"),
        (saved(tensor(b"(" + b"K\x01" * 70 + b"t", b"(" + b"K\x01" * 70 + b"t")), "a tensor of 70 dimensions and 70"),
    ],
    ids=["one number", "more", "fewer than none", "strides", "dimensions"],
)
def test_tensors_that_their_numbers_do_not_make(described: bytes, cause: str, tmp_path: Path) -> None:
    assert refusal(write_archive(tmp_path / "a", described)).startswith(cause)
    assert refusal(write_legacy(tmp_path / "b", described)).startswith(cause)


def test_compressed_archives_could_be_bombs(tmp_path: Path) -> None:
    path = write_archive(tmp_path / "a", saved(), bytes(10**6), compressed=True)
    assert path.stat().st_size < 10_000
    assert refusal(path) == "its archive is compressed, which torch's are not"


def test_numbers_that_are_missing(tmp_path: Path) -> None:
    assert refusal(write_archive(tmp_path / "a", saved(tensor(stored=storage(key=text(b"1")))))).startswith(
        '"There is no'
    )
    cut = write_archive(tmp_path / "c", saved(), bytes(8))
    # Its list says that there are more numbers than follow.
    cut.write_bytes(cut.read_bytes().replace(struct.pack("<2I", 8, 8), struct.pack("<2I", 800, 800)))
    assert refusal(cut) == "EOFError"
    assert "mmap" in refusal(write_legacy(tmp_path / "b", saved(), count=3))


def test_what_is_no_file(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    with pytest.raises(ModelError, match="cannot be read: Is a directory"):
        open_torch_file(tmp_path / "a")


def test_a_cause_is_one_short_line() -> None:
    assert torch_files.shortened(ValueError("a\nb\r\u2028" + "x" * 1000)) == "a b " + "x" * 196
    assert torch_files.shortened(ValueError()) == "ValueError"
