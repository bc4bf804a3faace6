"""Let an external judge (a model, a script) label documents, in a layer of its own."""

from __future__ import annotations

import asyncio
import contextlib
import os
import re
import shlex
import signal
from asyncio.subprocess import PIPE, Process
from collections import Counter, deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal
from uuid import uuid4

from cranfield.base.errors import LINES_KEPT, InputError, Problem, UsageError, check_known, quoted
from cranfield.base.files import Progress, silent
from cranfield.base.records import MAIN, Document, Pair
from cranfield.base.text import Result, Table, beside, counted, moment, shortened
from cranfield.judge.events import Event
from cranfield.judge.external import label_from, question
from cranfield.judge.queue import draw
from cranfield.store import Store, documents, events
from cranfield.store.pools import facts_of_pool
from cranfield.workflows.judge.agreement import Compared, agreement_with_people, estimates_table, overall_table
from cranfield.workflows.judge.imports import MACHINE
from cranfield.workflows.judge.session import Judging
from cranfield.workflows.outside import LONG_PATIENCE

LONGEST_ANSWER = 1 << 20
LONGEST_OUTPUT = 1 << 26
"""How much a judge may print for one batch (64 MB): an answer has a few hundred bytes."""

ENOUGH = 100
"""The fewest documents judged by people too for which the agreement with them is informative."""

_SAVE_AFTER = 50
_SAVE_SECONDS = 2.0
_GIVE_UP_AFTER = 3
_TAIL = 400
_JUDGE = re.compile(r"[^\s/@]+@[^\s/@]+")


@dataclass(frozen=True)
class MachineJudged(Result):
    """The labels of an external judge: how many were requested, given, impossible (`unable`) or made before."""

    layer: str
    asked: int
    labelled: int
    unable: int
    before: int
    problems: Sequence[Problem]
    agreement: Compared | None
    notes: Sequence[str] = ()
    remarks: Sequence[str] = ()

    def table(self) -> Table:
        """The agreement with people, one row per coefficient."""
        return estimates_table([self.agreement] if self.agreement else ())

    def tables(self) -> Sequence[Table]:
        """The same for people to read, where they have judged some of the documents."""
        caption = f"Agreement of {self.layer} with people, on documents judged by both"
        return [overall_table([self.agreement], caption)] if self.agreement else ()


def judge_with(
    store: Store,
    command: str,
    judge: str,
    *,
    pool: str = "",
    topics: Sequence[str] = (),
    only: Literal["all", "judged", "unjudged"] = "all",
    limit: int | None = None,
    batch: int = 20,
    parallel: int = 1,
    timeout: float = 120,
    progress: Progress = silent,
) -> MachineJudged:
    """Let an external judge (NAME@VERSION) label every document that it has not labelled yet.

    `only` limits the documents to those that people have judged, or have not. With `limit` so many are drawn at
    random. `batch` documents go to one process; so many `parallel` processes run at once. It can be stopped at any
    time and resumed: labels are saved as they come, and only missing ones are requested. They enter the qrels only
    where their layer is named.
    """
    if not _JUDGE.fullmatch(judge):
        raise UsageError(f"{quoted(judge)} is not a valid judge name; use NAME@VERSION, such as llama@3.1-prompt2")
    layer = f"{MACHINE}{judge}"
    try:
        words = shlex.split(command)
    except ValueError as error:
        raise UsageError(f"the command {quoted(command)} cannot be parsed: {error}") from None
    if not words:
        raise UsageError("no command; name a program that reads JSON lines and writes JSON lines")
    wanted = _wanted(store, pool, topics, only, limit)
    answered = events.answered_pairs(store, layer)
    pairs = [pair for pair in wanted if pair not in answered]
    labelling = _Labelling(store, judge, layer, words, timeout, len(pairs), progress)
    if pairs:
        try:
            asyncio.run(labelling.run(pairs, batch=max(1, batch), parallel=parallel))
        finally:
            labelling.save()
    labelled, unable, before = labelling.labelled, labelling.unable, len(wanted) - len(pairs)
    more = beside({"without a grade": unable, "labelled before": before})
    notes = [f"{layer}: {labelled:,} of {counted(len(pairs), 'document')} labelled{more}"]
    agreement = agreement_with_people(store, layer)
    remarks: Sequence[str] = ()
    if agreement is None:
        notes.append("people have judged none of these documents: agreement with people is unknown")
    elif (both := agreement.estimates[0].items) < ENOUGH:
        remarks = (f"warning: only {both:,} documents were judged by both; {ENOUGH} or more are informative",)
    # The first problems of each kind, and how many more of it there were.
    problems = labelling.problems + [
        Problem(code, f"… and {count:,} more like this ({code})", count=count)
        for code, count in labelling.untold.items()
    ]
    done = len(pairs), labelled, unable, before
    return MachineJudged(layer, *done, problems, agreement, notes, remarks)


