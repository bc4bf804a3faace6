"""Threads that read files, and that nobody has to wait for."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager


@contextmanager
def workers(count: int) -> Iterator[ThreadPoolExecutor]:
    """Give some threads to read in; where something goes wrong here they are left alone.

    A thread that reads from a pipe can wait for ever, and whoever presses Ctrl-C does not want to wait with it.
    """
    threads = ThreadPoolExecutor(count)
    try:
        yield threads
    except BaseException:
        threads.shutdown(wait=False, cancel_futures=True)
        raise
    threads.shutdown()
