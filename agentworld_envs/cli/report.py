"""Numbers of a rollout in words, for one summary and for tables of several."""

from __future__ import annotations

from rich.console import Console

from agentworld_envs.agents import RolloutSummary
from agentworld_envs.cli.console import plain_table, say
from agentworld_envs.interface import Usage


def success_text(summary: RolloutSummary) -> str:
    """Rate, counts and interval, or that there is none."""
    rate, interval = summary.success_rate, summary.success_interval
    if rate is None or interval is None:
        return "no valid reward"
    low, high = interval
    return f"{_percent(rate)} ({summary.successes}/{summary.n_valid}), 95 % interval {low * 100:.0f}-{_percent(high)}"


def counts_text(summary: RolloutSummary) -> str:
    """Rate with counts, for a narrow column."""
    rate = summary.success_rate
    return "-" if rate is None else f"{summary.successes}/{summary.n_valid} ({_percent(rate)})"


def tokens_text(usage: Usage) -> str:
    """Prompt and completion tokens, thinking, cassette hits, retries and cost, as far as there are any."""
    if not (usage.prompt_tokens or usage.completion_tokens or usage.cache_hits):
        return "none"
    parts = [f"{usage.prompt_tokens:,} prompt", f"{usage.completion_tokens:,} completion"]
    if usage.reasoning_tokens:
        parts.append(f"{usage.reasoning_tokens:,} of it thinking")
    if usage.cache_hits:
        parts.append(f"{usage.cache_hits:,} answers from the cassette")
    if usage.retries:
        parts.append(f"{usage.retries:,} retries")
    if usage.cost:
        parts.append(f"${usage.cost:.4f}")
    return ", ".join(parts)


def failures_text(summary: RolloutSummary) -> str:
    """Kinds with counts."""
    return ", ".join(f"{kind} x{count}" for kind, count in summary.failures.items()) or "none"


def faults_text(summary: RolloutSummary) -> str:
    """What went wrong on purpose: kinds with counts."""
    return ", ".join(f"{kind} x{count.injected}" for kind, count in summary.faults.items()) or "none"


def obedience_text(summary: RolloutSummary) -> str:
    """How many of the faults that a world model was told to make it made; empty when it was told none."""
    counts = {kind: count for kind, count in summary.faults.items() if count.told}
    if not counts:
        return ""
    made = sum(count.obeyed for count in counts.values())
    known = sum(count.obeyed + count.disobeyed for count in counts.values())
    rate = f"{_percent(made / known)} ({made}/{known})" if known else "nothing to go by"
    kinds = ", ".join(f"{kind} {c.obeyed}/{c.obeyed + c.disobeyed}" for kind, c in counts.items())
    open_ = sum(count.told for count in counts.values()) - known
    return f"{rate}: {kinds}" + (f"; of {open_} more the answers do not tell" if open_ else "")


def speed_text(summary: RolloutSummary) -> str:
    """Steps per second, with decimals where they matter."""
    return f"{summary.steps_per_s:,.2f}" if summary.steps_per_s < 10 else f"{summary.steps_per_s:,.0f}"


def print_summary(console: Console, summary: RolloutSummary, title: str) -> None:
    """The table of one rollout, and what has to be said plainly below it."""
    unfinished = summary.requested - summary.n
    say(console, title, style="bold")
    table = plain_table("", "")
    table.show_header = False
    table.columns[0].no_wrap = True
    episodes = f"{summary.n} of {summary.requested}, interrupted" if unfinished else str(summary.n)
    table.add_row("episodes", episodes)
    table.add_row("valid rewards", f"{summary.n_valid}/{summary.n}")
    table.add_row("success", success_text(summary))
    if summary.mean_score is not None and summary.mean_steps is not None:
        table.add_row("mean score", f"{summary.mean_score:.3f}")
        table.add_row("mean steps", f"{summary.mean_steps:.1f}")
    table.add_row("speed", f"{speed_text(summary)} steps/s ({summary.steps:,} steps in {summary.seconds:,.2f} s)")
    for line, usage in sorted(summary.usage.items()):
        if line not in ("world", "sandbox") and tokens_text(usage) != "none":
            table.add_row(f"tokens, {line}", tokens_text(usage))
    table.add_row("failures", failures_text(summary))
    if summary.faults:
        table.add_row("faults on purpose", faults_text(summary))
    if obedience_text(summary):
        table.add_row("obeyed", obedience_text(summary))
    console.print(table)
    _print_problems(console, summary)


def _print_problems(console: Console, summary: RolloutSummary) -> None:
    messages = {e.failure: e.message for e in reversed(summary.episodes) if e.status != "valid" and e.failure}
    for kind, message in messages.items():
        say(console, f"{kind}: {message}", style="yellow")
    if summary.n and not summary.n_valid:
        say(
            console,
            "No episode has a valid reward: this run says nothing about success. "
            "Fix the failures above; they are not the agent's score.",
            style="bold red",
        )


def _percent(rate: float) -> str:
    return f"{rate * 100:.1f} %" if 0 < rate < 1 else f"{rate * 100:.0f} %"
