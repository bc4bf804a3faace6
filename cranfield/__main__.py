"""`python -m cranfield`, and the command itself."""

from __future__ import annotations

import atexit
import gc
import os
import sys
import threading

_ALLOCATIONS = 200_000
"""So many objects more than before are made until the first look for garbage: more than a short command makes."""

_INTERRUPTED = 130


def run() -> None:
    """Run the program.

    To look for garbage among all that is imported would take a fifth of a short command: so the first look is late.
    """
    gc.set_threshold(_ALLOCATIONS, 20, 20)
    try:
        from cranfield.cli.main import run as run_command

        run_command()
    except KeyboardInterrupt:  # before the command could say anything
        _leave(_INTERRUPTED)
        raise
    except SystemExit as leaving:
        if isinstance(leaving.code, int):
            _leave(leaving.code)
        raise


def _leave(status: int) -> None:
    """Leave at once: what was to be done at the end is done, and memory is left to the operating system.

    To take all modules apart, one by one, would take the time of a small evaluation. Where a thread is still at work,
    or a stream cannot be written to its end, Python leaves in its own way, which waits and complains. After Ctrl-C
    nobody waits: a thread that reads from a pipe might do so for ever.
    """
    if threading.active_count() > 1 and status != _INTERRUPTED:
        return
    atexit._run_exitfuncs()
    try:
        sys.stdout.flush()
        sys.stderr.flush()
    except (OSError, ValueError):
        return
    os._exit(status)


if __name__ == "__main__":
    run()
