"""Re-segmentation: no word is lost, no cut is dearer than need be, and ties fall where they should."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rapidfuzz.distance import Levenshtein

from turia.errors import InputError
from turia.evaluation.resegment import HALF_WIDTH, begins_sentence, pieces, resegment, sentence_ends

# Few different words, so that ties abound; some of several pieces, some that only differ in case.
WORDS = st.sampled_from(["a", "A", "b", "c", ".", "a.", "b-c", "C?", "&quot;", "it&apos;s", "@-@"])
STREAMS = st.lists(WORDS, max_size=12)
REFERENCES = st.lists(st.lists(WORDS, max_size=5).map(" ".join), min_size=1, max_size=4)


def distance(reference: str, words: list[str]) -> int:
    return Levenshtein.distance(
        [piece for word in reference.split() for piece in pieces(word)],
        [piece for word in words for piece in pieces(word)],
    )


def least_cost(words: list[str], references: list[str]) -> int:
    """The least sum of edit distances over all ways to cut between words, by trying every one."""
    best = {0: 0}
    for reference in references:
        best = {
            end: min(cost + distance(reference, words[start:end]) for start, cost in best.items() if start <= end)
            for end in range(len(words) + 1)
        }
    return best[len(words)]


@settings(deadline=None)
@given(STREAMS, REFERENCES)
def test_every_word_is_kept_in_order_and_no_other_cuts_cost_less(words: list[str], references: list[str]) -> None:
    segments = resegment(words, references)
    assert len(segments) == len(references)
    assert [word for segment in segments for word in segment] == words
    cost = sum(distance(reference, segment) for reference, segment in zip(references, segments, strict=True))
    assert cost == least_cost(words, references)


@settings(deadline=None)
@given(
    st.lists(st.sampled_from("abcd"), max_size=40),
    st.lists(st.lists(st.sampled_from("abcd"), max_size=8).map(" ".join), min_size=1, max_size=6),
)
def test_with_words_of_one_piece_the_cuts_cost_the_edit_distance_of_the_whole_stream(
    words: list[str], references: list[str]
) -> None:
    segments = resegment(words, references)
    cost = sum(distance(reference, segment) for reference, segment in zip(references, segments, strict=True))
    assert cost == distance(" ".join(references), words)


@settings(deadline=None)
@given(st.lists(st.integers(0, 6), min_size=1, max_size=12))
def test_a_perfect_translation_is_cut_at_the_references_own_sentences(lengths: list[int]) -> None:
    sentences: list[list[str]] = []
    for length in lengths:
        first = sum(map(len, sentences))
        sentences.append([f"w{number}" for number in range(first, first + length)])
    references = [" ".join(sentence) for sentence in sentences]
    assert resegment([word for sentence in sentences for word in sentence], references) == sentences


def test_words_are_compared_in_pieces_without_case_or_moses_escapes() -> None:
    assert pieces("It&apos;s") == ["it", "'", "s"]
    assert pieces("@-@") == ["-"]
    assert pieces("&quot;Why?&quot;") == ['"', "why", "?", '"']
    assert pieces("STRASSE") == pieces("Straße")
    assert pieces("\u00ad")


def test_moses_tokens_are_cut_at_a_plain_reference() -> None:
    words = [
        "Don",
        "&apos;t",
        "look",
        "at",
        "the",
        "fast",
        "@-@",
        "forward",
        ".",
        "&quot;",
        "Why",
        "not",
        "?",
        "&quot;",
    ]
    references = ["Don't look at the fast-forward.", '"Why not?']
    assert resegment(words, references) == [words[:9], words[9:]]


def test_a_word_is_never_split_even_where_its_pieces_belong_to_two_sentences() -> None:
    assert resegment(["x", "a.b", "y"], ["x a.", "b y"]) in (
        [["x", "a.b"], ["y"]],
        [["x"], ["a.b", "y"]],
    )


def test_a_tie_goes_to_where_the_hypothesis_begins_a_sentence() -> None:
    # "so here" has no partner: it may end the first sentence or begin the second.
    references = ["one two.", "three four."]
    words = ["One", "two", ".", "So", "here", "three", "four", "."]
    assert sentence_ends(words, references) == [3, 8]
    # Without a sign, words without a partner stay with the sentence before, as mwerSegmenter has it.
    words = ["one", "two", "so", "here", "three", "four", "."]
    assert sentence_ends(words, references) == [4, 7]


def test_a_tie_never_outweighs_an_edit() -> None:
    # The capital behind a full stop is inside the reference's first sentence.
    references = ["one. Two three", "four five"]
    words = ["one", ".", "Two", "three", "four", "five"]
    assert sentence_ends(words, references) == [4, 6]


@pytest.mark.parametrize(
    ("text", "index", "expected"),
    [
        ("so it is . And then", 4, True),
        ("so it is. And then", 3, True),
        ('so it is." And then', 3, True),
        ('so it is . " And then', 4, True),
        ('so it is. "And then', 3, True),
        ("so it is . and then", 4, False),
        ("so it is , And then", 4, False),
        ("so it is . And then", 0, False),
        ("so it is .", 4, False),
        ("so it is . &quot; And", 4, True),
    ],
)
def test_what_looks_like_the_beginning_of_a_sentence(text: str, index: int, expected: bool) -> None:
    assert begins_sentence(text.split(), index) is expected


@pytest.mark.parametrize(
    ("words", "references", "expected"),
    [
        ([], ["a b", "c"], [0, 0]),
        ([], [""], [0]),
        (["a", "b"], [""], [2]),
        (["a", "b"], ["", ""], [2, 2]),
        (["a", "b"], ["", "a b", ""], [0, 2, 2]),
        (["a", "b", "c"], ["a", "", "b c"], [1, 1, 3]),
        (["x"], ["a", "b", "c x d", "e"], [0, 0, 1, 1]),
    ],
)
def test_degenerate_streams(words: list[str], references: list[str], expected: list[int]) -> None:
    assert sentence_ends(words, references) == expected


def test_no_references_at_all_is_an_error() -> None:
    with pytest.raises(InputError, match="a reference without sentences"):
        sentence_ends(["a"], [])


SENTENCES = [[f"s{n}w{m}" for m in range(10)] for n in range(60)]


def test_a_stream_that_wanders_off_for_longer_than_the_band_is_wide() -> None:
    babble = ["um"] * (5 * HALF_WIDTH)
    words = [word for sentence in SENTENCES[:5] for word in sentence] + babble
    words += [word for sentence in SENTENCES[5:] for word in sentence]
    segments = resegment(words, [" ".join(sentence) for sentence in SENTENCES])
    assert segments == [*SENTENCES[:4], SENTENCES[4] + babble, *SENTENCES[5:]]


def test_a_stream_that_leaves_out_more_than_the_band_is_wide() -> None:
    assert 2 * HALF_WIDTH < 20 * 10
    words = [word for sentence in SENTENCES[:20] + SENTENCES[40:] for word in sentence]
    segments = resegment(words, [" ".join(sentence) for sentence in SENTENCES])
    assert segments == [*SENTENCES[:20], *[[]] * 20, *SENTENCES[40:]]


def test_much_left_out_between_words_of_several_pieces() -> None:
    """The edge of the band lies inside one word for sentences on end."""
    sentences = [[f"s{n}-x{m}-y" for m in range(7)] for n in range(60)]
    words = [word for sentence in sentences[:20] + sentences[40:] for word in sentence]
    for start in range(5):
        segments = resegment(words[start:], [" ".join(sentence) for sentence in sentences])
        assert segments == [sentences[0][start:], *sentences[1:20], *[[]] * 20, *sentences[40:]]


def test_many_empty_references_on_end() -> None:
    """The edge of the band lies inside one word all along."""
    before, after = ([f"{part}-x{m}-y" for m in range(HALF_WIDTH)] for part in "ab")
    references = [" ".join(before), *[""] * 30, " ".join(after)]
    for start in range(5):
        segments = resegment([*before[start:], *after], references)
        assert segments == [before[start:], *[[]] * 30, after]


def test_ends_never_step_back() -> None:
    words = ["b", "a", "c", "b", "a"]
    ends = sentence_ends(words, ["a b", "c", "b b", "a"])
    assert ends[-1] == len(words)
    assert all(first <= second for first, second in pairwise([0, *ends]))


@pytest.mark.parametrize("marks", [2 * HALF_WIDTH, 2 * HALF_WIDTH + 1, 10 * HALF_WIDTH])
def test_a_word_of_marks_that_fills_the_band(marks: int) -> None:
    dots, dashes = "." * marks, "-" * marks
    ends = sentence_ends([dots] * 3, [dots[: marks // 2]] * 6)
    assert ends[-1] == 3
    assert all(first <= second for first, second in pairwise([0, *ends]))
    assert resegment(["a", dots, "b", dashes], [f"a {dots}", "", f"b {dashes}"]) == [["a", dots], [], ["b", dashes]]
