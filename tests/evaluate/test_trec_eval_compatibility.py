"""`trec-eval` where trec_eval is lenient, strict, or stops: what it says and the status it ends with."""

import io
from pathlib import Path

import pytest
from kept import Kept

from cranfield.evaluate.trec_eval.printing import Printed, trec_eval

QRELS = "1 0 a 1\n1 0 b 0\n2 0 a 1\n2 0 c 2\n"
RUN = "1 Q0 a 1 2.0 tag\n1 Q0 b 2 1.0 tag\n2 Q0 b 1 2.0 tag\n2 Q0 a 2 1.0 tag\n"


def call(tmp_path: Path, options: str, *, qrels: str | bytes = QRELS, run: str | bytes = RUN) -> Printed:
    for name, text in (("qrels", qrels), ("run", run)):
        (tmp_path / name).write_bytes(text if isinstance(text, bytes) else text.encode())
    return trec_eval([*options.split(), str(tmp_path / "qrels"), str(tmp_path / "run")])


def numbers(printed: Printed) -> dict[tuple[str, str], str]:
    rows = [line.split("\t") for line in printed.output.decode().splitlines()]
    return {(name.strip(), topic): value for name, topic, value in rows}


def test_options_may_stand_together_and_after_the_files(tmp_path: Path):
    call(tmp_path, "")
    files = [str(tmp_path / "qrels"), str(tmp_path / "run")]
    assert trec_eval(["-qcmmap", *files]) == trec_eval([*files, "-q", "-c", "--measure", "map"])


def test_n_leaves_out_the_summary(tmp_path: Path):
    assert set(numbers(call(tmp_path, "-n -q -m map"))) == {("map", "1"), ("map", "2")}
    assert call(tmp_path, "-n -m map").output == b""


@pytest.mark.parametrize(
    ("options", "status"),
    [
        ("-m foo", 1),
        ("-m P.", 1),
        ("-x", 1),
        ("--as 11", 1),
        ("-m rbp --as 9", 1),
        ("-m P.0", 2),
        ("-m P.5,5", 2),
        ("-m ndcg.1:3", 2),
        ("-m prefs", 1),
        ("-R prefs", 1),
        ("-R foo", 2),
        ("-m utility.1,2", 4),
        ("-Z nowhere -m map", 255),
    ],
)
def test_a_wrong_call_ends_with_trec_evals_status(tmp_path: Path, options: str, status: int, kept: Kept):
    printed = call(tmp_path, options)
    assert (printed.output, printed.status) == (b"", status)
    kept(printed.errors)


def test_a_document_judged_twice_stops_the_program_also_where_the_run_lacks_its_topic(tmp_path: Path):
    twice, only_the_first = f"{QRELS}2 0 a 1\n", "".join(RUN.splitlines(keepends=True)[:2])
    printed = call(tmp_path, "-c -m map --as 10", qrels=twice, run=only_the_first)
    assert (printed.output, printed.status) == (b"", call(tmp_path, "-m map", qrels=twice).status)
    assert printed.errors == call(tmp_path, "-m map", qrels=twice).errors


def test_a_file_that_is_not_there_or_empty_cannot_be_read(tmp_path: Path):
    assert trec_eval([str(tmp_path / "nowhere"), str(tmp_path / "run")]).status == 2
    assert call(tmp_path, "", run=b"").status == 2


@pytest.mark.parametrize(
    "changed",
    [
        {"run": RUN.replace("\n", "\r\n")},
        {"run": RUN.replace(" ", "\t")},
        {"run": RUN.replace("\n", "\n\n")},
        {"run": RUN.replace("tag", "tag seventh eighth")},
        {"run": RUN.replace("2.0", "2abc").replace("1.0", "0x1")},
        {"qrels": QRELS.replace("\n", "\r\n")},
        {"qrels": QRELS.replace(" 2\n", " 2.9\n")},
        {"run": "# a comment\n# another\n" + RUN},
        {"qrels": "# a comment\n" + QRELS},
    ],
)
def test_what_trec_eval_takes_is_taken_with_the_same_numbers(tmp_path: Path, changed: dict[str, str]):
    assert call(tmp_path, "-q -m map -m ndcg", **changed) == call(tmp_path, "-q -m map -m ndcg")


@pytest.mark.parametrize(
    "changed",
    [
        {"run": RUN + "2 Q0 d 3 0.5\n"},
        {"qrels": QRELS + "\n"},
        {"qrels": QRELS + "2 0 d\n"},
        {"qrels": QRELS + "2 0 d 1 1\n"},
        {"qrels": "# one\n# two\n" + QRELS},
        {"run": "# one\n\n" + RUN + "2 Q0 d 3 0.5\n"},
    ],
)
def test_a_malformed_line_ends_with_status_2(tmp_path: Path, changed: dict[str, str], kept: Kept):
    printed = call(tmp_path, "", **changed)
    assert (printed.output, printed.status) == (b"", 2)
    kept(printed.errors)


