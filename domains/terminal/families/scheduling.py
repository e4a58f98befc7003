"""Crontab files: what runs when, what collides, and lines that have to be changed. All dates are fixed."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date, datetime, timedelta

import numpy as np

from agentworld_envs.domains.terminal.checks import FileCheck, RunCheck
from agentworld_envs.domains.terminal.crontabs import (
    TAB,
    answer_file,
    command_of_job,
    draw_tab,
    job_names,
    python_solution,
    some_day,
    tab_scenario,
)
from agentworld_envs.domains.terminal.draw import Draw
from agentworld_envs.domains.terminal.scenario import Level, Scenario
from agentworld_envs.domains.terminal.schedule import canonical, jobs, parse, runs

_RULES = (
    "As usual, day of week 0 and 7 are Sunday, and if both day of month and day of week are something else than *, a "
    "day that fits either of them counts."
)
_NAMED = "A job's name is the file name of its command without .sh."


def build(rng: np.random.Generator, level: Level) -> Scenario:
    """Level 1: plain lines; what runs on a day, and changing or switching off one job; 2: ranges and lists, counts over
    days, next runs, starts at the same minute, new jobs; 3: all of the syntax with lines to skip, runs that overlap,
    a file to correct by a list of wishes or until nothing collides."""
    draw = Draw(rng)
    makers = {
        1: (_on_day, _times, _change, _switch_off),
        2: (_counts, _next, _together, _add),
        3: (_month, _overlaps, _wishes, _spread),
    }
    return draw.pick(makers[level])(draw)


# -- level 1 -------------------------------------------------------------------------------------------------------


def _on_day(draw: Draw) -> Scenario:
    lines = draw_tab(draw, draw.between(9, 13), 1)
    day = some_day(draw)
    names = sorted(job.name for job in jobs(lines) if job.on(day))
    if not names:
        return _on_day(draw)
    return tab_scenario(
        lines,
        f"Which jobs of {TAB} (in the usual crontab format, without a column for users) run at least once on {day}? "
        f"Write their names to /workspace/jobs.txt, one per line, sorted as by `LC_ALL=C sort`. {_NAMED} Lines with # "
        "are no jobs.",
        [answer_file("jobs.txt", names)],
        python_solution(f"print('\\n'.join(sorted(n for n, f in read() if times(f, '{day}', 1))))", "jobs.txt"),
    )


def _times(draw: Draw) -> Scenario:
    lines = draw_tab(draw, draw.between(7, 10), 1)
    day = some_day(draw)
    job = draw.pick(jobs(lines))
    if not job.on(day):
        return _times(draw)
    return tab_scenario(
        lines,
        f"At what times does the job {job.name} of the crontab {TAB} run on {day}? Write them as hh:mm (24 hours, two "
        f"digits each), one per line and in order, to /workspace/times.txt. {_NAMED}",
        [answer_file("times.txt", [f"{when:%H:%M}" for when in job.on(day)])],
        python_solution(
            f"print(*[t.strftime('%H:%M') for n, f in read() if n == '{job.name}' for t in times(f, '{day}', 1)], "
            "sep='\\n')",
            "times.txt",
        ),
    )


def _index(lines: Sequence[str], name: str) -> int:
    return next(place for place, line in enumerate(lines) if (job := parse(line)) is not None and job.name == name)


def _wish(draw: Draw) -> tuple[str, str]:
    """A schedule in words and as five fields."""
    minute, hour = draw.between(1, 59), draw.between(0, 23)
    clock, start = f"{hour:02d}:{minute:02d}", draw.between(6, 10)
    end, step, day = start + draw.between(3, 9), draw.pick((5, 10, 15, 20, 30)), draw.between(2, 28)
    return draw.pick(
        (
            (f"every day at {clock}", f"{minute} {hour} * * *"),
            (f"from Monday to Friday at {clock}", f"{minute} {hour} * * 1-5"),
            (f"on Saturdays and Sundays at {clock}", f"{minute} {hour} * * 0,6"),
            (f"on day {day} of every month at {clock}", f"{minute} {hour} {day} * *"),
            (f"on the first day of January, April, July and October at {clock}", f"{minute} {hour} 1 1,4,7,10 *"),
            (
                f"every day every {step} minutes, first at {start:02d}:00 and last at {end:02d}:{60 - step}",
                f"*/{step} {start}-{end} * * *",
            ),
        )
    )


def _change(draw: Draw) -> Scenario:
    lines = draw_tab(draw, draw.between(6, 9), 1)
    job = draw.pick(jobs(lines))
    words, when = _wish(draw)
    place = _index(lines, job.name)
    after = [*lines[:place], f"{when} {job.command}", *lines[place + 1 :]]
    if canonical(after) == canonical(lines):
        return _change(draw)
    return tab_scenario(
        lines,
        f"Change {TAB} so that the job {job.name} runs {words}, and at no other time. Its command, the order of the "
        f"lines, and all other lines stay as they are. {_NAMED}",
        [_comments(lines)],
        [f"sed -i '\\,^[0-9*].*/{job.name}\\.sh, s;^.* /opt;{when} /opt;' crontab"],
        after=after,
    )


def _comments(lines: Sequence[str]) -> RunCheck:
    """Lines of comments are still there; there may be more of them."""
    wanted = [line for line in lines if line.startswith("#")]
    program = "import sys; print(all(w in open(sys.argv[1]).read().split('\\n') for w in sys.argv[2:]))"
    return RunCheck(argv=("python3", "-I", "-S", "-c", program, TAB, *wanted), stdout="True\n")


def _switch_off(draw: Draw) -> Scenario:
    lines = draw_tab(draw, draw.between(7, 11), 1)
    off = draw.some([job.name for job in jobs(lines)], draw.between(1, 2))
    after = [f"#{line}" if (job := parse(line)) is not None and job.name in off else line for line in lines]
    return tab_scenario(
        lines,
        f"Switch off {' and '.join(off)} in the crontab {TAB}: put a # and nothing else in front of the line, so "
        f"that it can be switched on again later. All other lines stay as they are. {_NAMED}",
        [FileCheck(path=TAB, text="\n".join(after) + "\n")],
        ["sed -i " + " ".join(f"-e '/^[0-9*].*{name}.sh/ s/^/#/'" for name in off) + " crontab"],
        after=after,
    )


# -- level 2 -------------------------------------------------------------------------------------------------------


def _counts(draw: Draw) -> Scenario:
    lines = draw_tab(draw, draw.between(8, 12), 2)
    first = some_day(draw)
    days = draw.between(5, 14)
    last = first + timedelta(days=days - 1)
    counts = [(len(runs(job, first, last)), job.name) for job in jobs(lines)]
    rows = [f"{name} {count}" for count, name in sorted(counts, key=lambda row: (-row[0], row[1])) if count]
    return tab_scenario(
        lines,
        f"How often does each job of the crontab {TAB} run from {first} to {last}, both days included? Write `name "
        "count` lines to /workspace/counts.txt, the highest count first and equal counts in the order of `LC_ALL=C "
        f"sort` of the names; leave out jobs that do not run. {_NAMED} {_RULES}",
        [answer_file("counts.txt", rows)],
        python_solution(
            f"c = sorted((-len(times(f, '{first}', {days})), n) for n, f in read())\n"
            "print('\\n'.join(f'{n} {-k}' for k, n in c if k))",
            "counts.txt",
        ),
    )


def _next(draw: Draw) -> Scenario:
    lines = draw_tab(draw, draw.between(6, 9), 2)
    now = datetime.combine(some_day(draw), datetime.min.time()) + timedelta(minutes=draw.between(0, 1_439))
    job = draw.pick(jobs(lines))
    count = draw.between(3, 6)
    coming = [when for when in runs(job, now.date(), now.date() + timedelta(days=80)) if when > now]
    exact = draw.chance(0.4) and len(coming) > count
    if exact:  # a run at that very moment is not after it
        now = coming.pop(0)
    if len(coming) < count:
        return _next(draw)
    return tab_scenario(
        lines,
        f"Suppose it is {now:%Y-%m-%d %H:%M}. When are the next {count} runs of the job {job.name} in the crontab "
        f"{TAB}, all after that moment? Write them to /workspace/next.txt as `YYYY-MM-DD hh:mm`, one per line, the "
        f"earliest first. {_NAMED} {_RULES}",
        [answer_file("next.txt", [f"{when:%Y-%m-%d %H:%M}" for when in coming[:count]])],
        python_solution(
            f"t = [t for n, f in read() if n == '{job.name}' for t in times(f, '{now.date()}', 81)]\n"
            f"print(*[str(x)[:16] for x in t if str(x)[:16] > '{now:%Y-%m-%d %H:%M}'][:{count}], sep='\\n')",
            "next.txt",
        ),
    )


def _together(draw: Draw) -> Scenario:
    day = some_day(draw)
    lines = draw_tab(draw, 7, 2)
    clocks = [(draw.between(0, 59), draw.between(0, 23)) for _ in range(3)]
    extra = [f"{m} {h} * * *" for m, h in clocks] + [f"{m} {h},{(h + 1) % 24} {day.day} * *" for m, h in clocks[:2]]
    used = {job.name for job in jobs(lines)}
    for when, name in zip(extra, [name for name in job_names(draw, 20) if name not in used], strict=False):
        lines.insert(draw.between(2, len(lines)), f"{when} {command_of_job(draw, name)}")
    starts: dict[datetime, list[str]] = {}
    for job in jobs(lines):
        for moment in job.on(day):
            starts.setdefault(moment, []).append(job.name)
    rows = [f"{start:%H:%M} {' '.join(sorted(found))}" for start, found in sorted(starts.items()) if len(found) > 1]
    return tab_scenario(
        lines,
        f"On {day}, some jobs of the crontab {TAB} start in the same minute. Write one line to "
        "/workspace/together.txt for each minute in which two or more start: the time as hh:mm and the names of these "
        f"jobs, sorted as by `LC_ALL=C sort`, with single blanks in between; the lines in the order of time. {_NAMED} "
        f"{_RULES}",
        [answer_file("together.txt", rows)],
        python_solution(
            f"d = {{}}\nfor n, f in read():\n    for t in times(f, '{day}', 1): d.setdefault(t.strftime('%H:%M'), "
            "[]).append(n)\nprint(*[k + ' ' + ' '.join(sorted(d[k])) for k in sorted(d) if len(d[k]) > 1], sep='\\n')",
            "together.txt",
        ),
    )


def _add(draw: Draw) -> Scenario:
    lines = draw_tab(draw, draw.between(5, 8), 2)
    used = {job.name for job in jobs(lines)}
    names = [name for name in job_names(draw, 30) if name not in used][: draw.between(2, 3)]
    wishes = [_wish(draw) for _ in names]
    new = [f"{when} /opt/jobs/{name}.sh" for name, (_, when) in zip(names, wishes, strict=True)]
    asked = "; ".join(f"/opt/jobs/{name}.sh {words}" for name, (words, _) in zip(names, wishes, strict=True))
    gone = draw.pick([job.name for job in jobs(lines)])
    place = _index(lines, gone)
    after = [*lines[:place], *lines[place + 1 :], *new]
    appended = "\\n".join(new)
    return tab_scenario(
        lines,
        f"In the crontab {TAB}, remove the line of the job {gone}, and add these jobs at the end, in this order and "
        f"with exactly these commands: {asked}. All other lines stay as they are. {_NAMED}",
        [_comments(lines)],
        [f"sed -i '/^[^#].*{gone}.sh/d' crontab && printf '{appended}\\n' >> crontab"],
        after=after,
    )


# -- level 3 -------------------------------------------------------------------------------------------------------

_SKIP = (
    "Skip comments, settings (NAME=value), and lines that are no valid crontab lines: too few fields, or a value that "
    "is out of its range, or a range that goes backwards. Names of months and days count in any case, and so do "
    "@hourly, @daily, @weekly and @monthly."
)


def _month(draw: Draw) -> Scenario:
    lines = draw_tab(draw, draw.between(9, 13), 3)
    first = date(2024, draw.between(1, 12), 1)
    last = (first + timedelta(days=32)).replace(day=1) - timedelta(days=1)
    rows = sorted(f"{job.name} {len(runs(job, first, last))}" for job in jobs(lines))
    return tab_scenario(
        lines,
        f"How often does each job of the crontab {TAB} run in the month {first:%Y-%m}? Write a line `name count` for "
        "every job, with 0 for those that do not run, to /workspace/month.txt, sorted as by `LC_ALL=C sort`. "
        f"{_NAMED} {_SKIP} {_RULES}",
        [answer_file("month.txt", rows)],
        python_solution(
            f"print(*sorted(n + ' ' + str(len(times(f, '{first}', {last.day}))) for n, f in read()), sep='\\n')",
            "month.txt",
        ),
    )


def _overlaps(draw: Draw) -> Scenario:
    lines = draw_tab(draw, draw.between(7, 9), 3)
    day = some_day(draw)
    found = jobs(lines)
    minutes = {job.name: draw.between(3, 55) for job in found}
    pairs = {
        f"{job.name} {other.name}"
        for job in found
        for other in found
        if job.name < other.name
        and any(_overlap(a, minutes[job.name], b, minutes[other.name]) for a in job.on(day) for b in other.on(day))
    }
    if not pairs or len(pairs) > 12:
        return _overlaps(draw)
    table = [f"{name},{value}" for name, value in draw.shuffled(sorted(minutes.items()))]
    return tab_scenario(
        lines,
        "/workspace/minutes.csv says for each job how many minutes each of its runs takes. Which jobs of the crontab "
        f"{TAB} get into each other's way on {day}? Two do if some run of one and some run of the other, both "
        "started on that day, are under way at the same time; a run that ends in the minute in which the other one "
        "starts is not in its way (10:00 with 15 minutes ends at 10:15). Write each such pair once to "
        "/workspace/pairs.txt, as two names with a blank in between, each pair and then the lines sorted as by "
        f"`LC_ALL=C sort`. {_NAMED} {_SKIP} {_RULES}",
        [answer_file("pairs.txt", sorted(pairs))],
        python_solution(
            "m = {k: int(v) for k, v in (x.strip().split(',') for x in open('/workspace/minutes.csv'))}\n"
            f"r = sorted((n, [t.hour * 60 + t.minute for t in times(f, '{day}', 1)]) for n, f in read())\n"
            "print('\\n'.join(sorted(a + ' ' + b for i, (a, x) in enumerate(r) for b, y in r[i + 1:] "
            "if any(s < t + m[b] and t < s + m[a] for s in x for t in y))))",
            "pairs.txt",
        ),
        more={"minutes.csv": "\n".join(table) + "\n"},
    )


def _overlap(start: datetime, length: int, other: datetime, other_length: int) -> bool:
    return start < other + timedelta(minutes=other_length) and other < start + timedelta(minutes=length)


def _wishes(draw: Draw) -> Scenario:
    names = job_names(draw, draw.between(7, 9))
    wishes = {name: _wish(draw) for name in names}
    wrong = draw.some(names, draw.between(3, 4))
    lines = [f"# jobs of {draw.company()}", "MAILTO=ops"]
    after = list(lines)
    commands = {name: command_of_job(draw, name) for name in names}
    for number, name in enumerate(draw.shuffled(names)):
        right = f"{wishes[name][1]} {commands[name]}"
        now = _spoil(draw, wishes[name][1]) if name in wrong else wishes[name][1]
        if number == 3:
            lines.append(f"# {wishes[name][1]} {commands[name]} (as it was before)")
            after.append(lines[-1])
        lines.append(f"{now} {commands[name]}")
        after.append(right)
    sheet = "".join(f"{name}: {wishes[name][0]}\n" for name in sorted(names))
    fixes = " ".join(f"-e '/^[0-9*].*\\/{name}.sh/ s;^.* /opt;{wishes[name][1]} /opt;'" for name in wrong)
    count = len(wrong)
    return tab_scenario(
        lines,
        f"/workspace/wishes.txt says when each job shall run, and at no other times. Some lines of the crontab {TAB} "
        "do something else. Correct the times in these lines, and leave their commands, the order of the lines and "
        "all lines that are right already as they are. Write the number of lines that you had to correct to "
        f"/workspace/corrected.txt. {_NAMED}",
        [_comments(lines), answer_file("corrected.txt", [str(count)])],
        [f"sed -i {fixes} crontab; echo {count} > corrected.txt"],
        after=after,
        more={"wishes.txt": sheet},
    )


def _spoil(draw: Draw, when: str) -> str:
    """Other times that look much like these."""
    minute, hour, day, month, weekday = when.split()
    swapped = (
        f"{hour.partition('-')[0]} {minute if minute.isdigit() and int(minute) < 24 else '5'} {day} {month} {weekday}"
    )
    later = f"{minute} {int(hour) + 12 if hour.isdigit() and int(hour) < 12 else '11'} {day} {month} {weekday}"
    other_days = {"*": "1-5", "1-5": "1-6", "0,6": "6"}[weekday]
    options = [swapped, later, f"{minute} {hour} {day} {month} {other_days}"]
    return draw.pick([o for o in options if canonical([f"{o} x"]) != canonical([f"{when} x"])])


def _spread(draw: Draw) -> Scenario:
    """Daily jobs at the same minute move on until nothing collides; the rule makes the result unique."""
    names = job_names(draw, 11)
    clocks = [(draw.between(0, 23), draw.pick((0, 15, 30, 50, 55))) for _ in range(4)]
    clocks.append((23, 55))
    step = draw.pick((5, 10))
    lines = [f"# nightly jobs of {draw.company()}", "SHELL=/bin/sh"]
    after, taken, moved = list(lines), set[int](), []
    for name in names:
        hour, minute = draw.pick(clocks)
        command = command_of_job(draw, name)
        lines.append(f"{minute} {hour} * * * {command}")
        place = hour * 60 + minute
        while place in taken:
            place = (place + step) % 1_440
        if place != hour * 60 + minute:
            moved.append(name)
        taken.add(place)
        after.append(f"{place % 60} {place // 60} * * * {command}")
        if draw.chance(0.15):
            lines.append(f"# {minute + 1} {hour} * * * {command}")
            after.append(lines[-1])
    return tab_scenario(
        lines,
        f"All jobs of the crontab {TAB} run daily at one time, but some at the same time. Go through the jobs from "
        "top to bottom: as long as a job has the same time as any job above it (with the times that those have by "
        f"then), move it {step} minutes later; after 23:59 the clock goes on at 00:00. Change only these two fields "
        "of these lines, and keep the order of the lines. Write the names of the jobs that were moved, sorted as by "
        f"`LC_ALL=C sort`, to /workspace/moved.txt. {_NAMED} Lines with # stay as they are.",
        [_comments(lines), answer_file("moved.txt", sorted(moved))],
        [
            f"awk '/^[0-9]/ {{ t = $2 * 60 + $1; o = t; while (t in s) t = (t + {step}) % 1440; s[t] = 1; if (t != o) "
            f'{{ c = $6; sub(/.*\\//, "", c); sub(/\\.sh/, "", c); print c > "/tmp/moved" '
            '} sub(/^[0-9]+ [0-9]+/, t % 60 " " int(t / 60)) } { print }\' crontab > /tmp/tab && cp /tmp/tab crontab',
            "LC_ALL=C sort /tmp/moved > moved.txt",
        ],
        after=after,
    )
