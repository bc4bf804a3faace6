"""Let an external judge (a model, a script) label documents, in a layer of its own."""

from __future__ import annotations

import asyncio
import contextlib
import os
import re
import shlex
import signal
from collections import Counter
from collections.abc import AsyncGenerator, Sequence
from dataclasses import dataclass
from time import monotonic
from typing import Literal
from uuid import uuid4

from cranfield.base.errors import LINES_KEPT, InputError, Problem, UnknownName, UsageError, quoted
from cranfield.base.files import Progress, silent
from cranfield.base.records import MAIN, Topic
from cranfield.base.tables import Result, Table
from cranfield.base.text import counted, moment, now, shortened
from cranfield.judge.external import Label, Pair, label_from, question
from cranfield.judge.queue import draw
from cranfield.store import Store, documents, events
from cranfield.store.pools import facts_of_pool
from cranfield.workflows.judge.agreement import Compared, agreement_with_people, estimates_table, overall_table
from cranfield.workflows.judge.imports import MACHINE
from cranfield.workflows.judge.session import Judging

# Run an external judge: processes that read questions and write answers, several at once, each kept in bounds.

LONGEST_ANSWER = 1 << 20
_TAIL = 400


@dataclass(frozen=True)
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
        present = monotonic()
        turn = max(self._next, present)
        self._next = turn + 60 / self.per_minute
        await asyncio.sleep(turn - present)


class _Talk:
    """One process that is asked and answers. Its silence counts only while it does not wait for a question."""

    def __init__(self, process: asyncio.subprocess.Process, pace: Pace, timeout: float) -> None:
        self.process, self.pace, self.timeout = process, pace, timeout
        self._waiting, self._quiet_since = False, monotonic()

    async def ask(self, questions: Sequence[str]) -> None:
        """Write the questions; a judge that does not read to the end is found out by its missing answers."""
        stream = self.process.stdin
        assert stream is not None  # the process was started with a pipe
        with contextlib.suppress(ConnectionError):
            for question in questions:
                self._waiting = True
                await self.pace.wait()
                self._waiting, self._quiet_since = False, monotonic()
                stream.write(question.encode("utf-8", "replace") + b"\n")
                await stream.drain()
        with contextlib.suppress(ConnectionError):
            stream.close()
            await stream.wait_closed()

    async def line(self) -> bytes:
        """Read a line; empty at the end. Too long a silence is a TimeoutError, too long a line a ValueError."""
        stream = self.process.stdout
        assert stream is not None
        reading = asyncio.create_task(stream.readline())
        try:
            while True:
                left = self._quiet_since + self.timeout - monotonic()
                done, _ = await asyncio.wait({reading}, timeout=max(left, 0.0))
                if done:
                    self._quiet_since = monotonic()
                    return reading.result()
                if self._waiting:
                    self._quiet_since = monotonic()
                elif monotonic() - self._quiet_since >= self.timeout:
                    raise TimeoutError
        finally:
            reading.cancel()

    async def last_words(self) -> str:
        """Read what the judge says on standard error, and keep the end of it."""
        stream, kept = self.process.stderr, b""
        while stream is not None and (part := await stream.read(1 << 16)):
            kept = (kept + part)[-_TAIL:]
        return shortened(kept.decode("utf-8", "replace"), _TAIL)


async def answers(
    command: Sequence[str], questions: Sequence[str], *, pace: Pace, timeout: float
) -> AsyncGenerator[str | Stopped, None]:
    """Start the command, write the questions to it, and give its lines as they come; the last thing is `Stopped`.

    Questions are written while answers are read. `timeout` is the longest silence that is borne; then, and whenever
    the caller goes away, the process and all it has started are killed.
    """
    pipe = asyncio.subprocess.PIPE
    try:
        process = await asyncio.create_subprocess_exec(
            *command, stdin=pipe, stdout=pipe, stderr=pipe, limit=LONGEST_ANSWER, start_new_session=True
        )
    except OSError as error:
        raise UsageError(f"{quoted(command[0])} cannot be started: {error.strerror or error}") from None
    talk = _Talk(process, pace, timeout)
    asking, errors = asyncio.create_task(talk.ask(questions)), asyncio.create_task(talk.last_words())
    trouble, said = "", ""
    try:
        while line := await talk.line():
            yield line.decode("utf-8", "replace").rstrip("\r\n")
        await asyncio.wait_for(process.wait(), timeout)
        trouble = f"ended with status {process.returncode}" if process.returncode else ""
    except TimeoutError:
        trouble = f"gave no answer for {timeout:g} seconds"
    except ValueError:
        trouble = f"wrote a line of more than {LONGEST_ANSWER >> 20} MB"
    finally:
        asking.cancel()
        if process.returncode is None or trouble:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(process.pid, signal.SIGKILL)
        with contextlib.suppress(TimeoutError):
            # Something that the judge has started and that has left its group may still hold its streams open.
            await asyncio.wait_for(process.wait(), 1)
            said = await asyncio.wait_for(errors, 1)
        # asyncio has no other way to let go of streams that somebody still holds open.
        process._transport.close()  # type: ignore[attr-defined]
    yield Stopped(f"{trouble}: {said}" if trouble and said else trouble)


