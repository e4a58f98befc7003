"""Turn masking: measures, classes and draws on examples that can be counted by hand."""

from __future__ import annotations

import subprocess
import sys

import pytest

from agentworld_envs.interface import ConfigError
from agentworld_envs.training.masking import (
    CLASSES,
    KEPT_SHARE,
    MaskClass,
    Similarity,
    classify_turn,
    digest,
    keeps,
    measure,
)


def words(start: int, stop: int) -> str:
    return " ".join(f"w{number}" for number in range(start, stop))


def test_measures_are_those_of_the_definitions() -> None:
    # Shingles: "a b", "b c", "c d" against "b c", "c d", "d e", "e f".
    found = measure("b C d, e f!", ["a b c d"])
    assert found.overlap == pytest.approx(100 * 2 / 3)
    assert found.novelty == pytest.approx(100 * 2 / 4)
    assert found.jaccard == pytest.approx(2 / 5)
    assert found.length_ratio == pytest.approx(5 / 4)
    assert found.words == 5


def test_the_reference_is_the_most_similar_text_and_of_equals_the_latest() -> None:
    found = measure(words(0, 10), [words(0, 5), words(0, 10), words(50, 60)])
    assert (found.overlap, found.novelty, found.jaccard, found.length_ratio) == (100, 0, 1, 1)
    # Nothing in common with anything: compared with the action, which comes last.
    assert measure(words(0, 10), [words(50, 99), words(20, 25)]).length_ratio == 2


@pytest.mark.parametrize(
    ("observation", "history", "expected"),
    [
        ("", [], Similarity(100, 0, 1, 0, 0)),
        ("", ["go"], Similarity(0, 0, 0, 0, 0)),
        ("... --- !", [""], Similarity(100, 0, 1, 0, 0)),
        ("ok", [], Similarity(0, 100, 0, 1, 1)),
        ("OK", ["ok"], Similarity(100, 0, 1, 1, 1)),
    ],
)
def test_measures_of_next_to_nothing(observation: str, history: list[str], expected: Similarity) -> None:
    assert measure(observation, history) == expected


@pytest.mark.parametrize(
    ("observation", "history", "expected"),
    [
        # A short question and a long answer that is new: Nov 100, R 20.
        (words(100, 140), [words(0, 2)], "retrieval"),
        # The old screen and as much again: OL 100, Nov 51, R 2.
        (words(0, 40), [words(0, 20)], "expansion"),
        # A short answer without what was asked: Nov 100, R 0.5.
        ("Nothing happens.", ["put the mug in the fridge"], "action"),
        # Half new and shorter: 5 of 9 shingles new, R 0.5.
        (words(15, 25), [words(0, 20)], "action"),
        # An extract with a few new words: 3 of 9 shingles new, R 0.5.
        (words(13, 23), [words(0, 20)], "transform"),
        # The same form with other contents, and not shorter: 8 of 19 shingles new, R 1.
        (words(8, 28), [words(0, 20)], "boilerplate"),
        # The same again.
        (words(0, 20), [words(0, 20), "look"], "echo"),
        # Nearly the same again: 2 of 21 shingles new.
        (words(0, 22), [words(0, 20), "look"], "echo"),
        # Half new, longer, but not by half, and not short: Nov 54, OL 52, R 1.2.
        (words(9, 33), [words(0, 20)], "other"),
    ],
)
def test_classes(observation: str, history: list[str], expected: MaskClass) -> None:
    assert classify_turn(measure(observation, history)) == expected


def test_every_class_has_an_example_and_the_share_of_the_report() -> None:
    assert set(CLASSES) == set(KEPT_SHARE)
    assert [KEPT_SHARE[kind] for kind in CLASSES] == [1.0, 1.0, 1.0, 0.5, 0.1, 0.05, 1.0]


@pytest.mark.parametrize("kind", CLASSES)
def test_the_kept_share_is_met(kind: MaskClass) -> None:
    size = 4_000
    kept = sum(keeps(kind, digest("turn", number), 7) for number in range(size))
    share = KEPT_SHARE[kind]
    deviation = (share * (1 - share) / size) ** 0.5
    assert abs(kept / size - share) <= 4 * deviation


def test_a_draw_is_the_same_in_every_process_and_differs_by_seed() -> None:
    code = (
        "from agentworld_envs.training.masking import keeps, digest;"
        "print([keeps('transform', digest('t', i, '\\ud800'), 3) for i in range(64)])"
    )
    other = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.strip()
    here = [keeps("transform", digest("t", i, "\ud800"), 3) for i in range(64)]
    assert other == str(here)
    assert here != [keeps("transform", digest("t", i, "\ud800"), 4) for i in range(64)]


def test_a_negative_seed_is_refused() -> None:
    with pytest.raises(ConfigError, match="at least 0"):
        keeps("echo", digest("t"), -1)