def _wanted(store: Store, pool: str, topics: Sequence[str], only: str, limit: int | None) -> list[Pair]:
    """The (topic, document) to be labelled: pooled or judged, in the order of topics and documents."""
    known = [topic.id for topic in documents.topics(store)]
    check_known("topic", topics, known)
    if pool:
        facts_of_pool(store, pool)
    judged = {row[:2] for row in events.opinion_rows(store, [MAIN])}
    pooled = set(events.pooled_documents(store, pool=pool))
    chosen = {"all": pooled if pool else pooled | judged, "judged": judged, "unjudged": pooled - judged}
    drawn = sorted(chosen[only], key=lambda pair: draw(0, "external judge", *pair))
    # Where the collection has no topics, those that were judged elsewhere.
    drawn = [pair for pair in drawn if pair[0] in (topics or known or [pair[0]])][:limit]
    if not drawn:
        raise InputError("nothing to label: no documents are pooled or judged for these topics")
    order = {topic: place for place, topic in enumerate(known)}
    return sorted(drawn, key=lambda pair: (order.get(pair[0], 0), *pair))


async def _keep_tail(process: Process, complaints: bytearray) -> None:
    """Read what a judge says on standard error, and keep the end of it: it may never stop."""
    assert process.stderr is not None  # the process was started with pipes
    while block := await process.stderr.read(LONGEST_ANSWER):
        complaints += block
        del complaints[:-_TAIL]


