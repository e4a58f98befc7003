"""`score`: rows, answers and judgements into the numbers of a run."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from agentworld_envs.evaluation.agentworldbench.answers import Answer, prediction_digest, read_answer
from agentworld_envs.evaluation.agentworldbench.companion import MEASURES, Likeness
from agentworld_envs.evaluation.agentworldbench.judge import read_judgement
from agentworld_envs.evaluation.agentworldbench.rows import DOMAINS, Row, RowSet
from agentworld_envs.evaluation.agentworldbench.statistics import bootstrap, macro, micro, normalise
from agentworld_envs.evaluation.agentworldbench.verdict import DIMENSIONS, Judgement

LOWEST: Final = 1.0
"""Total of a failure that counts as 0 of 100."""
NOT_ANSWERED: Final = "not_answered"
NOT_JUDGED: Final = "not_judged"
PENDING: Final = (NOT_ANSWERED, NOT_JUDGED)
"""What a later run may still bring, and is no failure."""


@dataclass(frozen=True, slots=True)
class Scored:
    """One row with all that is known of it."""

    row: Row
    answer: Answer | None
    """`None` when it was not asked."""
    likeness: Likeness | None
    judgement: Judgement | None
    """`None` when there is no usable one."""
    failure: str | None
    """Why there is none: `answer:KIND`, `judge:KIND`, or one of `PENDING`."""

    @property
    def total(self) -> float | None:
        """Mean of the judge's scores, 1 to 5."""
        return None if self.judgement is None else self.judgement.total


def score_rows(
    rows: Sequence[Row],
    answers: Mapping[str, Mapping[str, Any]],
    judgements: Mapping[str, Mapping[str, Any]],
    likenesses: Mapping[str, Likeness],
    prefill: str = "",
) -> list[Scored]:
    """Bring each row together with its answer and its judgement.

    Args:
        rows: the questions. answers, judgements: row key -> line of the journal.
        likenesses: row key -> what needs no judge, from `measure`.
        prefill: what the simulator's answers were begun with.
    """
    return [
        _scored(row, answers.get(row.key), judgements.get(row.key), likenesses.get(row.key), prefill) for row in rows
    ]


def _scored(
    row: Row,
    answered: Mapping[str, Any] | None,
    judged: Mapping[str, Any] | None,
    alike: Likeness | None,
    prefill: str,
) -> Scored:
    if answered is None:
        return Scored(row, None, None, None, NOT_ANSWERED)
    answer = read_answer(answered, prefill)
    if answer.failed:
        return Scored(row, answer, alike, None, f"answer:{answer.kinds[0].removeprefix('failure:')}")
    if judged is None or judged.get("answer") != prediction_digest(answer):
        return Scored(row, answer, alike, None, NOT_JUDGED)
    judgement = read_judgement(judged)
    if not isinstance(judgement, Judgement):
        return Scored(row, answer, alike, None, f"judge:{judgement.kind.removeprefix('failure:')}")
    return Scored(row, answer, alike, judgement, None)


def summarise(
    found: RowSet,
    scored: Sequence[Scored],
    answers: Mapping[str, Mapping[str, Any]],
    judgements: Mapping[str, Mapping[str, Any]],
    *,
    seed: int = 0,
    judged: bool = True,
) -> dict[str, Any]:
    """The numbers of a run, plain JSON.

    The judge's scores stand in two versions: `dropped` leaves failures out of the means, as published; `as_zero`
    counts each of them as 0 of 100. Rows that were not asked or not judged yet are in neither: `not_answered` and
    `not_judged` count them. Intervals are 95 %, by trajectory (see `bootstrap`).

    Args:
        found: what was read. scored: from `score_rows`. answers, judgements: row key -> line of the journal.
        seed: of the intervals.
        judged: whether there was a judge at all.
    """
    names = [name for name in DOMAINS if any(one.row.domain == name for one in scored)]
    names += sorted({one.row.domain for one in scored} - set(names))
    groups = {name: [one for one in scored if one.row.domain == name] for name in names}
    keys = [one.row.key for one in scored]
    summary: dict[str, Any] = {
        "rows": {
            "lines": found.lines,
            "usable": len(found.rows),
            "beyond_limit": found.beyond_limit,
            "other_domains": found.other_domains,
            "defects": found.counts(),
            "missing_files": found.missing,
            "trajectories": len({one.row.trajectory for one in scored}),
        },
        "domains": {name: _domain(group) for name, group in groups.items()},
        "notes": _counted(note for one in scored if one.answer for note in answers[one.row.key].get("notes", ())),
        "not_answered": sum(one.failure == NOT_ANSWERED for one in scored),
        "failures": _counted(one.failure for one in scored if one.failure and one.failure not in PENDING),
        "answers": _counted(kind for one in scored if one.answer for kind in one.answer.kinds),
        "companion": _overall(groups, _companion_values, seed),
        "usage": {"answers": _usage(answers, keys), "judgements": _usage(judgements, keys)},
    }
    if judged:
        summary["not_judged"] = sum(one.failure == NOT_JUDGED for one in scored)
        summary["judgements"] = _counted(
            kind for one in scored if one.judgement for kind in (one.judgement.kinds or ("ok",))
        )
        summary["judge"] = _overall(groups, _judge_values, seed)
    return summary


