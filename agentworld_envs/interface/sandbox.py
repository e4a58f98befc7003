"""`Sandbox`: one machine, and `Snapshot`: its files at one moment. Where they come from is in `machines`."""

from __future__ import annotations

import abc
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Self

from agentworld_envs.interface.errors import SandboxRefused
from agentworld_envs.interface.sandbox_facts import CommandResult, Process

DEFAULT_TIMEOUT_S = 60.0
"""Seconds that a command may take where nothing else is said."""
READ_LIMIT = 16 * 2**20
"""Bytes that `read` gives at most where nothing else is said."""
COPY_LIMIT = 128 * 2**20
"""Bytes that `upload` and `download` copy at most where nothing else is said."""
ROWS, COLUMNS = 40, 120
"""Size of the terminal screen."""


class Snapshot(abc.ABC):
    """The files of a sandbox at one moment. Running processes are not part of it."""

    @abc.abstractmethod
    def start(self) -> Sandbox:
        """A new sandbox that begins with these files and shares nothing with others that do. Raises SandboxError."""

    @abc.abstractmethod
    def close(self) -> None:
        """Forget it. Sandboxes that were started from it go on. Closing twice does nothing."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


class Sandbox(abc.ABC):
    """One machine. All methods raise SandboxDead once it is gone; none of them waits forever.

    Calls from several threads are served one after the other; `close` may be called at any time.
    """

    @abc.abstractmethod
    def run(self, command: str, timeout_s: float = DEFAULT_TIMEOUT_S, *, merge_stderr: bool = False) -> CommandResult:
        """Run a command in the session's shell, which keeps its folder, variables and functions between commands.

        Standard input is empty. At the deadline everything that the command started is killed; the shell lives on.
        Processes that it leaves in the background live on too. What they write after its end is thrown away. (Only
        when those of several earlier commands hold their output open may it appear in a later command's.)

        `$?` begins as the exit code of the last command.

        The exit code and the output are the guest's word: the shell is the enemy's to change. Grade only with `exec`,
        in a fresh sandbox or in one that was started from a frozen one.

        Args:
            command: shell text, any number of lines, without NUL.
            timeout_s: seconds until it is stopped.
            merge_stderr: whether standard error goes into `stdout`, in the order in which it was written.

        Raises:
            ValueError: the command has a NUL in it, which no shell can take.
            SandboxDead: the sandbox is gone.
            SessionLost: no shell can be started in it.
            Tampered: the command forged its own result.
        """

    @abc.abstractmethod
    def exec(
        self,
        argv: Sequence[str],
        timeout_s: float = DEFAULT_TIMEOUT_S,
        *,
        env: Mapping[str, str] | None = None,
        cwd: str | None = None,
        stdin: bytes = b"",
        output_cap: int | None = None,
    ) -> CommandResult:
        """Run one program apart from the shell and whatever was done to it: for checks and for graders.

        Args:
            argv: the program and its arguments.
            timeout_s: seconds until it is stopped with all that it started.
            env: variables on top of the sandbox's own.
            cwd: where it runs, exit code 127 when it cannot be entered; the sandbox's home when not given.
            stdin: what it can read, at most 1 MiB.
            output_cap: bytes kept of each output stream; `Limits.output_cap` when not given.

        Raises:
            SandboxDead: the sandbox is gone.
        """

    @abc.abstractmethod
    def write(self, path: str, data: bytes, *, mode: int = 0o644) -> None:
        """Write a file; its folder is made. Raises SandboxRefused when that is not possible."""

    @abc.abstractmethod
    def read(self, path: str, limit: int = READ_LIMIT) -> bytes:
        """The bytes of a regular file. Raises SandboxRefused, also for a file of more than `limit` bytes."""

    @abc.abstractmethod
    def upload(self, source: Path | str, path: str) -> None:
        """Copy the contents of a folder of this machine into a folder of the sandbox.

        Files, folders and links that stay inside are copied; owners and anything else are not. Raises SandboxRefused.
        """

    @abc.abstractmethod
    def download(self, path: str, target: Path | str, limit: int = COPY_LIMIT) -> list[str]:
        """Copy a file or the contents of a folder of the sandbox into a new or empty folder of this machine.

        Nothing is written outside of `target`: names that lead out of it, links that do, and whatever is neither
        file, folder nor link are left out.

        Args:
            path: what to copy.
            target: where to.
            limit: bytes.

        Returns:
            The names that were left out.

        Raises:
            SandboxRefused: it is not there, or larger than `limit`.
        """

    @abc.abstractmethod
    def shell_state(self) -> bytes:
        """Everything of the session's shell that can be given to another one, which it does not notice.

        That is: folder, stack of folders, variables of all kinds with their attributes, positional parameters,
        functions, aliases, options, traps, disabled builtins, umask, limits and the last exit code. It is not: open
        files, jobs and `$!`, history, `$_`, and variables of the shell itself that cannot be set, like `$BASHPID`.

        A copy of an episode is `snapshot().start()`, in which `restore_shell(shell_state())` is called. What is told
        comes from the guest and is fit for nothing but a shell in a sandbox.

        Raises:
            SandboxRefused: it has more than 4 MiB.
            SandboxDead: the sandbox is gone.
            SessionLost: the shell cannot tell any more, e.g. after `set -n`; the next command runs in a new one.
        """

    @abc.abstractmethod
    def restore_shell(self, state: bytes) -> None:
        """Give the session a shell in this state, a new one when commands were run in it. Processes in the background
        live on.

        Args:
            state: from `shell_state`, also of another sandbox. Where its folder is missing, the shell starts at home.

        Raises:
            SandboxRefused: it is not a state.
            SandboxDead: the sandbox is gone.
            SessionLost: no shell could take it over.
        """

    @abc.abstractmethod
    def processes(self) -> list[Process]:
        """The living processes by pid, without the agent and without its shells, the session's and the terminal's,
        unless these became another program. Told by the agent, so that nothing that a shell was made to believe
        matters. Raises SandboxDead."""

    @abc.abstractmethod
    def end_processes(self) -> None:
        """End everything that runs in it, the session's shell included; the next command gets a new one.

        Raises:
            SandboxError: something does not end.
        """

    @abc.abstractmethod
    def screen(
        self, keystrokes: str = "", wait_s: float = 1.0, *, settle_s: float = 0.0, until_idle: bool = False
    ) -> str:
        """Type into the interactive terminal, wait, and look at it.

        The terminal is opened by the first call, 40 lines of 120 columns, with a shell of its own.

        Args:
            keystrokes: what to type, control characters included; `"\\r"` or `"\\n"` is the Enter key.
            wait_s: seconds until it is looked at.
            settle_s: look earlier, once something was written and then nothing for this many seconds. 0: never.
            until_idle: look earlier, once all keystrokes were taken, all output was read, and the shell waits at its
                prompt for more, however long that takes on a loaded machine; or another program in the foreground waits
                for input (an editor, a pager, an interpreter) and has been silent for `settle_s`, 0.03 when that is 0.

        Returns:
            The screen, 40 lines, without the blanks at the ends of lines.

        Raises:
            MissingExtraError: `pyte`, which draws the screen, is not installed.
            SandboxDead: the sandbox is gone.
        """

    @abc.abstractmethod
    def ping(self, timeout_s: float = 5.0) -> None:
        """Raise SandboxDead unless it answers."""

    @abc.abstractmethod
    def snapshot(self) -> Snapshot:
        """Keep the files as they are now; the sandbox goes on. Its processes are held still meanwhile, not copied.

        Raises:
            SandboxError: this kind of sandbox cannot, or the machine failed.
        """

    @abc.abstractmethod
    def freeze(self) -> Snapshot:
        """End the sandbox and keep its files, in constant time, e.g. for a verdict. Raises as `snapshot` does."""

    def fork(self) -> Sandbox:
        """A second sandbox with the same files. Processes are not copied, and the shell only by `restore_shell`.

        Raises:
            SandboxError: as for `snapshot`.
        """
        with self.snapshot() as snapshot:
            return snapshot.start()

    @property
    @abc.abstractmethod
    def alive(self) -> bool:
        """Whether nothing is known to be wrong with it. `ping` makes sure."""

    @abc.abstractmethod
    def close(self) -> None:
        """End it with everything in it. Closing twice does nothing."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def refuse_unsupported(what: str, kind: str) -> SandboxRefused:
    """The error for a verb that a kind of sandbox does not have."""
    return SandboxRefused(f"A sandbox of kind {kind!r} has no {what}; use kind 'namespace'.")
