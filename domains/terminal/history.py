"""`History`: a git repository as data. Says how to build it, and knows its hashes without asking git."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from agentworld_envs.domains.terminal.draw import LOGINS, TOPICS, Draw
from agentworld_envs.domains.terminal.scenario import Entry, file

MAIN = "main"
VERBS = ("Adjust", "Extend", "Correct", "Review", "Simplify", "Document")
_START = 1_690_000_000
_STREAM = "/workspace/.stage.git"
Files = Mapping[str, str]


def tree_hash(files: Files) -> str:
    """Git's name of a tree of plain files: relative path -> contents."""
    entries: list[tuple[str, bytes]] = []
    inner: dict[str, dict[str, str]] = {}
    for path, text in files.items():
        top, slash, rest = path.partition("/")
        if slash:
            inner.setdefault(top, {})[rest] = text
        else:
            entries.append((top, b"100644 " + top.encode() + b"\0" + _object("blob", text.encode())))
    for name, below in inner.items():  # a folder sorts as if its name ended in a slash
        entries.append((f"{name}/", b"40000 " + name.encode() + b"\0" + bytes.fromhex(tree_hash(below))))
    return _object("tree", b"".join(data for _, data in sorted(entries))).hex()


def _object(kind: str, data: bytes) -> bytes:
    return hashlib.sha1(f"{kind} {len(data)}\0".encode() + data, usedforsecurity=False).digest()


@dataclass(frozen=True, slots=True)
class Commit:
    """One commit: files at it, and how it is called."""

    files: Files
    subject: str
    author: str
    when: int
    parents: tuple[int, ...]
    """Indices of commits."""

    @property
    def tree(self) -> str:
        """Git's name of its files."""
        return tree_hash(self.files)


class History:
    """Commits in the order in which they were made, and branches."""

    def __init__(self, company: str, start: int) -> None:
        """Args: company: whose addresses authors have. start: seconds since 1970 of the first commit."""
        self._host = f"{company.lower()}.example"
        self._now = start
        self.commits: list[Commit] = []
        self.branches: dict[str, int] = {}
        self.tags: dict[str, int] = {}
        self._hashes: dict[int, str] = {}

    def commit(
        self,
        changes: Mapping[str, str | None],
        subject: str,
        author: str,
        *,
        branch: str = MAIN,
        start: int | None = None,
        merged: int | None = None,
    ) -> int:
        """Add a commit to a branch, which begins at `start` when it is new.

        Args:
            changes: path -> contents, `None` to delete it.
            subject: its message.
            author: first name.
            branch: which grows.
            start: index of the commit before it, when it is not the newest of the branch.
            merged: index of a second parent.

        Returns:
            Its index.
        """
        before = self.branches.get(branch) if start is None else start
        files = dict(self.commits[before].files) if before is not None else {}
        for path, text in changes.items():
            if text is None:
                del files[path]
            else:
                files[path] = text
        self._now += 3_600 + 911 * len(self.commits)
        parents = tuple(index for index in (before, merged) if index is not None)
        self.commits.append(Commit(files, subject, author, self._now, parents))
        self.branches[branch] = len(self.commits) - 1
        return self.branches[branch]

    def head(self, branch: str = MAIN) -> Commit:
        """The newest commit of a branch."""
        return self.commits[self.branches[branch]]

    def line(self, branch: str = MAIN) -> list[int]:
        """Indices of a branch's commits, first parents only, the oldest first."""
        found = [self.branches[branch]]
        while self.commits[found[-1]].parents:
            found.append(self.commits[found[-1]].parents[0])
        return found[::-1]

    def hash(self, index: int) -> str:
        """Git's name of a commit. No commit changes any more once this was asked."""
        if index in self._hashes:
            return self._hashes[index]
        commit = self.commits[index]
        who = self._who(commit)
        rows = [f"tree {commit.tree}", *(f"parent {self.hash(parent)}" for parent in commit.parents)]
        rows += [f"author {who}", f"committer {who}", "", commit.subject, ""]
        self._hashes[index] = _object("commit", "\n".join(rows).encode()).hex()
        return self._hashes[index]

    def _who(self, commit: Commit) -> str:
        return f"{commit.author.capitalize()} <{commit.author}@{self._host}> {commit.when} +0000"

    def stage(self) -> dict[str, Entry]:
        """The file that `setup` reads."""
        parts = []
        for index, commit in enumerate(self.commits):
            who = self._who(commit)
            parts += [f"commit refs/heads/c{index}", f"mark :{index + 1}", f"author {who}", f"committer {who}"]
            parts += [f"data {len(commit.subject.encode()) + 1}", commit.subject]
            parts += [f"{word} :{parent + 1}" for word, parent in zip(("from", "merge"), commit.parents, strict=False)]
            before = self.commits[commit.parents[0]].files if commit.parents else {}
            for path, text in commit.files.items():
                if before.get(path) != text:
                    parts += [f"M 100644 inline {path}", f"data {len(text.encode())}", text]
            parts += [f"D {path}" for path in before if path not in commit.files]
        for kind, names in (("heads", self.branches), ("tags", self.tags)):
            for name, index in names.items():
                parts += [f"reset refs/{kind}/{name}", f"from :{index + 1}", ""]
        return {_STREAM: file("\n".join(parts) + "\n")}

    def setup(self, repository: str, gone: Sequence[str] = ()) -> list[str]:
        """Commands that make the repository from the staged file, with `main` checked out.

        Args:
            repository: its folder.
            gone: branches that are deleted at once; their commits are still in there.
        """
        dropped = [f"c{index}" for index in range(len(self.commits))] + list(gone)
        return [
            f"git init -q -b {MAIN} {repository} && git -C {repository} fast-import --quiet < {_STREAM} && rm "
            f"{_STREAM}",
            f"cd {repository} && git branch -q -D {' '.join(dropped)} && git reset -q --hard {MAIN} && "
            f"git config user.name Agent && git config user.email agent@{self._host}",
        ]


def lines(draw: Draw, count: int) -> list[str]:
    """Lines that are all different."""
    return [f"{draw.pick(TOPICS)}: {draw.code('item', 6)}" for _ in range(count)]


def text(draw: Draw) -> str:
    """Contents of a file."""
    return "\n".join(lines(draw, draw.between(4, 9))) + "\n"


def begin(draw: Draw) -> History:
    """A history with one commit of several files."""
    company = draw.company()
    history = History(company, _START + draw.between(0, 10_000_000))
    paths = [f"{folder}/{name}.txt" for folder in ("docs", "src") for name in draw.some(TOPICS, 3)]
    files = {path: text(draw) for path in paths} | {"README.md": f"# {company}\n\nWhat we have written down.\n"}
    history.commit(files, f"Begin the records of {company}", draw.pick(LOGINS))
    return history


def grow(draw: Draw, history: History, count: int, *, spare: Sequence[str] = (), branch: str = MAIN) -> None:
    """Commits that each add a line at the end of a file, never of those to spare."""
    for _ in range(count):
        files = history.head(branch).files
        path = draw.pick(sorted(path for path in files if path not in spare))
        change = {path: files[path] + lines(draw, 1)[0] + "\n"}
        subject = f"{draw.pick(VERBS)} {path.rpartition('/')[2]} ({draw.code('T', 3)})"
        history.commit(change, subject, draw.pick(LOGINS[:5]), branch=branch)
