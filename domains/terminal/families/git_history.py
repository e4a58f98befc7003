"""The history of a git repository: look into it, recover from it, and rewrite it."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from agentworld_envs.domains.terminal.checks import Check, FileCheck
from agentworld_envs.domains.terminal.draw import LOGINS, TOPICS, Draw
from agentworld_envs.domains.terminal.history import MAIN, VERBS, begin, grow, lines, text, tree_hash
from agentworld_envs.domains.terminal.repository import at, git, grown, log, purged, scenario, without
from agentworld_envs.domains.terminal.scenario import Level, Scenario


def build(rng: np.random.Generator, level: Level) -> Scenario:
    """Level 1: find a commit, bring back a file, tag; 2: revert, squash, move and pick commits; 3: rewrite all history,
    merge with conflicts, drop commits from a branch, find lost commits and the one that broke something."""
    draw = Draw(rng)
    makers = {
        1: (_bring_back, _introduced, _tag, _shares),
        2: (_revert, _squash, _wrong_branch, _pick),
        3: (_purge, _merge, _drop, _lost, _culprit),
    }
    return draw.pick(makers[level])(draw, f"/workspace/{draw.pick(('project', 'website', 'tools', 'handbook'))}")


# -- level 1 -------------------------------------------------------------------------------------------------------


def _bring_back(draw: Draw, repo: str) -> Scenario:
    history = begin(draw)
    grow(draw, history, draw.between(2, 5))
    path = draw.pick(sorted(path for path in history.head().files if path.startswith("docs/")))
    files = history.head().files
    history.commit({path: files[path] + lines(draw, 1)[0] + "\n"}, f"Add to {path}", draw.pick(LOGINS))
    deleted = history.head().files[path]
    history.commit({path: None}, f"{draw.pick(('Tidy up', 'Clear out', 'Spring cleaning'))}", draw.pick(LOGINS))
    grow(draw, history, draw.between(2, 5))
    return scenario(
        repo,
        history,
        f"In the git repository {repo}, somebody deleted {path} in an earlier commit. Put the file back into the "
        "working folder with the contents that it had right before it was deleted. Do not commit it, and make no "
        "other change.",
        [at(repo, history, MAIN, history.branches[MAIN])],
        [f'git checkout "$(git log -1 --diff-filter=D --format=%H -- {path})~1" -- {path}'],
        files={**history.head().files, path: deleted},
    )


def _introduced(draw: Draw, repo: str) -> Scenario:
    history = begin(draw)
    grow(draw, history, draw.between(4, 9))
    code = draw.code("RULE", 5)
    path = draw.pick(sorted(history.head().files))
    files = history.head().files
    index = history.commit({path: f"{files[path]}see {code}\n"}, f"Update {path}", draw.pick(LOGINS))
    grow(draw, history, draw.between(4, 9))
    author = draw.chance(0.4)
    answer = history.commits[index].author.capitalize() if author else history.hash(index)
    ask = "the name (as git log shows it, without the address) of its author" if author else "its full hash"
    return scenario(
        repo,
        history,
        f"Somewhere in the git repository {repo}, a file has the text {code}. Find the commit that introduced it, and "
        f"write {ask}, alone, to /workspace/answer.txt. Do not change the repository.",
        [FileCheck(path="/workspace/answer.txt", text=answer + "\n"), at(repo, history, MAIN, history.branches[MAIN])],
        [f"git log -S {code} --format={'%an' if author else '%H'} > /workspace/answer.txt"],
    )


def _tag(draw: Draw, repo: str) -> Scenario:
    history = begin(draw)
    grow(draw, history, draw.between(7, 12))
    index = draw.pick(history.line()[1:-1])
    subject = history.commits[index].subject
    name = f"v{draw.between(1, 9)}.{draw.between(0, 30)}"
    branch = draw.chance(0.4)
    ask = f"a branch with the name `fix-{name}` that begins" if branch else f"a tag with the name `{name}`"
    ref = f"refs/heads/fix-{name}" if branch else f"refs/tags/{name}"
    command = f"git branch fix-{name}" if branch else f"git tag {name}"
    return scenario(
        repo,
        history,
        f"In the git repository {repo}, make {ask} at the commit with the subject `{subject}`. The branch {MAIN} stays "
        "checked out and as it is.",
        [at(repo, history, ref, index), at(repo, history, "HEAD", history.branches[MAIN])],
        [f"{command} \"$(git log --format=%H -F --grep='{subject}')\""],
    )


def _shares(draw: Draw, repo: str) -> Scenario:
    history = begin(draw)
    grow(draw, history, draw.between(12, 20))
    authors = [history.commits[index].author.capitalize() for index in history.line()]
    rows = sorted(((authors.count(name), name) for name in set(authors)), key=lambda row: (-row[0], row[1]))
    return scenario(
        repo,
        history,
        f"Count the commits of each author on the branch {MAIN} of the git repository {repo}. Write one line `name "
        "count` per author (the name without the address) to /workspace/authors.txt, the highest count first and "
        "equal counts in the order of `LC_ALL=C sort` of the names. Do not change the repository.",
        [FileCheck(path="/workspace/authors.txt", text="".join(f"{name} {count}\n" for count, name in rows))],
        [
            "git log --format=%an | LC_ALL=C sort | uniq -c | awk '{ print $2, $1 }' | LC_ALL=C sort -k2,2nr -k1,1 "
            "> /workspace/authors.txt"
        ],
    )


# -- level 2 -------------------------------------------------------------------------------------------------------


def _revert(draw: Draw, repo: str) -> Scenario:
    history = begin(draw)
    grow(draw, history, draw.between(2, 4))
    files = history.head().files
    paths = draw.some(sorted(path for path in files if "/" in path), 2)
    old = {path: files[path].splitlines() for path in paths}
    changes = {path: "\n".join([old[path][0], f"draft {draw.code('X', 5)}", *old[path][2:]]) + "\n" for path in paths}
    subject = f"{draw.pick(VERBS)} {draw.pick(('prices', 'dates', 'names'))} ({draw.code('T', 4)})"
    history.commit(changes, subject, draw.pick(LOGINS))
    grow(draw, history, draw.between(3, 6))
    after = dict(history.head().files)
    for path in paths:
        after[path] = after[path].replace(changes[path].splitlines()[1], old[path][1], 1)
    tip = history.branches[MAIN]
    merged = grown(history, tip, after)
    return scenario(
        repo,
        history,
        f"The commit `{subject}` of the git repository {repo} was wrong. Undo its changes with one new commit on top "
        f"of {MAIN}; what came later has to stay, and no existing commit may change. The message of the new commit is "
        "up to you.",
        [log(repo, MAIN, [merged], "%T %P")],
        [f"git revert --no-edit \"$(git log --format=%H -F --grep='{subject}')\""],
        files=after,
    )


def _squash(draw: Draw, repo: str) -> Scenario:
    history = begin(draw)
    grow(draw, history, draw.between(3, 6))
    base = history.branches[MAIN]
    count = draw.between(3, 6)
    grow(draw, history, count)
    topic = draw.pick(TOPICS)
    subject = f"{draw.pick(VERBS)} everything about {topic}"
    return scenario(
        repo,
        history,
        f"The last {count} commits on {MAIN} of the git repository {repo} belong together. Replace them by a single "
        f"commit with the message `{subject}` and the same resulting files. The commits before them stay as they are.",
        [
            at(repo, history, f"{MAIN}~1", base),
            git(
                repo,
                "log",
                "-1",
                "--format=%T %s",
                f"refs/heads/{MAIN}",
                "--",
                out=f"{history.head().tree} {subject}\n",
            ),
        ],
        [f"git reset -q --soft HEAD~{count}", f"git commit -q -m '{subject}'"],
    )


def _wrong_branch(draw: Draw, repo: str) -> Scenario:
    history = begin(draw)
    grow(draw, history, draw.between(3, 6))
    base = history.branches[MAIN]
    grow(draw, history, draw.between(2, 5))
    tip = history.branches[MAIN]
    name = f"{draw.pick(TOPICS)}-{draw.pick(('trial', 'rework', 'update'))}"
    first = history.commits[base + 1].subject
    return scenario(
        repo,
        history,
        f"In the git repository {repo}, all commits on {MAIN} from `{first}` to the newest were meant for a branch of "
        f"their own. Make the branch `{name}`, which has all of them as they are, and set {MAIN} back to the commit "
        f"before them. In the end {MAIN} is checked out, and its working folder clean.",
        [
            at(repo, history, f"refs/heads/{name}", tip),
            at(repo, history, f"refs/heads/{MAIN}", base),
            git(repo, "symbolic-ref", "HEAD", out=f"refs/heads/{MAIN}\n"),
        ],
        [f"git branch {name}", f"git reset -q --hard \"$(git log --format=%H -F --grep='{first}')~1\""],
        files=history.commits[base].files,
    )


def _pick(draw: Draw, repo: str) -> Scenario:
    history = begin(draw)
    grow(draw, history, draw.between(2, 4))
    base = history.branches[MAIN]
    files = history.head().files
    path = draw.pick(sorted(path for path in files if path.startswith("src/")))
    name = f"{draw.pick(LOGINS)}/{draw.pick(('ideas', 'next', 'draft'))}"
    history.commit({"docs/plan.md": text(draw)}, "Write a plan", draw.pick(LOGINS), branch=name, start=base)
    grow(draw, history, draw.between(1, 3), spare=[path], branch=name)
    subject = f"{draw.pick(('Fix', 'Repair', 'Correct'))} {path} ({draw.code('T', 4)})"
    fixed = f"fixed {draw.code('OK', 5)}\n" + files[path]
    author = draw.pick(LOGINS)
    history.commit({path: fixed}, subject, author, branch=name)
    grow(draw, history, draw.between(1, 3), spare=[path], branch=name)
    grow(draw, history, draw.between(2, 4), spare=[path])
    after = {**history.head().files, path: fixed}
    rows = grown(history, history.branches[MAIN], after)
    return scenario(
        repo,
        history,
        f"In the git repository {repo}, the branch `{name}` has a commit `{subject}` that we need on {MAIN} now, and "
        f"nothing else of that branch. Put it on top of {MAIN} as a commit with the same subject and author; the "
        f"branch `{name}` and all existing commits stay as they are.",
        [
            log(repo, MAIN, [rows], "%T %P"),
            git(
                repo,
                "log",
                "-1",
                "--format=%an %s",
                f"refs/heads/{MAIN}",
                "--",
                out=f"{author.capitalize()} {subject}\n",
            ),
            at(repo, history, f"refs/heads/{name}", history.branches[name]),
        ],
        [f"git cherry-pick \"$(git log {name} --format=%H -F --grep='{subject}')\""],
        files=after,
    )


# -- level 3 -------------------------------------------------------------------------------------------------------


def _purge(draw: Draw, repo: str) -> Scenario:
    history = begin(draw)
    grow(draw, history, draw.between(2, 4))
    path = draw.pick(("config/keys.env", "deploy token.txt", ".secrets", "src/dump 1.sql"))
    password = draw.code("pw", 8)
    history.commit({path: f"{password}\n"}, f"Add settings ({draw.code('T', 3)})", draw.pick(LOGINS))
    grow(draw, history, draw.between(1, 3), spare=[path])
    tagged = history.branches[MAIN]
    history.tags["v1"] = tagged
    side = f"{draw.pick(TOPICS)}-fix"
    history.commit({"docs/side.txt": text(draw)}, "Try something", draw.pick(LOGINS), branch=side, start=tagged)
    changes = {path: f"{password}\n{draw.code('pw', 8)}\n", "README.md": history.head().files["README.md"] + "More.\n"}
    history.commit(changes, f"Add more settings ({draw.code('T', 3)})", draw.pick(LOGINS))
    if draw.chance(0.5):
        history.commit({path: None}, "Remove what should not be here", draw.pick(LOGINS))
    grow(draw, history, draw.between(2, 4), spare=[path])
    checks: list[Check] = []
    for ref in (MAIN, side):
        checks.append(purged(repo, history, ref, path))
    rows = [without(history, index, path) for index in history.line()[: history.line().index(tagged) + 1]]
    kept = [row for row in rows if row]
    checks.append(log(repo, "refs/tags/v1", kept, "%T %an %at %s"))
    files = {name: text for name, text in history.head().files.items() if name != path}
    return scenario(
        repo,
        history,
        f"The file `{path}` of the git repository {repo} has passwords in it and must never have been there. Rewrite "
        f"the whole history so that no commit that can be reached from any branch or tag (there are {MAIN}, {side} "
        "and the tag v1) has that file. A commit that changed nothing else disappears; all others stay in their "
        "order, with their subjects, authors, author dates and all other files. Branches and tag keep their names, "
        "and the working folder is clean.",
        checks,
        [
            "export FILTER_BRANCH_SQUELCH_WARNING=1; git filter-branch -f --prune-empty --tag-name-filter cat "
            f"--index-filter \"git rm -q --cached --ignore-unmatch '{path}'\" -- --branches --tags"
        ],
        files=files,
    )


def _merge(draw: Draw, repo: str) -> Scenario:
    history = begin(draw)
    keys = draw.some([f"{topic}_{word}" for topic in TOPICS[:10] for word in ("limit", "size")], 9)
    values = {key: draw.between(10, 900) for key in keys}
    name = "config/limits.conf"

    def limits(of: Mapping[str, int]) -> str:
        return "".join(f"{key} = {of[key]}\n" for key in sorted(of))

    base = history.commit({name: limits(values)}, "Add limits", draw.pick(LOGINS))
    ours, theirs = dict(values), dict(values)
    for key in draw.some(keys, 5):
        ours[key] = draw.between(10, 900)
    for key in draw.some(keys, 5):
        theirs[key] = draw.between(10, 900)
    both = draw.some(keys, 2)
    for key in both:
        ours[key], theirs[key] = draw.between(100, 400), draw.between(401, 900)
    ours[both[1]], theirs[both[1]] = theirs[both[1]], ours[both[1]]
    ours[f"a_{draw.pick(LOGINS)}_quota"] = draw.between(1, 99)
    theirs[f"z_{draw.pick(LOGINS)}_quota"] = draw.between(1, 99)
    branch = f"{draw.pick(LOGINS)}-limits"
    history.commit({name: limits(theirs)}, "New limits", draw.pick(LOGINS), branch=branch, start=base)
    history.commit({"docs/why.txt": text(draw)}, "Say why", draw.pick(LOGINS), branch=branch)
    history.commit({name: limits(ours)}, "Other limits", draw.pick(LOGINS))
    grow(draw, history, 2, spare=[name])
    larger = draw.chance(0.5)
    merged: dict[str, int] = {}
    for key in sorted({*ours, *theirs}):
        old, mine, other = (of.get(key) for of in (values, ours, theirs))
        if mine is None or other is None:
            merged[key] = mine if mine is not None else other or 0
        elif mine != old and other != old:
            merged[key] = max(mine, other) if larger else min(mine, other)
        else:
            merged[key] = other if mine == old else mine
    after = {
        **history.head().files,
        **{k: history.head(branch).files[k] for k in ("docs/why.txt",)},
        name: limits(merged),
    }
    parents = " ".join(history.hash(history.branches[ref]) for ref in (MAIN, branch))
    word = "larger" if larger else "smaller"
    program = f"""\
