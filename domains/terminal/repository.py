"""Checks of the state of a git repository, against what its `History` says it has to be."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from agentworld_envs.domains.terminal.checks import Check, RunCheck, TreeCheck
from agentworld_envs.domains.terminal.history import MAIN, History, tree_hash
from agentworld_envs.domains.terminal.scenario import Scenario

_GIT = (
    *("env", "GIT_GRAFT_FILE=/dev/null", "GIT_SHALLOW_FILE=", "git", "--no-replace-objects"),
    *("-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null"),
)
"""Nothing in the agent's folders may make history look other than it is."""


def git(repo: str, *args: str, out: str | None = None, code: int | None = 0) -> RunCheck:
    """Git with these arguments prints this (`None`: anything)."""
    return RunCheck(argv=(*_GIT, "-C", repo, *args), stdout=out, exit_code=code, isolated=True)


def _full(ref: str) -> str:
    """A tag of the same name would be found before the branch."""
    return f"refs/heads/{ref}" if ref == MAIN else ref


def log(repo: str, ref: str, rows: Sequence[str], form: str = "%T %s") -> RunCheck:
    """The commits of a ref, the oldest first; `%T` names all files of a commit with their contents."""
    return git(
        repo, "log", "--reverse", "--topo-order", f"--format={form}", _full(ref), "--", out="\n".join(rows) + "\n"
    )


def at(repo: str, history: History, ref: str, index: int) -> RunCheck:
    """A ref is where this commit is."""
    return git(repo, "rev-parse", "--verify", f"{_full(ref)}^{{commit}}", out=history.hash(index) + "\n")


def grown(history: History, tip: int, files: Mapping[str, str]) -> str:
    """`git log --format='%T %P'` of a branch with one more commit of these files."""
    rows = []
    for index in history.line():
        commit = history.commits[index]
        rows.append(f"{commit.tree} {' '.join(history.hash(parent) for parent in commit.parents)}".rstrip())
    return "\n".join([*rows, f"{tree_hash(files)} {history.hash(tip)}"])


def without(history: History, index: int, path: str) -> str | None:
    """A commit as `purged` shows it once a file was never there; `None` when nothing is left of it."""
    commit = history.commits[index]
    before = dict(history.commits[commit.parents[0]].files) if commit.parents else {}
    now = dict(commit.files)
    before.pop(path, None)
    now.pop(path, None)
    if commit.parents and before == now:
        return None
    return f"{tree_hash(now)} {commit.author.capitalize()} {commit.when} {commit.subject}"


def purged(repo: str, history: History, ref: str, path: str) -> RunCheck:
    """A branch is as if a file had never been there."""
    rows = [without(history, index, path) for index in history.line(ref)]
    return log(repo, f"refs/heads/{ref}", [row for row in rows if row], "%T %an %at %s")


def scenario(
    repo: str,
    history: History,
    instruction: str,
    checks: Sequence[Check],
    solution: Sequence[str],
    *,
    files: Mapping[str, str] | None = None,
    gone: Sequence[str] = (),
) -> Scenario:
    """A task about a repository, whose working folder is looked at too.

    Args:
        files: what has to lie in the working folder at the end; as at the start when not given.
        gone: branches that are deleted before the agent comes.
    """
    lie = dict(history.head().files if files is None else files)
    return Scenario(
        instruction,
        history.stage(),
        [*checks, TreeCheck(path=repo, files=dict(lie), ignore=(".git",))],
        [f"cd {repo} && {solution[0]}", *solution[1:]],
        setup=history.setup(repo, gone),
        needs=("git",),
    )