def test_version_9_knows_no_comments(tmp_path: Path):
    assert call(tmp_path, "--as 9", run="# comment\n" + RUN).status == 2
    assert call(tmp_path, "--as 9", qrels="# comment\n" + QRELS).status == 2


def test_a_repeated_document_stops_at_its_topic(tmp_path: Path, kept: Kept):
    printed = call(tmp_path, "-q -m map", run=RUN + "2 Q0 a 3 0.5 tag\n")
    assert (set(numbers(printed)), printed.status) == ({("map", "1")}, 4)
    kept(printed.errors)


def test_a_repeated_document_below_the_depth_is_not_seen(tmp_path: Path):
    assert call(tmp_path, "-M 2 -m map", run=RUN + "2 Q0 a 3 0.5 tag\n").status == 0


def test_a_repeated_judgment_stops_at_its_topic(tmp_path: Path):
    printed = call(tmp_path, "-q -m map", qrels=QRELS + "2 0 a 1\n")
    assert (set(numbers(printed)), printed.status) == ({("map", "1")}, 4)


def test_a_missing_topic_stops_version_10_and_not_version_9(tmp_path: Path):
    qrels = QRELS + "3 0 a 1\n"
    assert call(tmp_path, "-m map", qrels=qrels) == Printed(
        b"", "trec_eval: result qid '3' not found in qrels\ntrec_eval: Can't calculate measure 'map'\n", 4
    )
    assert numbers(call(tmp_path, "-m map --as 9", qrels=qrels)) == {("map", "all"): "0.6250"}
    assert numbers(call(tmp_path, "-c -m map --as 9", qrels=qrels)) == {("map", "all"): "0.4167"}
    assert numbers(call(tmp_path, "-c -m map", qrels=qrels)) == {("map", "all"): "0.4167"}


def test_nothing_in_common(tmp_path: Path):
    other = RUN.replace("1 Q0", "8 Q0").replace("2 Q0", "9 Q0")
    assert call(tmp_path, "--as 9", run=other).status == 7
    assert call(tmp_path, "", run=other).status == 4
    assert numbers(call(tmp_path, "-c -m map", run=other)) == {("map", "all"): "0.0000"}


def test_the_total_of_relevant_documents_ignores_the_level_when_complete(tmp_path: Path):
    assert numbers(call(tmp_path, "-l2 -m num_rel"))["num_rel", "all"] == "1"
    assert numbers(call(tmp_path, "-l2 -c -m num_rel"))["num_rel", "all"] == "3"


def test_yaap_of_a_missing_topic_depends_on_the_version(tmp_path: Path):
    qrels = "1 0 a 1\n9 0 a 1\n"
    assert numbers(call(tmp_path, "-c -m yaap", qrels=qrels))["yaap", "all"] == "0.0000"
    assert numbers(call(tmp_path, "-c -m yaap --as 9", qrels=qrels))["yaap", "all"] == "0.3466"


def test_the_tag_is_that_of_the_last_line(tmp_path: Path):
    run = RUN.replace("1.0 tag\n2", "1.0 other\n2")
    assert numbers(call(tmp_path, "-m runid", run=run))["runid", "all"] == "tag"
    assert numbers(call(tmp_path, "-m runid", run=RUN.replace("1.0 tag", "1.0 last")))["runid", "all"] == "last"


def test_ids_that_are_not_utf_8_go_through(tmp_path: Path):
    printed = call(tmp_path, "-q -n -m map", qrels=b"\xff 0 \xfe 1\n", run=b"\xff Q0 \xfe 1 1 t\n")
    assert printed.output == b"map                   \t\xff\t1.0000\n"


def test_a_mark_at_the_beginning_is_part_of_the_topic(tmp_path: Path):
    printed = call(tmp_path, "-c -m map", qrels=b"\xef\xbb\xbf" + b"1 0 a 1\n")
    assert numbers(printed)["map", "all"] == "0.0000"


def test_version_10_reads_a_run_from_standard_input(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    expected = call(tmp_path, "-m map")
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(RUN.encode())))
    assert trec_eval(["-m", "map", str(tmp_path / "qrels"), "-"]) == expected
    assert trec_eval(["--as", "9", "-m", "map", str(tmp_path / "qrels"), "-"]).status == 2


def test_a_topic_with_nothing_but_negative_grades_stops_only_as_the_first(tmp_path: Path):
    assert call(tmp_path, "-m map", qrels="0 0 a -1\n" + QRELS, run="0 Q0 a 1 1 tag\n" + RUN).status == 4
    assert call(tmp_path, "-m map", qrels="3 0 a -1\n" + QRELS, run="3 Q0 a 1 1 tag\n" + RUN).status == 0


