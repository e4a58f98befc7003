"""Crontab files of tasks: how they are drawn, and what has to be true of them in the end."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date, timedelta

from agentworld_envs.domains.terminal.checks import Check, FileCheck, RunCheck
from agentworld_envs.domains.terminal.draw import TOPICS, Draw
from agentworld_envs.domains.terminal.scenario import Entry, Level, Scenario, file
from agentworld_envs.domains.terminal.schedule import CANON, READER, canonical

TAB = "/workspace/crontab"
VERBS = ("sync", "report", "cleanup", "backup", "rotate", "import", "mail")


def job_names(draw: Draw, count: int) -> list[str]:
    """Names of jobs, no two alike."""
    return draw.some([f"{topic}_{verb}" for topic in TOPICS for verb in VERBS], count)


def command_of_job(draw: Draw, name: str) -> str:
    """What a line of a job runs."""
    return f"/opt/jobs/{name}.sh" + draw.pick(("", "", " --quiet", f" --keep {draw.between(2, 30)}"))


def five_fields(draw: Draw, level: Level) -> str:
    """Five fields; the kinds of them grow with the level."""
    minute, hour = draw.between(0, 59), draw.between(0, 23)
    weekday, day = draw.between(0, 6), draw.between(1, 28)
    plain = [f"{minute} {hour} * * *", f"{minute} {hour} * * {weekday}", f"{minute} {hour} {day} * *"]
    plain += [f"{minute} {hour} * {draw.between(1, 12)} *", f"{minute} {hour} * * 1-5", f"{minute} * * * *"]
    first = draw.between(0, 12)
    ranges = [f"*/{draw.pick((10, 15, 20, 30))} {first}-{first + draw.between(1, 9)} * * 1-5", f"{minute} */6 * * *"]
    ranges += [f"{minute % 30},{minute % 30 + 30} {hour} * * 0,6", f"{minute} {hour} 1,15 * *"]
    ranges += [f"{minute} {first},{first + 11} * * {draw.between(1, 3)}-{draw.between(4, 6)}"]
    rich = [f"{minute} {hour} {day} * {weekday}", f"{minute} {hour} 1-{day} * fri", f"{minute} {hour} * * 7"]
    rich += [f"5-{draw.between(20, 55)}/7 {hour} * * mon-wed", f"{minute} {hour} * jan-{draw.pick(('jun', 'Nov'))} *"]
    rich += [draw.pick(("@daily", "@weekly", "@monthly", "@hourly"))]
    return draw.pick({1: plain, 2: [*plain[:3], *ranges], 3: [*ranges, *rich, *rich]}[level])


def draw_tab(draw: Draw, count: int, level: Level) -> list[str]:
    """A crontab with a comment and a setting; at level 3 also with lines that are no good."""
    lines = [f"{five_fields(draw, level)} {command_of_job(draw, name)}" for name in job_names(draw, count)]
    lines = [f"# jobs of {draw.company()}", "SHELL=/bin/bash", *lines]
    old = f"# {five_fields(draw, 1)} /opt/jobs/{draw.pick(TOPICS)}_old.sh"
    lines.insert(draw.between(2, len(lines)), old)
    if level == 3:
        broken = ("61 4 * * *", "5 24 * * *", "10 3 0 * *", "7 5 * 13 *", "8 6 * *", "every day 4 * *", "9 17-9 * * *")
        for number, when in enumerate(draw.some(broken, 3)):
            lines.insert(draw.between(2, len(lines)), f"{when} /opt/jobs/{draw.pick(TOPICS)}_bad{number}.sh")
        lines = [line if draw.chance(0.8) else f"\t{line}" for line in lines]
        lines.insert(3, "")
    return lines


def some_day(draw: Draw) -> date:
    """A day of 2024."""
    return date(2024, 1, 1) + timedelta(days=draw.between(0, 365))


def tab_scenario(
    lines: Sequence[str],
    instruction: str,
    checks: Sequence[Check],
    solution: Sequence[str],
    *,
    after: Sequence[str] | None = None,
    more: dict[str, str] | None = None,
) -> Scenario:
    """Args: after: what the crontab has to mean in the end; when not given, it has to stay as it is."""
    text = "\n".join(lines) + "\n"
    files: dict[str, Entry] = {TAB: file(text)}
    files |= {f"/workspace/{name}": file(content) for name, content in (more or {}).items()}
    tab: Check = FileCheck(path=TAB, text=text)
    if after is not None:
        argv = ("python3", "-I", "-S", "-c", CANON, TAB)
        tab = RunCheck(argv=argv, stdout=canonical(after), compare="json")
    kept = [FileCheck(path=f"/workspace/{name}", text=content) for name, content in (more or {}).items()]
    return Scenario(instruction, files, [*checks, tab, *kept], solution)


def answer_file(name: str, rows: Sequence[str]) -> FileCheck:
    """A file of the workspace that has to hold these rows."""
    return FileCheck(path=f"/workspace/{name}", text="".join(f"{row}\n" for row in rows))


def python_solution(body: str, target: str) -> list[str]:
    """Solution that reads the crontab with `READER`."""
    return [READER, f"cd /tmp && python3 - > /workspace/{target} <<'END'\nfrom tab import *\n{body}\nEND"]
