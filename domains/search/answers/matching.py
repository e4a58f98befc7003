"""Which answered values stand for which right ones, so that as many as possible are right."""

from __future__ import annotations

from collections.abc import Callable, Sequence


def most_pairs(rows: int, columns: int, fits: Callable[[int, int], bool]) -> dict[int, int]:
    """The largest one-to-one matching (Hopcroft-Karp would be faster; lists are short, and most rows fit one column).

    Args:
        rows, columns: how many there are of each.
        fits: whether a row and a column may be a pair; asked once for each.

    Returns:
        Row -> column.
    """
    options = [[column for column in range(columns) if fits(row, column)] for row in range(rows)]
    row_of: dict[int, int] = {}
    for start in range(rows):
        came_from: dict[int, int] = {}
        queue, end = [start], None
        for row in queue:  # breadth first, and no recursion: lists may be long
            for column in options[row]:
                if column in came_from:
                    continue
                came_from[column] = row
                if column not in row_of:
                    end = column
                    break
                queue.append(row_of[column])
            if end is not None:
                break
        column_of = {row: column for column, row in row_of.items()}
        while end is not None:
            row = came_from[end]
            before = column_of.get(row)
            row_of[end] = row
            end = before if row != start else None
    return {row: column for column, row in row_of.items()}


def longest_common(rows: int, columns: int, fits: Callable[[int, int], bool]) -> int:
    """Length of the longest common subsequence of two sequences whose members are compared by `fits`."""
    best = [0] * (columns + 1)
    for row in range(rows):
        diagonal = 0
        for column in range(columns):
            above = best[column + 1]
            best[column + 1] = diagonal + 1 if fits(row, column) else max(above, best[column])
            diagonal = above
    return best[columns]


def f1(right: int, given: int, wanted: int) -> tuple[float, float, float]:
    """Precision, recall and F1; all 1 where nothing was wanted and nothing was given."""
    if not given and not wanted:
        return 1.0, 1.0, 1.0
    precision = right / given if given else 0.0
    recall = right / wanted if wanted else 0.0
    return precision, recall, 2 * precision * recall / (precision + recall) if right else 0.0


def distinct(items: Sequence[str], key: Callable[[str], str]) -> list[str]:
    """The items without those whose key came before."""
    return list({key(item): item for item in reversed(items)}.values())[::-1]
