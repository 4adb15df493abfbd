"""Ends a group of processes when this process is killed: an engine may not notice the end of its input."""

import contextlib
import os
import subprocess

_SHELL = "/bin/sh"
_SCRIPT = 'read -r line; kill -s KILL -- "-$1"'  # `read` returns at the end of the input: with the writer's end


class ProcessGuard:
    """A shell that waits for the end of this process, however it ends, and then kills a group of processes.

    Where there is no shell, as on Windows, it does nothing.

    Args:
        group: ID of the group.
    """

    def __init__(self, group: int) -> None:
        self._shell: subprocess.Popen[bytes] | None = None
        if os.name != "posix":
            return
        with contextlib.suppress(OSError):
            self._shell = subprocess.Popen(
                [_SHELL, "-c", _SCRIPT, _SHELL, str(group)],
                stdin=subprocess.PIPE,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                cwd="/",  # it keeps no folder in use
                start_new_session=True,  # Ctrl-C does not reach it
            )

    def end(self) -> None:
        """End the shell; the group lives on. Calling it again does nothing."""
        if self._shell is None:
            return
        self._shell.kill()
        self._shell.wait()
        assert self._shell.stdin is not None
        self._shell.stdin.close()
        self._shell = None
