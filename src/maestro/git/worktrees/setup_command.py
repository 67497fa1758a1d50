"""Run a project's set-up command in a worktree, with a time limit, and keep the end of its output."""

from __future__ import annotations

import os

import msgspec

from maestro.core import errors, limits
from maestro.domain.sandboxes import Sandbox
from maestro.git import git_program, sandbox


class SetupRun(msgspec.Struct, frozen=True, kw_only=True):
    """The result of a set-up command."""

    command: str
    exit_code: int  # negative: the number of the signal that ended the command
    is_timed_out: bool
    output: str  # both streams; only the last part of a long output
    output_bytes: int  # the size of the complete output
    seconds: float

    @property
    def is_ok(self) -> bool:
        """Return whether the command ended in time with exit code 0."""
        return self.exit_code == 0 and not self.is_timed_out

    @property
    def failure(self) -> str:
        """Return how the command failed, with the end of its output. The first line alone is a complete message."""
        if self.is_timed_out:
            problem = f"took longer than {self.seconds:.0f} seconds"
        elif self.exit_code < 0:
            problem = f"was ended by signal {-self.exit_code}"
        else:
            problem = f"failed with exit code {self.exit_code}"
        lines = [line.rstrip() for line in self.output.splitlines() if line.strip()]
        last_line = f": {lines[-1]}" if lines else ""
        earlier_lines = "".join(f"\n{line}" for line in lines[-limits.setup_lines_shown_max : -1])
        return f"The set-up command `{self.command}` {problem}{last_line}" + (
            f"\nEarlier output:{earlier_lines}" if earlier_lines else ""
        )


async def run_setup(command: str, *, cwd: str, seconds: float, command_sandbox: Sandbox) -> SetupRun:
    """Run a set-up command and return its result, also after a failure. Raise an error if it cannot be started."""
    result = await sandbox.run_command(
        command,
        sandbox=command_sandbox,
        directory=cwd,
        environment=_command_environment(),
        seconds_max=seconds,
        bytes_max=limits.setup_output_bytes_max,
    )
    text = result.output.decode("utf-8", "replace")
    if result.code is None:
        raise errors.MaestroError(f"The set-up command could not be started. {text}")
    omitted_bytes = result.output_bytes - len(result.output)
    note = f"… the first {omitted_bytes} bytes of the output are left out …\n" if omitted_bytes > 0 else ""
    return SetupRun(
        command=command,
        exit_code=result.code,
        is_timed_out=result.is_timed_out,
        output=note + text,
        output_bytes=result.output_bytes,
        seconds=result.seconds,
    )


def _command_environment() -> dict[str, str]:
    """Return the server's environment without variables that would point git at another repository.

    The language of the server stays: LC_ALL is not replaced.
    """
    cleaned = git_program.clean_environment(os.environ)
    cleaned.pop("GIT_OPTIONAL_LOCKS", None)
    cleaned.pop("LC_ALL", None)
    return cleaned | ({"LC_ALL": os.environ["LC_ALL"]} if "LC_ALL" in os.environ else {})
