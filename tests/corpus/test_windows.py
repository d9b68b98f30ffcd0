"""Windows: the paper's figure, and what holds for any document."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from turia.corpus.windows import Lengths, SentenceSpan, consecutive, fits, positions, sliding
from turia.stream.history import history_start

ROOM = 10_000


def pair(source_words: int, target_words: int) -> Lengths:
    return Lengths(source_words, target_words, 2 * source_words, 2 * target_words)


# The pairs of the paper's figure: sentence 2 has three source and two target words, and so on.
FIGURE = [pair(2, 2), pair(3, 2), pair(3, 3), pair(2, 2)]

RUNS = st.lists(
    st.builds(
        lambda words, extra: Lengths(words[0], words[1], words[0] + extra[0], words[1] + extra[1]),
        st.tuples(st.integers(1, 12), st.integers(1, 12)),
        st.tuples(st.integers(0, 9), st.integers(0, 9)),
    ),
    max_size=25,
)
HISTORY = st.integers(0, 30)


def test_sliding_is_the_papers_figure() -> None:
    """Sample 4 leaves out pair 2: with it the source history would have 6 words."""
    assert sliding(FIGURE, history=5, max_positions=ROOM) == [
        SentenceSpan(0, 0),
        SentenceSpan(0, 1),
        SentenceSpan(0, 2),
        SentenceSpan(2, 3),
    ]


def test_consecutive_on_the_papers_figure() -> None:
    """Pairs 1 and 2 are history to 3 (5 words); with 3 the history of 4 would be 8."""
    assert consecutive(FIGURE, history=5, max_positions=ROOM) == [SentenceSpan(0, 2), SentenceSpan(3, 3)]


def test_a_long_sentence_is_its_own_window() -> None:
    run = [pair(2, 2), pair(9, 2), pair(2, 2), pair(2, 2)]
    assert consecutive(run, history=5, max_positions=ROOM) == [SentenceSpan(0, 1), SentenceSpan(2, 3)]
    assert consecutive(run[1:], history=5, max_positions=ROOM) == [SentenceSpan(0, 0), SentenceSpan(1, 2)]
    assert sliding(run, history=5, max_positions=ROOM)[2] == SentenceSpan(2, 2)


def test_either_side_ends_the_history() -> None:
    run = [pair(1, 6), pair(1, 1)]
    assert consecutive(run, history=5, max_positions=ROOM) == [SentenceSpan(0, 0), SentenceSpan(1, 1)]
    assert sliding(run, history=5, max_positions=ROOM) == [SentenceSpan(0, 0), SentenceSpan(1, 1)]


def test_positions_count_symbols() -> None:
    """`<DOC> x x <SEP> x x <BRK>`: two sentences of two pieces take seven."""
    assert positions(pieces=4, sentences=2) == 7
    two = [Lengths(1, 1, 2, 2)] * 2
    assert fits(two, 7)
    assert not fits(two, 6)
    assert consecutive(two, history=60, max_positions=7) == [SentenceSpan(0, 1)]
    assert consecutive(two, history=60, max_positions=6) == [SentenceSpan(0, 0), SentenceSpan(1, 1)]
    assert sliding(two, history=60, max_positions=6) == [SentenceSpan(0, 0), SentenceSpan(1, 1)]


@given(run=RUNS, history=HISTORY, room=st.integers(30, 90))
def test_consecutive_covers_every_sentence_once(run: list[Lengths], history: int, room: int) -> None:
    windows = consecutive(run, history, room)
    assert [i for first, last in windows for i in range(first, last + 1)] == list(range(len(run)))


@given(run=RUNS, history=HISTORY, room=st.integers(30, 90))
def test_every_history_keeps_the_limits(run: list[Lengths], history: int, room: int) -> None:
    """A single pair takes at most 2 + 21 + ... positions here, so that 30 always hold one."""
    for first, last in sliding(run, history, room) + consecutive(run, history, room):
        past = run[first:last]
        assert sum(pair.source_words for pair in past) <= history
        assert sum(pair.target_words for pair in past) <= history
        assert fits(run[first : last + 1], room)


@given(run=RUNS, history=HISTORY)
def test_sliding_is_the_history_of_a_stream(run: list[Lengths], history: int) -> None:
    source, target = [pair.source_words for pair in run], [pair.target_words for pair in run]
    assert sliding(run, history, ROOM) == [
        SentenceSpan(history_start(source[:n], target[:n], history), n) for n in range(len(run))
    ]


@given(run=RUNS, history=HISTORY)
def test_consecutive_windows_are_as_long_as_they_can_be(run: list[Lengths], history: int) -> None:
    for first, last in consecutive(run, history, ROOM)[:-1]:
        whole = run[first : last + 1]
        assert max(sum(pair.source_words for pair in whole), sum(pair.target_words for pair in whole)) > history


@given(run=RUNS)
def test_no_history_is_the_sentence_system(run: list[Lengths]) -> None:
    alone = [SentenceSpan(n, n) for n in range(len(run))]
    assert sliding(run, 0, ROOM) == consecutive(run, 0, ROOM) == alone