cat > /tmp/m.py <<'END'
import subprocess
def at(ref):
    text = subprocess.run(['git', 'show', ref + ':{name}'], capture_output=True, text=True, check=True).stdout
    return dict(line.split(' = ') for line in text.splitlines())
base, ours, theirs = at('{MAIN}~3'), at('{MAIN}'), at('{branch}')
for key in sorted(set(ours) | set(theirs)):
    a, b, c = ours.get(key), theirs.get(key), base.get(key)
    if a is None or b is None: value = a or b
    elif a != c and b != c: value = {"max" if larger else "min"}(a, b, key=int)
    else: value = b if a == c else a
    print(key, '=', value)
END"""
    return scenario(
        repo,
        history,
        f"In the git repository {repo}, merge the branch `{branch}` into {MAIN} with a merge commit (any message). In "
        f"{name}, an option that only one side changed or added since they parted gets that side's value; where both "
        f"sides changed it, the {word} of their two values counts. The options stay sorted by name, in the form `name "
        "= value`, one per line and without anything else. Other files come out as git merges them. The branch itself "
        "stays as it is.",
        [
            git(repo, "log", "-1", "--format=%T %P", f"refs/heads/{MAIN}", "--", out=f"{tree_hash(after)} {parents}\n"),
            at(repo, history, f"refs/heads/{branch}", history.branches[branch]),
        ],
        [
            f"git merge --no-ff --no-commit {branch}; true",
            program,
            f"python3 /tmp/m.py > {name} && git add {name} && git commit -q -m 'Merge the limits'",
        ],
        files=after,
    )


def _drop(draw: Draw, repo: str) -> Scenario:
    history = begin(draw)
    grow(draw, history, 2)
    base = history.branches[MAIN]
    branch = f"{draw.pick(TOPICS)}-work"
    files = history.head().files
    path = draw.pick(sorted(path for path in files if path.startswith("src/")))
    own = {f"work/{name}.md": text(draw) for name in draw.some(LOGINS, 5)}
    bad = f"Add debugging output ({draw.code('T', 4)})"
    steps: list[tuple[dict[str, str], str, str]] = [
        ({name: text}, f"{draw.pick(VERBS)} {name} ({draw.code('T', 3)})", draw.pick(LOGINS))
        for name, text in own.items()
    ]
    steps.insert(
        draw.between(1, 4), ({path: f"debug {draw.code('D', 5)}\n{files[path]}", "debug.log": text(draw)}, bad, "zeno")
    )
    for number, (changes, subject, author) in enumerate(steps):
        history.commit(changes, subject, author, branch=branch, start=base if number == 0 else None)
    grow(draw, history, draw.between(2, 4), spare=[path])
    now = dict(history.head().files)
    rows = [f"{history.commits[index].tree} {history.commits[index].subject}" for index in history.line()]
    for changes, subject, _ in steps:
        if subject != bad:
            now |= changes
            rows.append(f"{tree_hash(now)} {subject}")
    return scenario(
        repo,
        history,
        f"In the git repository {repo}, bring the branch `{branch}` up to date: put its own commits, in their order, "
        f"on top of the current {MAIN} (no merge commit), but leave out the commit `{bad}` with all that it changed. "
        f"The other commits keep their subjects. {MAIN} itself does not change, and in the end `{branch}` is checked "
        "out and the working folder is clean.",
        [
            log(repo, f"refs/heads/{branch}", rows),
            at(repo, history, f"refs/heads/{MAIN}", history.branches[MAIN]),
            git(repo, "symbolic-ref", "HEAD", out=f"refs/heads/{branch}\n"),
        ],
        [
            f"git checkout -q {branch} && b=$(git log --format=%H -F --grep='{bad}')",
            f'git rebase -q --onto "$b~1" "$b" && git rebase -q {MAIN}',
        ],
        files=now,
    )


def _lost(draw: Draw, repo: str) -> Scenario:
    history = begin(draw)
    grow(draw, history, draw.between(3, 5))
    base = history.branches[MAIN]
    codes = [draw.code("OFFER", 5) for _ in range(3)]
    names = draw.some(LOGINS, 3)
    for name, code in zip(names, codes, strict=True):
        history.commit({f"offers/{name}.txt": text(draw)}, "Start an offer", name, branch=name, start=base)
        before = history.head(name).files[f"offers/{name}.txt"]
        history.commit({f"offers/{name}.txt": f"{before}number {code}\n"}, "Finish the offer", name, branch=name)
    grow(draw, history, draw.between(1, 3))
    wanted = draw.between(0, 2)
    tip = history.branches[names[wanted]]
    label = f"rescued-{draw.between(10, 99)}"
    staged = history.branches.copy()
    return scenario(
        repo,
        history,
        f"Branches of the git repository {repo} were deleted by mistake, and nobody wrote their hashes down. One of "
        f"them ended in a commit that added the text {codes[wanted]} to a file. Make a branch `{label}` at that very "
        "commit. All other branches, and what is checked out, stay as they are; write the commit's full hash, alone, "
        f"to /workspace/{label}.txt.",
        [
            at(repo, history, f"refs/heads/{label}", tip),
            at(repo, history, "HEAD", staged[MAIN]),
            git(repo, "for-each-ref", "--format=%(refname)", out=f"refs/heads/{MAIN}\nrefs/heads/{label}\n"),
            FileCheck(path=f"/workspace/{label}.txt", text=history.hash(tip) + "\n"),
        ],
        [
            'git fsck --no-reflogs --no-progress 2> /tmp/err | awk \'$1 == "dangling" && $2 == "commit" { print $3 '
            "}' | while read "
            f"-r c; do git show $c | grep -q {codes[wanted]} && echo $c; done > /workspace/{label}.txt",
            f"git branch {label} $(cat /workspace/{label}.txt)",
        ],
        gone=names,
    )


def _culprit(draw: Draw, repo: str) -> Scenario:
    history = begin(draw)
    numbers = [draw.between(10, 60) for _ in range(8)]
    limit = sum(numbers) + draw.between(200, 300)
    name = "data/amounts.txt"
    check = f"#!/bin/sh\n# fails when the amounts add up to more than {limit}\n" + (
        "awk -v most=" + str(limit) + " '/^[0-9]+ /{ n += $1 } END { exit n > most }' data/amounts.txt\n"
    )

    def amounts() -> str:
        return "".join(f"{amount} {TOPICS[place]}\n" for place, amount in enumerate(numbers))

    history.commit({name: amounts(), "check.sh": check}, "Add amounts", draw.pick(LOGINS))
    last = -1
    count, at = draw.between(14, 22), draw.between(5, 11)
    places = draw.shuffled(list(range(8)))
    before, place = "", 0
    for number in range(count):
        if number == at:
            place = places[0]
            before = amounts()
            numbers[place] += 400 + draw.between(1, 50)
        else:  # what changes later is on other lines, so that the commit can be undone
            other = draw.pick(places[3:]) if abs(number - at) else place
            if abs(other - places[0]) <= 1:
                grow(draw, history, 1, spare=[name, "check.sh"])
                continue
            numbers[other] += draw.pick((-3, -2, 2, 3))
        subject = f"{draw.pick(VERBS)} amounts ({draw.code('T', 4)})"
        index = history.commit({name: amounts()}, subject, draw.pick(LOGINS))
        last = index if number == at else last
    old = int(before.splitlines()[place].split()[0])
    numbers[place] = old
    after = {**history.head().files, name: amounts()}
    tip = history.branches[MAIN]
    return scenario(
        repo,
        history,
        f"`sh check.sh` succeeds at the first commit of the git repository {repo} that has it, but fails at the "
        f"newest one of {MAIN}. Find the first commit at which it fails, and write its full hash, alone, to "
        f"/workspace/culprit.txt. Then undo the changes of that commit with one new commit on top of {MAIN} (any "
        f"message), so that all later changes stay. In the end {MAIN} is checked out and the working folder is clean.",
        [
            FileCheck(path="/workspace/culprit.txt", text=history.hash(last) + "\n"),
            log(repo, MAIN, [grown(history, tip, after)], "%T %P"),
            git(repo, "symbolic-ref", "HEAD", out=f"refs/heads/{MAIN}\n"),
        ],
        [
            f"git bisect start {MAIN} $(git log --format=%H --diff-filter=A -- check.sh) && git bisect run sh "
            "./check.sh > /tmp/bisect.log; git rev-parse refs/bisect/bad > /workspace/culprit.txt",
            "git bisect reset && git revert --no-edit $(cat /workspace/culprit.txt)",
        ],
        files=after,
    )
