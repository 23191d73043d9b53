"""Which process does a piece of work, and whether that process is gone.

A worker is written "host:pid:started". The start (Linux only, else empty) tells a process from a later one that was
given the same number, as after a reboot or in a restarted container. Knows nothing of what the work is.
"""

from __future__ import annotations

import os
import platform
import sys
from pathlib import Path


def this_worker() -> str:
    """The running process."""
    return f"{this_host()}:{os.getpid()}:{_started(os.getpid())}"


def this_host() -> str:
    """The name of this machine, without colons."""
    return platform.node().replace(":", "_") or "localhost"


def is_gone(worker: str) -> bool:
    """Whether the worker was a process of this machine that has ended; of other machines nothing is known."""
    host, _, rest = worker.partition(":")
    number, _, started = rest.partition(":")
    if host != this_host() or not number.isdigit():
        return False
    pid = int(number)
    return not _runs(pid) or (bool(started) and _started(pid) != started)


def _started(pid: int) -> str:
    """The start of a process in clock ticks since the boot; empty for a zombie and where the system does not tell."""
    try:
        state, *fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return ""
    return "" if state in "ZX" else fields[18]


if sys.platform == "win32":

    def _runs(pid: int) -> bool:
        """Windows has no signal 0: os.kill would end the process."""
        import ctypes

        process = ctypes.windll.kernel32.OpenProcess(0x00100000, False, pid)  # SYNCHRONIZE
        ended = not process or ctypes.windll.kernel32.WaitForSingleObject(process, 0) == 0
        ctypes.windll.kernel32.CloseHandle(process)
        return not ended

else:

    def _runs(pid: int) -> bool:
        try:
            os.kill(pid, 0)
        except (ProcessLookupError, OverflowError):
            return False
        except PermissionError:  # someone else's, so it is there
            return True
        return True
