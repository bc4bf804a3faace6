"""A program as a judge: what it is asked, what it may answer, and everything that can go wrong with it."""

import json
import os
import shlex
import signal
import sys
import textwrap
import time
from contextlib import suppress
from pathlib import Path

import pytest
from kept import Kept

from cranfield.base.errors import InputError, UnknownName, UsageError
from cranfield.base.records import BINARY, Document, Topic
from cranfield.judge.external import Label, label_from, question
from cranfield.store.events import assessors, events, projection_faults
from cranfield.store.store import Store
from cranfield.workflows.judge.external import MachineJudged, judge_with
from cranfield.workflows.judge.imports import import_judgments
from cranfield.workflows.qrels import Selection, qrels_for

HONEST = """
    for line in sys.stdin:
        asked = json.loads(line)
        number = int(asked["document"]["id"][1:])
        said = {"topic": asked["topic"]["id"], "document": asked["document"]["id"], "grade": number % 4}
        print(json.dumps({**said, "confidence": 0.5, "note": f"n{number}"}), flush=True)
"""


def program(folder: Path, body: str) -> str:
    file = folder / f"judge{len(list(folder.glob('judge*.py')))}.py"
    file.write_text("import json, sys, time, os\n" + textwrap.dedent(body), encoding="utf-8")
    return shlex.join([sys.executable, str(file)])


def asked(store: Store, command: str, **options: object) -> MachineJudged:
    return judge_with(store, command, "m@1", **{"timeout": 20, **options})  # type: ignore[arg-type]


def codes(done: MachineJudged) -> list[str]:
    return [problem.code for problem in done.problems]


def test_labels_go_into_a_layer_of_their_own_and_never_into_the_qrels(judging: Store, tmp_path: Path):
    done = asked(judging, program(tmp_path, HONEST), topics=("t3",))
    assert (done.layer, done.asked, done.labelled, done.unable, done.problems) == ("machine/m@1", 3, 3, 0, [])
    found = [(one.document, one.grade, one.note, one.confidence, one.source, one.layer) for one in events(judging)]
    assert found == [
        ("d20", 0, "n20", 0.5, "machine", "machine/m@1"),
        ("d21", 1, "n21", 0.5, "machine", "machine/m@1"),
        ("d22", 2, "n22", 0.5, "machine", "machine/m@1"),
    ]
    assert assessors(judging) == {"m@1": "machine"}
    assert list(qrels_for(judging, "now")) == []
    assert len(qrels_for(judging, "now", Selection(layers=("main", "machine/m@1")))) == 3
    assert projection_faults(judging) == []


def test_only_what_is_missing_is_asked_again(judging: Store, tmp_path: Path, kept: Kept):
    half = HONEST.replace("for line in sys.stdin:", "for line in list(sys.stdin)[:2]:")
    first = asked(judging, program(tmp_path, half), topics=("t3",))
    assert (first.labelled, codes(first)) == (2, ["no-answer"])
    kept(first.problems[0].message)
    second = asked(judging, program(tmp_path, HONEST), topics=("t3",))
    assert (second.asked, second.labelled, second.before) == (1, 1, 2)
    assert asked(judging, "false", topics=("t3",)).asked == 0


def test_many_processes_at_once_in_batches_lose_nothing(judging: Store, tmp_path: Path):
    done = asked(judging, program(tmp_path, HONEST), batch=2, parallel=3)
    assert (done.asked, done.labelled, done.problems) == (21, 21, [])


def test_answers_may_come_in_any_order_and_only_at_the_end(judging: Store, tmp_path: Path):
    late = HONEST.replace("for line in sys.stdin:", "for line in reversed(list(sys.stdin)):")
    assert asked(judging, program(tmp_path, late), topics=("t1",)).labelled == 12


def test_a_judge_that_cannot_tell_is_not_asked_again(judging: Store, tmp_path: Path):
    unsure = HONEST.replace('"grade": number % 4', '"grade": None')
    done = asked(judging, program(tmp_path, unsure), topics=("t3",))
    assert (done.labelled, done.unable, done.agreement) == (0, 3, None)
    assert {(one.kind, one.grade, one.reason) for one in events(judging)} == {
        ("cannot-judge", None, f"n{number}") for number in (20, 21, 22)
    }
    assert asked(judging, program(tmp_path, HONEST), topics=("t3",)).asked == 0


