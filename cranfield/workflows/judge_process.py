"""Run an external judge: processes that read questions and write answers, several at once, each kept in bounds."""

import asyncio
import contextlib
import os
import signal
from collections.abc import AsyncGenerator, Callable, Sequence
from dataclasses import dataclass

from cranfield.errors import UsageError, quoted
from cranfield.text import shortened

LONGEST_ANSWER = 1 << 20
_TAIL = 400


@dataclass(frozen=True, slots=True)
class Answered:
    """A line that a judge wrote."""

    line: str


@dataclass(frozen=True, slots=True)
class Stopped:
    """A process that has ended, and what was wrong with its end, if anything."""

    trouble: str = ""


@dataclass
class Pace:
    """Lets so many questions through in a minute, evenly; 0 means as fast as they come."""

    per_minute: float = 0
    _next: float = 0.0

    async def wait(self) -> None:
        """Wait for one's turn."""
        if not self.per_minute:
            return
        moment = asyncio.get_running_loop().time()
        turn = max(self._next, moment)
        self._next = turn + 60 / self.per_minute
        await asyncio.sleep(turn - moment)


class _Talk:
    """One process that is asked and answers. Its silence counts only while it does not wait for a question."""

    def __init__(self, process: asyncio.subprocess.Process, pace: Pace, timeout: float) -> None:
        self.process, self.pace, self.timeout = process, pace, timeout
        self._waiting, self._quiet_since = False, _clock()

    async def ask(self, questions: Sequence[str]) -> None:
        """Write the questions; a judge that does not read to the end is found out by its missing answers."""
        stream = self.process.stdin
        if stream is None:
            raise AssertionError("the process was started with a pipe")
        with contextlib.suppress(ConnectionError):
            for question in questions:
                self._waiting = True
                await self.pace.wait()
                self._waiting, self._quiet_since = False, _clock()
                stream.write(question.encode("utf-8", "replace") + b"\n")
                await stream.drain()
        with contextlib.suppress(ConnectionError):
            stream.close()
            await stream.wait_closed()

    async def line(self) -> bytes:
        """Read a line; empty at the end. Too long a silence is a TimeoutError, too long a line a ValueError."""
        stream = self.process.stdout
        if stream is None:
            raise AssertionError("the process was started with a pipe")
        reading = asyncio.create_task(stream.readline())
        try:
            while True:
                left = self._quiet_since + self.timeout - _clock()
                done, _ = await asyncio.wait({reading}, timeout=max(left, 0.0))
                if done:
                    self._quiet_since = _clock()
                    return reading.result()
                if self._waiting:
                    self._quiet_since = _clock()
                elif _clock() - self._quiet_since >= self.timeout:
                    raise TimeoutError
        finally:
            reading.cancel()

    async def last_words(self) -> str:
        """Read what the judge says on standard error, and keep the end of it."""
        stream, kept = self.process.stderr, b""
        while stream is not None and (part := await stream.read(1 << 16)):
            kept = (kept + part)[-_TAIL:]
        return shortened(kept.decode("utf-8", "replace"), _TAIL)


def _clock() -> float:
    return asyncio.get_running_loop().time()


async def answers(
    command: Sequence[str], questions: Sequence[str], *, pace: Pace, timeout: float
) -> AsyncGenerator[Answered | Stopped, None]:
    """Start the command, write the questions to it, and give its lines as they come; the last thing is `Stopped`.

    Questions are written while answers are read. `timeout` is the longest silence that is borne; then, and whenever
    the caller goes away, the process and all it has started are killed.
    """
    process = await _started(command)
    talk = _Talk(process, pace, timeout)
    asking, errors = asyncio.create_task(talk.ask(questions)), asyncio.create_task(talk.last_words())
    trouble, said = "", ""
    try:
        while line := await talk.line():
            yield Answered(line.decode("utf-8", "replace").rstrip("\r\n"))
        await asyncio.wait_for(process.wait(), timeout)
        trouble = f"ended with status {process.returncode}" if process.returncode else ""
    except TimeoutError:
        trouble = f"said nothing for {timeout:g} seconds"
    except ValueError:
        trouble = f"wrote a line of more than {LONGEST_ANSWER >> 20} MB"
    finally:
        asking.cancel()
        if process.returncode is None or trouble:
            _kill(process)
        with contextlib.suppress(TimeoutError):
            # Something that the judge has started and that has left its group may still hold its streams open.
            await asyncio.wait_for(process.wait(), 1)
            said = await asyncio.wait_for(errors, 1)
        # asyncio has no other way to let go of streams that somebody still holds open.
        process._transport.close()  # type: ignore[attr-defined]
    yield Stopped(f"{trouble}: {said}" if trouble and said else trouble)


async def _started(command: Sequence[str]) -> asyncio.subprocess.Process:
    pipe = asyncio.subprocess.PIPE
    try:
        return await asyncio.create_subprocess_exec(
            *command, stdin=pipe, stdout=pipe, stderr=pipe, limit=LONGEST_ANSWER, start_new_session=True
        )
    except OSError as error:
        raise UsageError(f"{quoted(command[0])} cannot be started: {error.strerror or error}") from None


def _kill(process: asyncio.subprocess.Process) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)


Heard = Callable[[int, Answered | Stopped], bool]
"""Gets what the process of a batch says, and gives back whether to go on."""


async def ask_in_parallel(
    batches: Sequence[Callable[[], Sequence[str]]],
    command: Sequence[str],
    *,
    parallel: int,
    pace: Pace,
    timeout: float,
    heard: Heard,
) -> None:
    """Put batches of questions to one process each, so many at once, until all are done or `heard` says stop."""
    waiting = list(enumerate(batches))[::-1]

    async def work() -> None:
        while waiting:
            number, questions = waiting.pop()
            async with contextlib.aclosing(answers(command, questions(), pace=pace, timeout=timeout)) as talk:
                async for said in talk:
                    if not heard(number, said):
                        waiting.clear()
                        return

    tasks = [asyncio.create_task(work()) for _ in range(max(1, min(parallel, len(batches))))]
    try:
        await asyncio.gather(*tasks)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
