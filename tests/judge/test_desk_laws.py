"""Whatever several assessors do: no document is given twice, nothing is lost, and the counts are right."""

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from hypothesis import example, given, settings
from hypothesis import strategies as st

from cranfield.base.errors import InputError
from cranfield.judge.queue import Overlap, Probes
from cranfield.judge.session import Item
from cranfield.store.events import events, projection_faults, standing
from cranfield.store.judging import live_leases, put_setting
from cranfield.store.store import Store, open_store
from cranfield.workflows.judge.judge import Judge
from cranfield.workflows.judge.session import StoredSession

EXAMPLES = 1_000 if os.environ.get("CRANFIELD_SOAK") else 12
ASSESSORS = ("ana", "ana", "ben", "cleo")
ACTIONS = (
    "judge",
    "judge",
    "judge",
    "postpone",
    "cannot",
    "undo",
    "keep",
    "leave",
    "take",
    "reopen",
    "topic",
    "wait",
)
Step = tuple[int, str, int]


class Bench:
    """Several sittings over one file, and a clock for all of them."""

    def __init__(self, path: Path, overlap: float, probes: float) -> None:
        self.seconds = 1_000_000.0
        self.store = open_store(path)
        with self.store.write():
            put_setting(self.store, Overlap(overlap, 2, 1))
            put_setting(self.store, Probes(probes, 2, 1))
        self.stores = [open_store(path) for _ in ASSESSORS]
        self.desks = [self.seat(store, name) for store, name in zip(self.stores, ASSESSORS, strict=True)]
        self.items: dict[int, Item] = {}

    def seat(self, store: Store, name: str) -> StoredSession:
        desk = Judge(store).session(name, clock=lambda: self.seconds)
        desk._queue.lease_seconds = 100.0
        return desk

    def do(self, place: int, action: str, number: int) -> None:
        desk = self.desks[place]
        item = desk.next_item()
        if item is None and action in ("judge", "postpone", "cannot", "keep"):
            return
        if action == "judge":
            desk.judge(item, number % 4, seconds=1)
        elif action == "postpone":
            desk.judge(item, None, seconds=1)
        elif action == "cannot":
            desk.judge(item, None, reason="why", seconds=1)
        elif action == "keep":
            desk.keep(item)
        else:
            self.other(desk, action, number)

    def other(self, desk: StoredSession, action: str, number: int) -> None:
        if action == "undo":
            # What was postponed or refused may be somebody else's by now.
            with suppress(InputError):
                desk.undo()
        elif action == "leave":
            desk.leave()
        elif action == "topic":
            desk.choose_topic(f"t{number % 3 + 1}")
        elif action == "wait":
            self.seconds += 60
        elif action == "take":
            # Somebody else may be judging it at the moment.
            with suppress(InputError):
                desk.judge(desk.reopen(f"t{number % 3 + 1}", f"d{number % 30 + 1:02}", "soup"), 1, seconds=1)
        elif past := desk.history():
            chosen = past[number % len(past)]
            desk.judge(desk.reopen(chosen.topic, chosen.document), 2, seconds=1)

    def close(self) -> None:
        for store in [self.store, *self.stores]:
            store.close()


@contextmanager
def bench(furnished: Path, folder: Path, overlap: float, probes: float) -> Iterator[Bench]:
    path = Path(shutil.copy(furnished, folder / "collection.db"))
    made = Bench(path, overlap, probes)
    try:
        yield made
    finally:
        made.close()
        for left in folder.glob("collection.db*"):
            left.unlink()


STEPS = st.lists(
    st.tuples(st.integers(0, len(ASSESSORS) - 1), st.sampled_from(ACTIONS), st.integers(0, 100)), max_size=60
)


A_PROBE_CAME_ALONE = [
    *((3, "judge", 100), (2, "reopen", 90), (2, "reopen", 100), (0, "wait", 86), (1, "judge", 53), (1, "take", 97)),
    *((2, "judge", 79), (1, "wait", 43), (3, "judge", 37), (0, "take", 38), (1, "postpone", 36)),
    *((0, "reopen", 89), (0, "judge", 5)),
]


@settings(max_examples=EXAMPLES)
@example(A_PROBE_CAME_ALONE, 0.5, 0.5)
@given(STEPS, st.sampled_from([0.0, 0.5]), st.sampled_from([0.0, 0.5]))
def test_whatever_happens_the_file_is_right(furnished, tmp_path_factory, steps, overlap, probes):
    with bench(furnished, tmp_path_factory.mktemp("laws"), overlap, probes) as made:
        plan = Overlap(overlap, 2, 1)
        for step in steps:
            made.do(*step)
            leases = live_leases(made.store, "main", moment=made.seconds)
            held = {(lease.topic, lease.document, lease.assessor) for lease in leases}
            assert len(held) == len(leases)
        assert projection_faults(made.store) == []
        assert all(one.position > 0 for one in events(made.store))
        for store, name, desk in zip(made.stores, ASSESSORS, made.desks, strict=True):
            desk.topics()
            fresh = made.seat(store, name)
            assert desk._queue.count_all() == fresh._queue.count_all()
            assert probes or desk.progress().left == fresh.progress().left
            # What the file counts at once, for a fresh session, is what is counted document by document.
            one_by_one = {topic: desk._queue.count(topic) for topic in desk._queue.roles}
            assert one_by_one == fresh._queue.counts
        finish(made)
        graded: dict[tuple[str, str], set[str]] = {}
        refused: dict[tuple[str, str], set[str]] = {}
        for one in standing(made.store):
            (graded if one.grade is not None else refused).setdefault((one.topic, one.document), set()).add(
                one.assessor
            )
        for pair in made.store.rows("SELECT topic, document FROM pool_entries"):
            could_not = refused.get(pair, set())
            assert len(graded.get(pair, set())) >= min(plan.needed(*pair), 3 - len(could_not))


def finish(made: Bench) -> None:
    """Let everybody judge what is left."""
    made.seconds += 1_000
    for desk in made.desks:
        for _ in range(500):
            item = desk.next_item()
            if item is None:
                break
            desk.judge(item, 1, seconds=1)
        assert desk.next_item() is None
        desk.leave()


@settings(max_examples=EXAMPLES)
@given(st.lists(st.tuples(st.integers(0, 3), st.sampled_from(["judge", "postpone", "undo", "cannot"])), max_size=40))
def test_while_nobody_is_slow_no_document_is_given_to_two(furnished, tmp_path_factory, steps):
    with bench(furnished, tmp_path_factory.mktemp("laws"), 0.0, 0.0) as made:
        for place, action in steps:
            made.do(place, action, 1)
            shown = [desk.next_item() for desk in made.desks]
            pairs = [(item.topic.id, item.document.id) for item in shown if item is not None]
            assert len(set(pairs)) == len(pairs)
        finish(made)
        answers: dict[tuple[str, str], list[str]] = {}
        for one in standing(made.store):
            if one.grade is not None:
                answers.setdefault((one.topic, one.document), []).append(one.assessor)
        assert {len(names) for names in answers.values()} <= {1}