def _kill(process: Process, mark: bytes) -> None:
    """End a judge with all it has started: its group, and on Linux whatever has its mark in the environment."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)
    for environment in Path("/proc").glob("[0-9]*/environ"):
        with contextlib.suppress(OSError):
            if mark in environment.read_bytes():
                os.kill(int(environment.parent.name), signal.SIGKILL)


class _Labelling(Judging):
    """One run of an external judge: batches of questions to processes, labels saved as they come, all problems."""

    def __init__(
        self,
        store: Store,
        judge: str,
        layer: str,
        command: Sequence[str],
        timeout: float,
        total: int,
        progress: Progress,
    ) -> None:
        super().__init__(store, judge, layer, str(uuid4()))
        self._command, self._timeout, self._total, self._progress = command, timeout, total, progress
        self.labelled = self.unable = self._done = self._in_vain = 0
        self.problems, self.untold = list[Problem](), Counter[str]()
        self._unsaved, self._saved_at = list[Event](), moment()
        self._hashes: dict[str, str] = {}
        self._fetched: dict[str, Document] = {}

    async def run(self, pairs: Sequence[Pair], *, batch: int, parallel: int) -> None:
        """Judge batch after batch, each by a process of its own, several at once, until all are done or in vain."""
        batches = deque(pairs[start : start + batch] for start in range(0, len(pairs), batch))

        async def work() -> None:
            while batches and self._in_vain < _GIVE_UP_AFTER:
                await self._judge_batch(batches.popleft())

        try:
            async with asyncio.TaskGroup() as group:
                for _ in range(min(parallel, len(batches))):
                    group.create_task(work())
        except ExceptionGroup as failed:
            raise failed.exceptions[0] from None
        if self._in_vain >= _GIVE_UP_AFTER:
            self._trouble("gave-up", f"stopped after {_GIVE_UP_AFTER} batches in a row without any label")

    async def _judge_batch(self, batch: Sequence[Pair]) -> None:
        """Let a process answer the questions of a batch, then end it with all it has started."""
        questions, trouble = dict[Pair, str](), ""
        for topic, name in batch:
            text = documents.fetch(self._store, name)
            if text is None and self._outside is not None:
                # Other judges are listened to meanwhile.
                found = await asyncio.to_thread(self._outside.find, name, patience=LONG_PATIENCE)
                if isinstance(found, Document):
                    text = self._fetched[name] = found
                else:
                    self._trouble("no-text", f"document {quoted(name)} was skipped: {found.reason}")
                    continue
            if text is None:
                self._trouble("no-text", f"document {quoted(name)} is not in the collection; it was skipped")
                continue
            self._hashes[name] = text.content_hash
            questions[topic, name] = question(self._topic(topic), text, self.scale, guidelines=self.guidelines)
        missing, mark = set(questions), str(uuid4())
        environment = os.environ | {"CRANFIELD_JUDGE": mark}
        try:
            process = await asyncio.create_subprocess_exec(
                *self._command,
                stdin=PIPE,
                stdout=PIPE,
                stderr=PIPE,
                limit=LONGEST_ANSWER,
                env=environment,
                start_new_session=True,
            )
        except OSError as error:
            raise UsageError(f"{quoted(self._command[0])} cannot be started: {error.strerror or error}") from None
        complaints = bytearray()
        listening = asyncio.create_task(_keep_tail(process, complaints))
        try:
            await self._converse(process, questions.values(), missing)
            trouble = f"ended with status {process.returncode}" if process.returncode else ""
        except TimeoutError:
            trouble = f"gave no answer for {self._timeout:g} seconds"
        except ValueError:
            trouble = f"wrote a line of more than {LONGEST_ANSWER >> 20} MB"
        except OverflowError:
            trouble = f"wrote more than {LONGEST_OUTPUT >> 20} MB"
        finally:
            if process.returncode is None or trouble:
                _kill(process, mark.encode())
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(asyncio.gather(process.wait(), listening), 1)
            # What the judge has started and left behind may hold its streams open; asyncio has no other way.
            process._transport.close()  # type: ignore[attr-defined]
        said = shortened(complaints.decode("utf-8", "replace"), _TAIL)
        if trouble:
            self._trouble("judge-stopped", f"the judge {trouble}: {said}" if said else f"the judge {trouble}")
        if missing:
            topic, name = min(missing)
            example = f"for example topic {topic}, document {name}"
            message = f"{counted(len(missing), 'document')} got no answer, {example}"
            self._trouble("no-answer", message, count=len(missing))
        self._in_vain = self._in_vain + 1 if len(missing) == len(questions) else 0

    async def _converse(self, process: Process, questions: Iterable[str], missing: set[Pair]) -> None:
        """Write the questions while answers are read; a TimeoutError after too long a silence.

        Silence is counted from the latest question or label: what is no label does not end it. More output than any
        labels need is an `OverflowError`.
        """
        stdin, stdout, limit = process.stdin, process.stdout, self._timeout
        assert stdin is not None  # the process was started with pipes
        assert stdout is not None

        async def write(silence: asyncio.Timeout) -> None:
            # A judge that does not read to the end is found out by its missing answers.
            with contextlib.suppress(ConnectionError):
                for question in questions:
                    silence.reschedule(asyncio.get_running_loop().time() + limit)
                    stdin.write(question.encode("utf-8", "replace") + b"\n")
                    await stdin.drain()
                stdin.close()

        async with asyncio.timeout(limit) as silence:
            writing = asyncio.create_task(write(silence))
            try:
                printed = 0
                while line := await stdout.readline():
                    printed += len(line)
                    if printed > LONGEST_OUTPUT:
                        raise OverflowError
                    left = len(missing)
                    self._take(line.decode("utf-8", "replace"), missing)
                    if len(missing) < left:
                        silence.reschedule(asyncio.get_running_loop().time() + limit)
                await process.wait()
            finally:
                writing.cancel()

    def _take(self, line: str, missing: set[Pair]) -> None:
        """Take one line of answer: a label is saved soon, anything else is a problem."""
        if not line.strip():
            return
        label = label_from(line.rstrip("\r\n"), self.scale, missing)
        if isinstance(label, str):
            self._trouble("bad-answer", label)
            return
        missing.discard(pair := (label.topic, label.document))
        cannot_tell = label.grade is None
        self._unsaved.append(
            self._event(
                "cannot-judge" if cannot_tell else "judged",
                *pair,
                grade=label.grade,
                reason=(label.note or "cannot tell") if cannot_tell else "",
                note=label.note,
                source="machine",
                source_name=self.assessor,
                confidence=label.confidence,
                document_hash=self._hashes[label.document],
            )
        )
        self._done += 1
        self._progress("judging", self._done, self._total)
        if len(self._unsaved) >= _SAVE_AFTER or moment() - self._saved_at > _SAVE_SECONDS:
            self.save()

    def _trouble(self, code: str, message: str, *, count: int = 1) -> None:
        if sum(problem.code == code for problem in self.problems) < LINES_KEPT:
            remedy = "run the same command again: it labels only what is missing" if code == "no-answer" else ""
            self.problems.append(Problem(code, message, count=count, remedy=remedy))
        else:
            self.untold[code] += 1

    def save(self) -> None:
        """Write what has been said so far."""
        made, self._unsaved, self._saved_at = self._unsaved, [], moment()
        if made:
            with self._store.write():
                fetched = (self._fetched.pop(event.document, None) for event in made)
                documents.keep(self._store, filter(None, fetched))
                events.append_events(self._store, made)
        self.unable += sum(event.grade is None for event in made)
        self.labelled += sum(event.grade is not None for event in made)