ENOUGH = 100
"""From so many documents that people judged too, what is said of a judge's agreement with them means something."""

_SAVE_AFTER = 50
_SAVE_SECONDS = 2.0
_GIVE_UP_AFTER = 3
_JUDGE = re.compile(r"[^\s/@]+@[^\s/@]+")


@dataclass(frozen=True, kw_only=True)
class JudgeRequest:
    """Which judge is asked for what.

    `judge` is NAME@VERSION. `only` limits the documents to those that people have judged, or have not. With `limit`
    so many are drawn by the seed. `batch` documents go to one process; so many `parallel` processes run at once.
    """

    command: str
    judge: str
    pool: str = ""
    topics: tuple[str, ...] = ()
    only: Literal["all", "judged", "unjudged"] = "all"
    limit: int | None = None
    seed: int = 0
    batch: int = 20
    parallel: int = 1
    per_minute: float = 0
    timeout: float = 120


@dataclass(frozen=True)
class MachineJudged(Result):
    """What came of it: how many were asked, labelled, could not be told, are left open; and what went wrong."""

    layer: str
    asked: int
    labelled: int
    unable: int
    before: int
    problems: tuple[Problem, ...]
    agreement: Compared | None
    notes: tuple[str, ...] = ()
    remarks: tuple[str, ...] = ()

    def table(self) -> Table:
        """The agreement with people, one row per coefficient."""
        return estimates_table([self.agreement] if self.agreement else ())

    def tables(self) -> Sequence[Table]:
        """The same for people to read, where they have judged some of the documents."""
        if self.agreement is None:
            return ()
        return [
            overall_table(
                self.agreement.estimates, f"Agreement of {self.layer} with people, on documents judged by both"
            )
        ]


def judge_with(store: Store, request: JudgeRequest, *, progress: Progress = silent) -> MachineJudged:
    """Ask an external judge about every document it has not labelled yet; what it says is saved as it comes.

    It can be stopped at any time and started again: only what is missing is asked. Its labels never enter the qrels
    unless somebody names their layer.
    """
    if not _JUDGE.fullmatch(request.judge):
        raise UsageError(
            f"{quoted(request.judge)} is not a valid judge name; use NAME@VERSION, such as llama@3.1-prompt2"
        )
    layer = f"{MACHINE}{request.judge}"
    try:
        command = shlex.split(request.command)
    except ValueError as error:
        raise UsageError(f"the command {quoted(request.command)} cannot be parsed: {error}") from None
    if not command:
        raise UsageError("no command; name a program that reads JSON lines and writes JSON lines")
    wanted = _wanted(store, request)
    answered = events.answered_pairs(store, layer)
    pairs = [pair for pair in wanted if pair not in answered]
    listener = _Listener(store, request, layer, pairs, progress)
    if pairs:
        try:
            asyncio.run(listener.ask(command))
        finally:
            listener.save()
    labelled, unable, before = listener.labelled, listener.unable, len(wanted) - len(pairs)
    parts = [f"{labelled:,} of {counted(len(pairs), 'document')} labelled"]
    parts += [f"{unable:,} without a grade"] if unable else []
    parts += [f"{before:,} labelled before"] if before else []
    notes, agreement = [f"{layer}: {', '.join(parts)}"], agreement_with_people(store, layer)
    remarks: tuple[str, ...] = ()
    if agreement is None:
        notes.append("people have judged none of these documents: agreement with people is unknown")
    elif (both := agreement.estimates[0].items) < ENOUGH:
        remarks = (f"warning: only {both:,} documents were judged by both; {ENOUGH} or more are informative",)
    # The first problems of each kind, and how many more of it there were.
    problems = listener.problems + [
        Problem(code, f"… and {count:,} more like this ({code})", count=count)
        for code, count in listener.untold.items()
    ]
    done = len(pairs), labelled, unable, before
    return MachineJudged(layer, *done, tuple(problems), agreement, tuple(notes), remarks)


def _wanted(store: Store, request: JudgeRequest) -> list[Pair]:
    """The (topic, document) to be labelled: pooled or judged, in the order of topics and documents."""
    known = [topic.id for topic in documents.topics(store)]
    for topic in request.topics:
        if topic not in known:
            raise UnknownName("topic", topic, known)
    if request.pool:
        facts_of_pool(store, request.pool)
    judged = {row[:2] for row in events.opinion_rows(store, [MAIN])}
    pooled = set(events.pooled_documents(store, pool=request.pool))
    chosen = {"all": pooled if request.pool else pooled | judged, "judged": judged, "unjudged": pooled - judged}
    pairs = chosen[request.only]
    only = set(request.topics or known or [topic for topic, _ in pairs])
    order = {topic: place for place, topic in enumerate(known)}
    listed = sorted((pair for pair in pairs if pair[0] in only), key=lambda pair: (order.get(pair[0], 0), *pair))
    if not listed:
        raise InputError("nothing to label: no documents are pooled or judged for these topics")
    if request.limit is None or request.limit >= len(listed):
        return listed
    drawn = set(sorted(listed, key=lambda pair: draw(request.seed, "external judge", *pair))[: request.limit])
    return [pair for pair in listed if pair in drawn]