def test_bad_lines_are_told_and_the_good_ones_kept(judging: Store, tmp_path: Path, kept: Kept):
    body = """
        lines = [json.loads(line) for line in sys.stdin]
        first = {"topic": "t3", "document": "d20"}
        print("thinking ...")
        print("[1]")
        print(json.dumps(first))
        print(json.dumps({**first, "grade": 9}))
        print(json.dumps({**first, "grade": "2"}))
        print(json.dumps({**first, "grade": True}))
        print(json.dumps({**first, "grade": 2, "confidence": 3}))
        print(json.dumps({"topic": "t3", "document": "d01", "grade": 1}))
        print()
        print(json.dumps({**first, "topic": {"id": "t3"}, "grade": 2}))
        print(json.dumps({**first, "grade": 1}))
    """
    done = asked(judging, program(tmp_path, body), topics=("t3",))
    assert (done.labelled, codes(done)) == (1, [*["bad-answer"] * 9, "no-answer"])
    kept([problem.message for problem in done.problems])


@pytest.mark.parametrize("confidence", [True, "0.5", "high", -0.1, [0.5]])
def test_a_confidence_that_is_no_number_from_0_to_1_makes_no_label(
    judging: Store, tmp_path: Path, confidence: object
):
    body = HONEST.replace('"confidence": 0.5', f'"confidence": {confidence!r}')
    done = asked(judging, program(tmp_path, body), topics=("t3",))
    assert (done.labelled, codes(done)) == (0, [*["bad-answer"] * 3, "no-answer"])
    assert list(events(judging)) == []


def test_a_judge_that_fails_says_why(judging: Store, tmp_path: Path, kept: Kept):
    body = "sys.exit('no key: \\x1b[31mset KEY')"
    done = asked(judging, program(tmp_path, body), topics=("t3",))
    assert codes(done) == ["judge-stopped", "no-answer"]
    kept(done.problems[0].message)


