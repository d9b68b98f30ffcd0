"""Local agreement commits what the last n drafts have in common."""

from __future__ import annotations

from typing import Any

from tests.policy.drafts import draft
from turia.policy.base import Situation
from turia.policy.localagreement import LocalAgreement


def kept(policy: LocalAgreement, drafts: list[str]) -> list[int]:
    """How many words are kept at each READ; a draft begins after what was committed."""
    memory: dict[str, Any] = {}
    written, found = 0, []
    for read, words in enumerate(drafts, start=1):
        number = policy.keep(Situation(read, written), draft(words), memory)
        found.append(number)
        written += number
    return found


def test_two_drafts_that_agree_commit_their_common_prefix() -> None:
    # "ab", then "abc": a and b are agreed on; then "cd" after them, against "abc" before: c.
    assert kept(LocalAgreement(2), ["ab", "abc", "cd", "xd"]) == [0, 2, 1, 0]


def test_drafts_that_change_commit_nothing() -> None:
    assert kept(LocalAgreement(2), ["a", "b", "a", "b"]) == [0, 0, 0, 0]


def test_three_must_agree_with_n_3() -> None:
    assert kept(LocalAgreement(3), ["abc", "abd", "abd", "d"]) == [0, 0, 2, 1]


def test_with_n_1_the_whole_draft_is_committed() -> None:
    assert kept(LocalAgreement(1), ["ab", "c"]) == [2, 1]


def test_words_that_it_did_not_keep_are_part_of_its_next_drafts() -> None:
    memory: dict[str, Any] = {}
    policy = LocalAgreement(2)
    assert policy.keep(Situation(1, 0), draft("x"), memory) == 0
    assert policy.keep(Situation(2, 0), draft("abc"), memory) == 0
    policy.overrule(["a"], memory)
    assert policy.keep(Situation(3, 1), draft("bcd"), memory) == 2


def test_drafts_with_another_word_in_the_place_of_one_that_was_written_do_not_agree() -> None:
    memory: dict[str, Any] = {}
    policy = LocalAgreement(2)
    assert policy.keep(Situation(1, 0), draft("abc"), memory) == 0
    policy.overrule(["x"], memory)
    assert policy.keep(Situation(2, 1), draft("bc"), memory) == 0
    assert policy.keep(Situation(3, 1), draft("bd"), memory) == 1


def test_its_memory_stays_small() -> None:
    memory: dict[str, Any] = {}
    policy = LocalAgreement(2)
    for read in range(1, 50):
        policy.keep(Situation(read, 0), draft("abc" if read % 2 else "xyz"), memory)
    assert len(memory["drafts"]) == 2