def _domain(group: Sequence[Scored]) -> dict[str, Any]:
    judged = [one.judgement for one in group if one.judgement is not None]
    return {
        "rows": len(group),
        "trajectories": len({one.row.trajectory for one in group}),
        "answered": sum(one.answer is not None and not one.answer.failed for one in group),
        "judged": len(judged),
        "raw_mean": _mean([judgement.total for judgement in judged]),
        "dimensions": {
            name: _mean([float(j.scores[name]) for j in judged if j.scores[name] > 0]) for name in DIMENSIONS
        },
    }


Values = Callable[[Scored], dict[str, float | None]]


def _judge_values(one: Scored) -> dict[str, float | None]:
    """Raw totals, by version. They are normalised after the mean, as published."""
    failed = one.failure is not None and one.failure not in PENDING
    return {"dropped": one.total, "as_zero": LOWEST if failed else one.total}


def _companion_values(one: Scored) -> dict[str, float | None]:
    """Zeros for an answer that failed, nothing for a row that was not asked yet."""
    return {name: None if one.likeness is None else getattr(one.likeness, name) for name in MEASURES}


def _overall(groups: Mapping[str, Sequence[Scored]], values: Values, seed: int) -> dict[str, Any]:
    """For each version: macro, micro and the domains, each with its interval, on a scale of 0 to 100."""
    scale = normalise if values is _judge_values else _percent
    table: dict[str, dict[str, dict[str, list[float]]]] = {}
    for name, group in groups.items():
        for one in group:
            for version, value in values(one).items():
                clusters = table.setdefault(version, {}).setdefault(name, {})
                if value is not None:
                    clusters.setdefault(one.row.trajectory, []).append(value)
    found: dict[str, Any] = {}
    for version, domains in table.items():
        flat = {name: [value for values in clusters.values() for value in values] for name, clusters in domains.items()}
        flat = {name: items for name, items in flat.items() if items}
        means = {name: sum(items) / len(items) for name, items in flat.items()}
        counts = {name: len(items) for name, items in flat.items()}
        intervals = bootstrap(domains, seed)

        def entry(name: str, mean: float, intervals: Mapping[str, tuple[float, float]] = intervals) -> dict[str, Any]:
            return {"score": scale(mean), "interval": [scale(bound) for bound in intervals[name]]}

        found[version] = {
            "macro": entry("macro", macro(means)) if means else None,
            "micro": entry("micro", micro(means, counts)) if means else None,
            "rows": sum(counts.values()),
            "domains": {name: {**entry(name, mean), "rows": counts[name]} for name, mean in means.items()},
            "domains_without_rows": sorted(set(domains) - set(means)),
        }
    return found


def _percent(share: float) -> float:
    return share * 100.0


def _mean(values: Sequence[float]) -> float | None:
    return sum(values) / len(values) if values else None


def _counted(kinds: Any) -> dict[str, int]:
    """Most frequent first."""
    return dict(sorted(Counter(kinds).items(), key=lambda item: (-item[1], item[0])))


def _usage(lines: Mapping[str, Mapping[str, Any]], keys: Sequence[str]) -> dict[str, float]:
    """Sum over the lines of these rows: a journal may hold more than the rows of this run."""
    total: Counter[str] = Counter()
    for line in (lines[key] for key in keys if key in lines):
        total.update({name: value for name, value in line.get("usage", {}).items() if name != "seconds"})
    return dict(sorted(total.items()))
