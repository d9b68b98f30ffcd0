"""What graphs are fed with: masks of rows in order and of hypotheses, and buffers that several states share."""

from __future__ import annotations

import numpy as np
import pytest

from turia.runtime.rows import MOST_SPARE, ROOM, Columns, feeds, places, rows_in_order, rows_of_hypotheses, with_memory

SEEN, HIDDEN = 0.0, -np.inf


def numbered(columns: int, filled: int | None = None) -> Columns:
    """Two tensors of one head of one number, which is the number of its column."""
    array = np.zeros((2, 1, columns, 1), dtype=np.float32)
    array[:, 0, :, 0] = np.arange(columns)
    return Columns(array, columns if filled is None else filled)


def values(columns: Columns) -> list[float]:
    found: list[float] = columns.tensors[0][0, 0, :, 0].tolist()
    return found


def new(*numbers: float) -> np.ndarray[tuple[int, ...], np.dtype[np.float32]]:
    return np.array([numbers, numbers], dtype=np.float32)[:, None, :, None]


def test_rows_in_order_see_what_their_limits_say() -> None:
    rows = rows_in_order(np.array([7, 8]), np.array([3, 4]), 2, numbered(5))
    assert rows.positions.tolist() == [2, 3]
    # Two columns are kept, three are free, two are new.
    assert rows.bias[0, 0].tolist() == [
        [SEEN, SEEN, HIDDEN, HIDDEN, HIDDEN, SEEN, HIDDEN],
        [SEEN, SEEN, HIDDEN, HIDDEN, HIDDEN, SEEN, SEEN],
    ]
    with pytest.raises(AssertionError, match="sees what is not there"):
        rows_in_order(np.array([7]), np.array([4]), 2, numbered(5))


def test_hypotheses_see_their_own_columns_and_themselves() -> None:
    rows = rows_of_hypotheses(np.array([7, 8]), [np.array([0, 1, 2]), np.array([0, 1, 3])], numbered(5))
    assert rows.positions.tolist() == [3, 3]
    assert rows.bias[0, 0].tolist() == [
        [SEEN, SEEN, SEEN, HIDDEN, HIDDEN, SEEN, HIDDEN],
        [SEEN, SEEN, HIDDEN, SEEN, HIDDEN, HIDDEN, SEEN],
    ]


def test_whoever_comes_second_gets_a_copy() -> None:
    first = numbered(ROOM, filled=3)
    assert first.extended(3, new(70, 71)) is first
    assert values(first)[:5] == [0, 1, 2, 70, 71]
    other = first.extended(3, new(80))
    assert values(other)[:5] == [0, 1, 2, 80, 0]
    assert values(first)[:5] == [0, 1, 2, 70, 71]
    larger = numbered(ROOM).extended(ROOM, new(90))
    assert larger.room == 2 * ROOM
    assert values(larger)[: ROOM + 1] == [*range(ROOM), 90]


def test_buffers_of_native_code_are_used_again_when_nobody_has_them() -> None:
    begun = Columns(np.zeros((2, 1, 1, 16), dtype=np.float32), filled=1, zeros=False)
    one, other = begun.claimed(0, 3), begun.claimed(0, 3)
    places = one.address, other.address
    assert len(set(places)) == 2
    kept = other.claimed(3, 2)
    del one, other
    # The second one is still held.
    again = begun.claimed(0, 5)
    assert (again.address, kept.address) == places
    assert begun.claimed(0, 5).address not in places


def test_few_buffers_wait_to_be_used_again() -> None:
    begun = Columns(np.zeros((2, 1, 1, 1 << 12), dtype=np.float32), filled=1, zeros=False)
    size = 2 * ROOM * (1 << 12) * 4
    many = [begun.claimed(0, 1) for _ in range(MOST_SPARE // size + 3)]
    many.clear()
    waiting = Columns.spares._arrays[2, 1, ROOM, 1 << 12]
    assert len(waiting) == MOST_SPARE // size
    begun.claimed(0, 1)
    assert len(waiting) == MOST_SPARE // size
    held = begun.claimed(0, 1)
    assert len(waiting) == MOST_SPARE // size - 1
    del held
    waiting.clear()


def test_columns_of_a_hypothesis_can_be_put_in_order() -> None:
    assert values(numbered(8).gathered(np.array([0, 1, 5, 7])))[:5] == [0, 1, 5, 7, 0]


def test_a_graph_gets_the_rows_of_all_streams_one_after_the_other() -> None:
    one = rows_in_order(np.array([5, 6]), np.array([1, 2]), 0, numbered(4))
    two = rows_of_hypotheses(np.array([7, 8, 9]), [np.arange(4)] * 3, numbered(4))
    both = [with_memory(rows, numbered(6), 3, np.full(len(rows.ids), 2)) for rows in (one, two)]
    found = feeds(both, last=True)
    assert found["ids"].tolist() == [[5, 6, 7, 8, 9]]
    assert found["positions"].tolist() == [[0, 1, 4, 4, 4]]
    assert found["rows"].tolist() == [2, 3]
    assert found["last"].tolist() == [1, 4]
    assert found["columns.1"].tolist() == [4, 3]
    assert found["memory_bias.1"][0, 0, 0].tolist() == [SEEN, SEEN, HIDDEN, HIDDEN, HIDDEN, HIDDEN]
    assert "last" not in feeds(both, last=False)
    assert places([2, 3]) == [slice(0, 2), slice(2, 5)]
