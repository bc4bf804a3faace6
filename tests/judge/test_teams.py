"""A team: who keeps a topic that is assigned again, whose part of a queue is whose, and why nothing is left to do."""

import shlex
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from command import call
from hypothesis import given
from hypothesis import strategies as st
from kept import Kept

from cranfield.judge.queue import equal_shares
from cranfield.store.judging import Queued, add_queue
from cranfield.store.runs import RunFacts
from cranfield.store.store import Store, open_store
from cranfield.workflows.judge.judge import Judge
from cranfield.workflows.judge.queue import split_notes
from cranfield.workflows.judge.session import StoredSession
from cranfield.workflows.status import status

Sit = Callable[..., StoredSession]


def judge_all(session: StoredSession, most: int = 100) -> StoredSession:
    while most and (item := session.next_item()):
        session.judge(item, 1, seconds=1.0)
        most -= 1
    session.leave()
    return session


def given_out(judge: Judge, *names: str, **options: object) -> dict[str, list[tuple[str, str]]]:
    made: dict[str, list[tuple[str, str]]] = {}
    for one in judge.assign(names, **options).made:
        made.setdefault(one.topic, []).append((one.assessor, one.role))
    return made


def test_who_judged_a_topic_stays_primary_when_all_are_assigned_again(judging: Store, sit: Sit, kept: Kept):
    judge = Judge(judging)
    judge.assign(["ana"])
    judge_all(sit("ana", topics=["t1"]))
    judge_all(sit("ana", topics=["t2"]), 2)
    made = judge.assign(["ben", "cleo"], again=True)
    assert [(one.topic, one.assessor, one.role) for one in made.made] == [
        ("t1", "ana", "primary"),
        ("t2", "ana", "primary"),
        ("t2", "ben", "share"),
        ("t3", "cleo", "primary"),
    ]
    kept("\n".join(made.notes))


@pytest.mark.parametrize("together", [False, True])
def test_others_take_judged_topics_over_only_where_that_is_asked_for(judging: Store, sit: Sit, together: bool):
    judge = Judge(judging)
    judge_all(sit("ana"))
    asked = {"topics": ["t3"], "together": together}
    share = [("ben", "share")] if together else []
    assert given_out(judge, "ben", **asked) == {"t3": [("ana", "primary"), *share]}
    assert given_out(judge, "ben", **asked, take_over=True) == {"t3": [("ben", "primary")]}


def test_an_unfinished_topic_of_nobody_goes_to_one_of_the_named_who_judged_in_it(judging: Store, sit: Sit):
    judge_all(sit("cleo", topics=["t1"]), 1)
    judge_all(sit("ben", topics=["t2"]), 3)
    made = given_out(Judge(judging), "ana", "ben")
    assert made == {"t1": [("ana", "primary")], "t2": [("ben", "primary")], "t3": [("ben", "primary")]}


def test_where_all_share_the_first_is_primary_of_what_they_judged(judging: Store, sit: Sit):
    judge = Judge(judging)
    judge.assign(overlap=1.0)
    judge_all(sit("ana", topics=["t3"]))
    judge_all(sit("ben", topics=["t3"]))
    made = judge.assign(["ben", "ana"], topics=["t3"], together=True)
    assert (made.made[0].assessor, made.kept) == ("ben", {})


@given(
    st.dictionaries(st.sampled_from("abcdefgh"), st.integers(0, 9), min_size=1),
    st.dictionaries(st.sampled_from("abcdefgh"), st.sampled_from(["p0", "p1", "old"])),
    st.integers(0, 2),
)
def test_a_kept_primary_is_the_only_primary_and_nobody_has_two_roles(sizes, kept, seconds):
    made = equal_shares(sizes, ["p0", "p1", "p2"], seconds=seconds, kept=kept)
    for topic, size in sizes.items():
        roles = {one.assessor: one.role for one in made if one.topic == topic}
        assert len(roles) == sum(one.topic == topic for one in made)
        primary = next(name for name, role in roles.items() if role == "primary")
        assert primary == kept.get(topic, primary)
        assert list(roles.values()).count("second") == seconds
        assert ("share" in roles.values()) == (primary == "old" and size > 0)


@pytest.fixture
def queued(judging: Store) -> Store:
    pairs = [("t1", "d13"), ("t1", "d14"), ("t2", "d01"), ("t3", "d01"), ("t3", "d02"), ("t3", "d03")]
    with judging.write():
        add_queue(judging, "decide it", [Queued(*pair) for pair in pairs], purpose="settle")
    return judging


def told(store: Store) -> str:
    noted = [note for note in status(store).remarks if "queue" in note]
    return "\n".join([*Judge(store).progress().remarks, *noted, *split_notes(store, "decide it")])


def test_a_queue_says_who_judges_which_part_of_it(queued: Store, kept: Kept):
    kept(told(queued))
    Judge(queued).assign(["ana"], topics=["t1", "t3"])
    Judge(queued).assign(["ben", "cleo"], topics=["t2"], together=True)
    kept(told(queued))


def test_of_documents_that_two_judge_both_judgments_count(queued: Store, kept: Kept):
    Judge(queued).assign(["ana", "ben"], together=True, overlap=1.0)
    kept(told(queued))


def test_a_second_judgment_is_the_part_of_who_is_second(queued: Store, sit: Sit, kept: Kept):
    judge = Judge(queued)
    judge.assign(["ana", "ben"], overlap=0.6)
    kept(told(queued))
    for name in ("ana", "ben"):
        session = sit(name, queue="decide it")
        kept(f"{name}: {session.progress().left} left")
        kept("\n".join(judge.closing_notes(judge_all(session))))
    kept(told(queued))