def test_help_and_version_end_well(tmp_path: Path):
    assert b"Usage" in trec_eval(["-h"]).output
    assert trec_eval(["-v"]).status == 0


def eleven_points_by_walking(relevant_ranks: list[int], length: int, relevant: int, levels: list[float]) -> float:
    """What trec_eval 10 does: one walk from the end of the list, the levels taken in turn from the last."""
    needed = [int(level * relevant + 0.5) for level in levels]
    turn, found = len(levels) - 1, len(relevant_ranks)
    while turn >= 0 and needed[turn] > found:
        turn -= 1
    best = total = 0.0
    for rank in range(length, 0, -1):
        if not found:
            break
        best = max(best, found / rank)
        if rank in relevant_ranks:
            while turn >= 0 and found == needed[turn]:
                total += best
                turn -= 1
            found -= 1
    return (total + best * (turn + 1)) / len(levels)


@pytest.mark.parametrize(
    "levels", ["0.8,0.2", "0.2,0.8", "0,1,0", "1,0.5,1", ".25,.5,.75", "0.5,0.5", "1,0.9,0.2,0.1"]
)
def test_levels_out_of_order_are_taken_as_trec_eval_takes_them(tmp_path: Path, levels: str):
    ranks = [2, 3, 7, 12]
    run = "".join(f"1 Q0 {'r' if rank in ranks else 'n'}{rank} 1 {-rank} t\n" for rank in range(1, 15))
    qrels = "".join(f"1 0 r{rank} 1\n" for rank in [*ranks, 98, 99])
    expected = eleven_points_by_walking(ranks, 14, 6, [float(level) for level in levels.split(",")])
    got = numbers(call(tmp_path, f"-m 11pt_avg.{levels}", qrels=qrels, run=run))
    assert got == {(f"11pt_avg_{levels}", "all"): f"{expected:6.4f}"}


GRADED = "".join(f"{topic} 0 d{number} {(number * topic) % 4}\n" for topic in (1, 2, 3) for number in range(12))
RANKED = "".join(
    f"{topic} Q0 d{number} 1 {(number * 7 + topic) % 13} tag\n" for topic in (1, 2, 3) for number in range(2, 14)
)


@pytest.mark.parametrize(
    "spelling",
    ["utility.2,-1,0,0", "ndcg_cut.10,20,23.4", "set_F.2", "rbp.p=0.5", "rbp.p=0.5,1=3,3=20",
     "P.5,7,3", "ndcg.1=3,2=9", "Rprec_mult.0.5", "success.2,3", "unj.3"],
)  # fmt: skip
def test_evaluate_takes_the_same_words_and_gives_the_same_numbers(tmp_path: Path, spelling: str):
    assert_same(tmp_path, spelling, spelling)


def test_recall_levels_are_rounded_as_a_version_does_it_where_the_measure_says_so(tmp_path: Path):
    assert_same(tmp_path, "11pt_avg..25,.5,.75", "IPrecMean(levels='.25,.5,.75', rounding='10')")


def assert_same(tmp_path: Path, spelling: str, ours: str) -> None:
    from cranfield.evaluate.reading import Request
    from cranfield.workflows.evaluate.evaluate import evaluate

    printed = numbers(call(tmp_path, f"-q -m {spelling}", qrels=GRADED, run=RANKED))
    asked = Request(qrels=tmp_path / "qrels", runs=(str(tmp_path / "run"),), measures=(ours,))
    rows = list(evaluate(asked).scores.rows(by_topic=True))
    assert sorted((topic, f"{value:.4f}") for _, topic, _, value in rows) == sorted(
        (topic, value) for (_, topic), value in printed.items()
    )


def test_rndcg_is_no_number_where_nothing_that_is_relevant_has_a_gain(tmp_path: Path):
    printed = call(tmp_path, "-q -m Rndcg.1=0", qrels="1 0 a 1\n2 0 b 2\n", run="1 Q0 a 1 1 t\n2 Q0 b 1 1 t\n")
    assert [line.split(b"\t")[1:] for line in printed.output.splitlines()] == [
        [b"1", b"  -nan"], [b"2", b"1.0000"], [b"all", b"  -nan"]
    ]  # fmt: skip


@pytest.mark.parametrize("words", ["-D 0.2", "-q -m ndcg.-1=2"])
def test_what_would_change_numbers_unseen_is_refused(tmp_path: Path, words: str, kept: Kept):
    printed = call(tmp_path, words)
    assert (printed.output, printed.status) == (b"", 1)
    kept(printed.errors)


def test_a_multiple_of_r_below_0_looks_at_no_rank(tmp_path: Path):
    assert set(numbers(call(tmp_path, "-q -m Rprec_mult.-1,0")).values()) == {"0.0000"}