def runs(stat: Path) -> bool:
    try:
        return stat.read_text().split(") ")[1][0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


def test_a_silent_judge_is_ended_with_all_it_has_started(judging: Store, tmp_path: Path, kept: Kept):
    child = tmp_path / "child"
    body = f"""
        import subprocess
        started = [subprocess.Popen(["sleep", "60"], start_new_session=own) for own in (False, True)]
        open({str(child)!r}, "w").write(" ".join(str(one.pid) for one in started))
        time.sleep(60)
    """
    done = asked(judging, program(tmp_path, body), topics=("t3",), timeout=3)
    assert codes(done) == ["judge-stopped", "no-answer"]
    kept(done.problems[0].message)
    stats = [Path(f"/proc/{pid}/stat") for pid in child.read_text().split()]
    for _ in range(200):  # a killed process takes a moment to be gone
        if not any(map(runs, stats)):
            break
        time.sleep(0.05)
    assert [runs(stat) for stat in stats] == [False, False]


def test_what_ends_the_asking_ends_the_judges_that_are_still_thinking(judging: Store, tmp_path: Path):
    body = """
        if json.loads(sys.stdin.readline())["document"]["id"] != "d20":
            time.sleep(100)
        print(json.dumps({"topic": "t3", "document": "d20", "grade": 1}), flush=True)
    """

    def stop(*_: object) -> None:
        raise OSError("the disk is full")

    begun = time.monotonic()
    with pytest.raises(OSError, match="the disk is full"):
        asked(judging, program(tmp_path, body), topics=("t3",), batch=1, parallel=3, timeout=99, progress=stop)
    assert time.monotonic() - begun < 50


@pytest.mark.timeout(120)
def test_what_a_judge_leaves_behind_cannot_hold_us_up(judging: Store, tmp_path: Path):
    child = tmp_path / "child"
    body = f"""
        import subprocess
        left = subprocess.Popen(["sleep", "1000"], start_new_session=True)
        open({str(child)!r}, "w").write(str(left.pid))
        print(json.dumps({{"topic": "t3", "document": "d20", "grade": 1}}))
    """
    try:
        done = asked(judging, program(tmp_path, body), topics=("t3",), timeout=1)
    finally:
        with suppress(ProcessLookupError):
            os.kill(int(child.read_text()), signal.SIGKILL)
    assert (done.labelled, codes(done)) == (1, ["judge-stopped", "no-answer"])


def test_a_judge_that_reads_nothing_does_not_block_us(judging: Store, tmp_path: Path):
    with judging.write() as connection:
        connection.execute("UPDATE documents SET text = ?", ["word " * 100_000])
    body = """
        for number in (20, 21, 22):
            print(json.dumps({"topic": "t3", "document": f"d{number}", "grade": 1}), flush=True)
    """
    assert asked(judging, program(tmp_path, body), topics=("t3",)).labelled == 3


def test_after_three_batches_in_vain_no_more_are_asked(judging: Store, tmp_path: Path):
    count = tmp_path / "count"
    body = f"open({str(count)!r}, 'a').write('x'); sys.exit(3)"
    done = asked(judging, program(tmp_path, body), batch=1)
    assert codes(done)[-1] == "gave-up"
    assert count.read_text() == "xxx"


def test_a_line_without_end_is_not_read_for_ever(judging: Store, tmp_path: Path, kept: Kept):
    done = asked(judging, program(tmp_path, "sys.stdout.write('x' * 3_000_000)"), topics=("t3",))
    kept(done.problems[0].message)


@pytest.mark.parametrize("nonsense", ['"no label\\n"', '"\\n"', '"x" * 999 + "\\n"'])
def test_a_judge_that_prints_without_end_is_ended(judging: Store, tmp_path: Path, kept: Kept, monkeypatch, nonsense):
    monkeypatch.setattr("cranfield.workflows.judge.external.LONGEST_OUTPUT", 1 << 16)
    command = program(tmp_path, f"print(os.getpid(), file=sys.stderr)\nwhile True: sys.stdout.write({nonsense})")
    done = asked(judging, command, topics=("t3",))
    (stopped,) = [problem.message for problem in done.problems if problem.code == "judge-stopped"]
    said, _, pid = stopped.rpartition(" ")
    kept(said)
    with pytest.raises(ProcessLookupError):
        os.kill(int(pid), 0)
    assert (done.labelled, list(events(judging))) == (0, [])


def test_nonsense_does_not_make_a_judge_any_less_silent(judging: Store, tmp_path: Path, kept: Kept):
    slow = "while True: print('thinking', flush=True); time.sleep(0.1)"
    done = asked(judging, program(tmp_path, slow), topics=("t3",), timeout=1)
    kept(next(problem.message for problem in done.problems if problem.code == "judge-stopped"))


def test_complaints_without_end_are_not_kept(judging: Store, tmp_path: Path, kept: Kept):
    loud = "for _ in range(10_000): sys.stderr.write('x' * 1_000 + '\\n')\nsys.stderr.write('the end')\nsys.exit(3)"
    (stopped, _) = asked(judging, program(tmp_path, loud), topics=("t3",)).problems
    kept(stopped.message)


def test_a_program_that_is_not_there_and_a_judge_without_version_are_refused(judging: Store, kept: Kept):
    with kept.raises(UsageError):
        asked(judging, "no-such-program --fast")
    with kept.raises(UsageError):
        asked(judging, "")
    with kept.raises(UsageError):
        asked(judging, "judge 'x")
    for name in ("llama", "a b@1", "x@", "a/b@1"):
        with kept.raises(UsageError):
            judge_with(judging, "cat", name)
    with kept.raises(UnknownName):
        asked(judging, "cat", topics=("t9",))
    with kept.raises(UnknownName):
        asked(judging, "cat", pool="nothing")


def test_agreement_with_people_is_told_on_what_both_judged(judging: Store, tmp_path: Path):
    (tmp_path / "people.qrels").write_text("t3 0 d20 0\nt3 0 d21 1\nt3 0 d22 3\nt1 0 d01 1\n")
    import_judgments(judging, tmp_path / "people.qrels")
    done = asked(judging, program(tmp_path, HONEST), only="judged")
    assert (done.asked, done.labelled) == (4, 4)
    assert done.agreement is not None
    assert done.agreement.table.tolist() == [[1, 0, 0, 0], [0, 2, 0, 0], [0, 0, 0, 0], [0, 0, 1, 0]]
    assert {one.coefficient: one.value for one in done.agreement.estimates}["raw"] == 0.75
    left = asked(judging, program(tmp_path, HONEST), only="unjudged")
    assert left.asked == 17


def test_a_limit_draws_the_same_documents_each_time_so_that_it_can_be_resumed(judging: Store, tmp_path: Path):
    first = asked(judging, program(tmp_path, HONEST), limit=5)
    again = asked(judging, program(tmp_path, HONEST), limit=5)
    more = asked(judging, program(tmp_path, HONEST), limit=8)
    assert [(one.asked, one.before) for one in (first, again, more)] == [(5, 0), (0, 5), (3, 5)]


def test_nothing_pooled_and_nothing_judged_is_an_error(small: Store, kept: Kept):
    with kept.raises(InputError):
        asked(small, "cat")


def test_a_question_tells_nothing_of_runs_and_judgments():
    line = question(Topic("1", "soup", "d", "n"), Document("d", "text", "T", {"k": "v"}), BINARY, guidelines="g")
    assert json.loads(line) == {
        "topic": {"id": "1", "title": "soup", "description": "d", "narrative": "n"},
        "document": {"id": "d", "title": "T", "text": "text", "metadata": {"k": "v"}},
        "scale": [{"grade": 0, "label": "not relevant", "text": ""}, {"grade": 1, "label": "relevant", "text": ""}],
        "relevant_from": 1,
        "guidelines": "g",
    }


def test_an_answer_may_name_ids_as_numbers_and_leave_everything_else_out():
    assert label_from('{"topic": 7, "document": 3, "grade": 1}', BINARY, {("7", "3")}) == Label("7", "3", 1)
