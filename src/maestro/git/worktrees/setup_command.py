"""A project's set-up command: run in a worktree within its time, and told with the end of what it printed."""

from __future__ import annotations

import os

import msgspec

from maestro.core import errors, limits
from maestro.domain.sandboxes import Sandbox
from maestro.git import git_program, sandbox


class SetupRun(msgspec.Struct, frozen=True, kw_only=True):
    """How the command went."""

    command: str
    exit_code: int  # negative: the signal that ended it
    is_timed_out: bool
    output: str  # both streams, the last part when there was much
    output_bytes: int  # of all that it printed
    seconds: float

    @property
    def is_ok(self) -> bool:
        """Whether it came to its end and says that all went well."""
        return self.exit_code == 0 and not self.is_timed_out

    @property
    def failure(self) -> str:
        """How it failed, with the end of what it said: the first line is enough where there is room for one."""
        if self.is_timed_out:
            how = f"took longer than {self.seconds:.0f} seconds"
        elif self.exit_code < 0:
            how = f"was ended by signal {-self.exit_code}"
        else:
            how = f"failed with exit code {self.exit_code}"
        lines = [line.rstrip() for line in self.output.splitlines() if line.strip()]
        last = f": {lines[-1]}" if lines else ""
        before = "".join(f"\n{line}" for line in lines[-limits.setup_lines_shown_max : -1])
        return f"The set-up command `{self.command}` {how}{last}" + (
            f"\nBefore that it said:{before}" if before else ""
        )


async def run(command: str, *, cwd: str, seconds: float, within: Sandbox) -> SetupRun:
    """Run a set-up command; one that fails is told, one that cannot even be started is an error."""
    ran = await sandbox.run(
        command,
        sandbox=within,
        directory=cwd,
        environment=_environment(),
        seconds_max=seconds,
        bytes_max=limits.setup_output_bytes_max,
    )
    text = ran.output.decode("utf-8", "replace")
    if ran.code is None:
        raise errors.MaestroError(f"The set-up command failed. {text}")
    cut = ran.output_bytes - len(ran.output)
    note = f"… {cut} bytes before this are left out …\n" if cut > 0 else ""
    return SetupRun(
        command=command,
        exit_code=ran.code,
        is_timed_out=ran.is_timed_out,
        output=note + text,
        output_bytes=ran.output_bytes,
        seconds=ran.seconds,
    )


def _environment() -> dict[str, str]:
    """Ours, without the variables that would lead a git inside the command astray; the language stays."""
    cleaned = git_program.environment(os.environ)
    cleaned.pop("GIT_OPTIONAL_LOCKS", None)
    cleaned.pop("LC_ALL", None)
    return cleaned | ({"LC_ALL": os.environ["LC_ALL"]} if "LC_ALL" in os.environ else {})