class _Listener(Judging):
    """Asks in batches, takes answers, saves labels, and remembers what went wrong."""

    def __init__(
        self, store: Store, request: JudgeRequest, layer: str, pairs: Sequence[Pair], progress: Progress
    ) -> None:
        super().__init__(store, request.judge, layer, str(uuid4()))
        self._request, self._pairs, self._progress, self.labelled, self.unable = request, pairs, progress, 0, 0
        size = max(1, request.batch)
        self.batches = [pairs[start : start + size] for start in range(0, len(pairs), size)]
        self._missing = {number: set(batch) for number, batch in enumerate(self.batches)}
        self._answered: dict[int, set[Pair]] = {number: set() for number in self._missing}
        self.problems, self.untold = list[Problem](), Counter[str]()
        self._waiting: list[Label] = []
        self._saved_at, self._done, self._in_vain = moment(), 0, 0

    async def ask(self, command: Sequence[str]) -> None:
        """Put each batch of questions to a process of its own, so many at once, until all are done or in vain."""
        waiting, pace = list(range(len(self.batches)))[::-1], Pace(self._request.per_minute)

        async def work() -> None:
            while waiting:
                number = waiting.pop()
                talking = answers(command, self._questions(number), pace=pace, timeout=self._request.timeout)
                async with contextlib.aclosing(talking) as talk:
                    async for said in talk:
                        if not self._hear(number, said):
                            waiting.clear()
                            return

        tasks = [asyncio.create_task(work()) for _ in range(max(1, min(self._request.parallel, len(self.batches))))]
        try:
            await asyncio.gather(*tasks)
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    def _questions(self, number: int) -> list[str]:
        lines = []
        for topic, name in self.batches[number]:
            text = documents.fetch(self._store, name)
            if text is None:
                self._missing[number].discard((topic, name))
                self._trouble("no-text", f"document {quoted(name)} is not in the collection; it was skipped")
                continue
            known = self._topics.get(topic) or Topic(topic, "")
            lines.append(question(known, text, self.scale, guidelines=self.guidelines))
        return lines

    def _hear(self, number: int, said: str | Stopped) -> bool:
        """Take what the process of a batch says; say whether to go on."""
        missing = self._missing[number]
        if isinstance(said, Stopped):
            if said.trouble:
                self._trouble("judge-stopped", f"the judge {said.trouble}")
            if missing:
                topic, name = min(missing)
                message = (
                    f"{counted(len(missing), 'document')} got no answer, for example topic {topic}, document {name}"
                )
                self._trouble("no-answer", message, count=len(missing))
            self._in_vain = self._in_vain + 1 if len(missing) == len(self.batches[number]) else 0
            if self._in_vain >= _GIVE_UP_AFTER:
                message = f"stopped after {_GIVE_UP_AFTER} batches in a row without any label"
                self._trouble("gave-up", message)
            return self._in_vain < _GIVE_UP_AFTER
        if not said.strip():
            return True
        label = label_from(said, self.scale, missing, self._answered[number])
        if isinstance(label, str):
            self._trouble("bad-answer", label)
            return True
        missing.discard((label.topic, label.document))
        self._answered[number].add((label.topic, label.document))
        self._waiting.append(label)
        self._done += 1
        self._progress("judging", self._done, len(self._pairs))
        if len(self._waiting) >= _SAVE_AFTER or moment() - self._saved_at > _SAVE_SECONDS:
            self.save()
        return True

    def _trouble(self, code: str, message: str, *, count: int = 1) -> None:
        if sum(problem.code == code for problem in self.problems) < LINES_KEPT:
            remedy = "run the same command again: it labels only what is missing" if code == "no-answer" else ""
            self.problems.append(Problem(code, message, count=count, remedy=remedy))
        else:
            self.untold[code] += 1

    def save(self) -> None:
        """Write what has been said so far."""
        labels, self._waiting, self._saved_at = self._waiting, [], moment()
        if not labels:
            return
        hashes = documents.content_hashes(self._store, list({label.document for label in labels}))
        made = [
            self._event(
                "cannot-judge" if label.grade is None else "judged",
                label.topic,
                label.document,
                grade=label.grade,
                reason=(label.note or "cannot tell") if label.grade is None else "",
                note=label.note,
                source="machine",
                source_name=self.assessor,
                confidence=label.confidence,
                document_hash=hashes.get(label.document, ""),
            )
            for label in labels
        ]
        with self._store.write():
            events.append_events(self._store, made, now=now())
        self.unable += sum(label.grade is None for label in labels)
        self.labelled += sum(label.grade is not None for label in labels)
