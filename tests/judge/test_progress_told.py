"""What `judge progress` looks at, and what it says below its table."""

from dataclasses import replace
from pathlib import Path

import pytest
from kept import Kept

from cranfield.base.errors import CranfieldError
from cranfield.judge.queue import Speed
from cranfield.store.store import Store, open_store
from cranfield.workflows.judge.judge import Judge
from cranfield.workflows.judge.organise import JudgingProgress, TopicProgress, judging_progress
from cranfield.workflows.judge.packets import make_packet


def test_in_a_packet_progress_looks_at_the_queue_of_the_packet(judging: Store, tmp_path: Path, kept: Kept):
    make_packet(judging, tmp_path / "packet.db", assessor="eve", topics=("t3",))
    with open_store(tmp_path / "packet.db") as packet:
        desk = Judge(packet).session("eve")
        item = desk.next_item()
        assert item is not None
        desk.judge(item, 2, seconds=1)
        desk.leave()
        found = judging_progress(packet)
        assert [(one.topic, one.documents, one.judged, one.missing) for one in found.topics] == [("t3", 3, 1, 2)]
        with kept.raises(CranfieldError):
            judging_progress(packet, pool="pool")


def progress(*, missing: int, seconds: float | None) -> JudgingProgress:
    topic = TopicProgress("t1", "", 9, 9 - missing, missing, 0, 0, 0)
    return JudgingProgress("pool", "main", (topic,), (), (), None if seconds is None else Speed(seconds, 20))


@pytest.mark.parametrize(
    "found",
    [
        progress(missing=0, seconds=1.0),
        progress(missing=1, seconds=None),
        progress(missing=2, seconds=1.2),
        progress(missing=1, seconds=0.1),
        progress(missing=8, seconds=900),
        replace(progress(missing=0, seconds=None), topics=()),
    ],
)
def test_what_is_missing_is_said_as_it_is(found: JudgingProgress, kept: Kept):
    kept(found.remarks[1])