def test_the_next_step_waits_for_second_judgments(judging: Store, sit: Sit, kept: Kept):
    Judge(judging).assign(overlap=1.0)
    judge_all(sit("ana"))
    once = status(judging)
    kept(next_step(judging))
    judge_all(sit("ben"))
    assert (once.missing, status(judging).missing) == (21, 0)


def next_step(store: Store) -> str:
    now, run = status(store), RunFacts("r", "r", "g", "", "contributing", 1, "", "score", 3, 21, "", "", "", "")
    return " ".join(replace(now, runs=(run,), counts=now.counts._replace(contributing=1)).next_step)


@pytest.mark.parametrize("assigned", [False, True])
def test_what_nobody_is_left_to_judge_is_not_missing(judging: Store, sit: Sit, kept: Kept, assigned: bool):
    judge = Judge(judging)
    judge.assign(["ana", "ben"] if assigned else [], overlap=1.0)
    judge_all(sit("ana"))
    unable = sit("ben")
    item = unable.next_item()
    unable.judge(item, None, reason="in Welsh", seconds=1.0)
    judge_all(unable)
    kept("\n".join([*judge.progress().remarks, status(judging).remarks[0], next_step(judging)]))
    kept("\n".join(judge.closing_notes(sit("ana"))))
    if assigned:
        judge.assign(["ana", "ben", "cleo"], together=True, topics=[item.topic.id])
    assert sit("cleo").progress().left == status(judging).missing == 1


def test_where_nobody_can_judge_a_document_the_next_step_is_a_release(judging: Store, sit: Sit, kept: Kept):
    ana = sit("ana")
    ana.judge(ana.next_item(), None, reason="in Welsh", seconds=1.0)
    judge_all(ana)
    kept("\n".join([*Judge(judging).progress().remarks, next_step(judging)]))


def test_a_queue_that_is_judged_is_no_longer_open(queued: Store, sit: Sit, kept: Kept):
    judge_all(sit("ana", queue="decide it"))
    kept(told(queued))


def test_at_the_end_of_ones_own_part_of_a_queue_the_others_are_told(queued: Store, sit: Sit, kept: Kept):
    judge = Judge(queued)
    judge.assign(["ana"], topics=["t1"])
    judge.assign(["ben"], topics=["t2"])
    session = judge_all(sit("ben", queue="decide it"))
    assert session.progress().left == 0
    kept("\n".join(judge.closing_notes(session)))


def test_an_assessor_with_nothing_to_do_is_told_why_and_who_can_change_that(queued: Store, sit: Sit, kept: Kept):
    judge = Judge(queued)
    judge.assign(["ana"])
    kept("\n".join(judge.closing_notes(sit("cleo o'hara"))))
    done = judge_all(sit("ana", topics=["t3"]))
    kept("\n".join(judge.closing_notes(done)))
    kept("\n".join(judge.closing_notes(judge_all(sit("ana")))))
    judge_all(sit("ana", queue="decide it"))
    kept("\n".join(judge.closing_notes(sit("ana"))))


def test_what_is_advised_gives_a_part_of_the_queue_also_where_the_pool_is_judged(queued: Store, sit: Sit):
    judge = Judge(queued)
    judge.assign(["ana"])
    judge_all(sit("ana"))
    (note,) = judge.closing_notes(sit("cleo", queue="decide it"))[1:]
    call(*shlex.split(note.rpartition(": cranfield ")[2]), folder=queued.path.parent)
    assert sit("cleo", queue="decide it").progress().left == 2


def test_an_assessor_who_comes_when_all_is_judged_is_told_how_to_get_second_judgments(
    judging: Store, sit: Sit, kept: Kept
):
    judge = Judge(judging)
    judge_all(sit("ana"))
    kept("\n".join(judge.closing_notes(sit("cleo"))))
    judge.assign(["ana", "cleo"], overlap=0.2, again=True)
    judge_all(sit("cleo"))
    kept("\n".join(judge.closing_notes(sit("dora"))))
    judge.assign(["ana", "cleo", "dora"], overlap=0.4, again=True)
    assert sit("dora").progress().left


def test_a_judged_packet_is_to_be_sent_back(queued: Store, tmp_path: Path, kept: Kept):
    Judge(queued).packet("eve", tmp_path / "packet.db", topics=["t3"])
    with open_store(tmp_path / "packet.db") as packet:
        judge = Judge(packet)
        kept("\n".join(judge.closing_notes(judge_all(judge.session("eve")))))


def test_topics_are_listed_in_the_order_they_were_given(tmp_path: Path):
    files = {"d.csv": "id,text\na,wings\nb,flaps\n", "t.csv": "id,title\n9,wings\n10,flaps\n", "r.run": ""}
    files["r.run"] = "9 Q0 a 1 2 r\n10 Q0 b 1 1 r\n"
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    for line in ("init", "corpus add d.csv", "corpus topics t.csv", "runs submit r.run", "pool build depth 1"):
        call(*line.split(), folder=tmp_path)
    call("judge", "--plain", "-a", "ana", folder=tmp_path, answers="1\n1\n")
    told = call("judge", "assign", "ana", "ben", "--overlap", "50%", "-f", "csv", folder=tmp_path)
    assert "ana judged 9, 10 and stays primary" in told.err
    assert [line.split(",")[0] for line in told.out.splitlines()] == ["topic", "9", "9", "10", "10"]
    shown = call("pool", "show", "--by", "topic", "-f", "csv", folder=tmp_path).out
    assert [line.split(",")[0] for line in shown.splitlines()] == ["topic", "9", "10"]
