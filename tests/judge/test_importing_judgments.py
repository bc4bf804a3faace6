"""Judgments from elsewhere: qrels, tables with assessor and time, and everything they are refused for."""

from pathlib import Path

import pytest
from kept import Kept

from cranfield.base.errors import InputError, ProblemsFound, UsageError
from cranfield.store.events import assessors, events, projection_faults
from cranfield.store.store import Store
from cranfield.workflows.judge.imports import import_judgments
from cranfield.workflows.qrels import qrels_for

TABLE = """topic,document,grade,assessor,time,note
t1,d01,2,ada,2026-01-05T10:00:00+01:00,"on two
lines"
t1,d01,0,bob,2026-01-04,
t1,d02,-1,ada,,
t2,d05,1,ada,,short
"""


def write(folder: Path, text: str, name: str = "judgments.csv") -> Path:
    file = folder / name
    file.write_text(text, encoding="utf-8")
    return file


def refused(store: Store, file: Path, **options: str) -> list[tuple[str, tuple[int, ...]]]:
    with pytest.raises(ProblemsFound, match="nothing was imported") as error:
        import_judgments(store, file, **options)
    assert list(events(store)) == []
    return [(problem.code, problem.lines) for problem in error.value.problems]


def test_a_table_keeps_who_and_when_and_why(judging: Store, tmp_path: Path):
    done = import_judgments(judging, write(tmp_path, TABLE))
    counts = {"new": 3, "same": 0, "unjudged": 1, "replaced": 0, "junk": 0}
    assert done.facts == {**counts, "assessors": "ada, bob"}
    found = [
        (one.topic, one.document, one.grade, one.assessor, one.happened[:19], one.note, one.kind, one.source)
        for one in events(judging)
    ]
    today = found[0][4]
    assert found == [
        ("t2", "d05", 1, "ada", today, "short", "imported", "import"),
        ("t1", "d01", 0, "bob", "2026-01-04T00:00:00", "", "imported", "import"),
        ("t1", "d01", 2, "ada", "2026-01-05T09:00:00", "on two\nlines", "imported", "import"),
    ]
    assert {one.source_name for one in events(judging)} == {"judgments.csv"}
    assert all(len(one.document_hash) == 64 for one in events(judging))


def test_whoever_is_named_in_a_file_may_sit_down_later(judging: Store, tmp_path: Path):
    import_judgments(judging, write(tmp_path, TABLE))
    import_judgments(judging, write(tmp_path, "t3 0 d20 1\n", "some.qrels"))
    import_judgments(judging, write(tmp_path, "t3 0 d21 1\n", "more.qrels"), layer="machine/m@1", assessor="m@1")
    assert assessors(judging) == {"ada": "person", "bob": "person", "imported": "import", "m@1": "machine"}


def test_a_note_that_was_made_harmless_for_spreadsheets_is_read_as_it_was_meant(judging: Store, tmp_path: Path):
    file = tmp_path / "judged.csv"
    file.write_text("topic,document,grade,assessor,note\nt3,d20,1,'-ana,'=1+1\nt3,d21,1,o'hara,it's\n")
    import_judgments(judging, file)
    assert [(one.assessor, one.note) for one in events(judging)] == [("-ana", "=1+1"), ("o'hara", "it's")]


def test_importing_twice_changes_nothing(judging: Store, tmp_path: Path):
    import_judgments(judging, write(tmp_path, TABLE))
    before = list(events(judging))
    assert import_judgments(judging, write(tmp_path, TABLE, "copy.csv")).facts["same"] == 3
    assert list(events(judging)) == before
    assert projection_faults(judging) == []


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("plain.qrels", "t1 0 d01 2\nt1 0 d02 -1\nt2 0 d05 0\n"),
        ("beir.tsv", "query-id\tcorpus-id\tscore\nt1\td01\t2\nt2\td05\t0\n"),
        ("lines.jsonl", '{"topic": "t1", "docno": "d01", "rel": 2}\n{"topic": "t2", "docno": "d05", "rel": 0}\n'),
    ],
)
def test_qrels_of_any_format_become_judgments(judging: Store, tmp_path: Path, name: str, text: str):
    import_judgments(judging, write(tmp_path, text, name), assessor="trec")
    assert list(qrels_for(judging)) == [("t1", "d01", 2), ("t2", "d05", 0)]
    assert {one.assessor for one in events(judging)} == {"trec"}


def test_all_problems_are_told_at_once_with_their_lines(judging: Store, tmp_path: Path):
    rows = [
        "topic,document,grade,assessor,time",
        "t1,d01,7,ada,",
        "t9,d01,1,ada,",
        "t1,nowhere,1,ada,",
        "t1,d02,1,ada,yesterdayZ",
        "t1,d03,one,ada,",
        "t1,d 04,1,ada,",
        "t1,d05",
        "t1,d06,1,ada,2026-01-01",
        "t1,d06,2,ada,2026-01-01T00:00Z",
        "t1,d07,1,a\x07da,",
        "t1,,1,ada,",
    ]
    assert refused(judging, write(tmp_path, "\n".join(rows))) == [
        ("missing-field", (8, 12)),
        ("blank-in-id", (7,)),
        ("grade-not-an-integer", (6,)),
        ("judged-twice", (9, 10)),
        ("bad-time", (5,)),
        ("bad-assessor", (11,)),
        ("off-the-scale", (2,)),
        ("unknown-topic", (3,)),
        ("unknown-document", (4,)),
    ]


def test_lines_of_a_trec_file_are_counted_with_its_comments(judging: Store, tmp_path: Path):
    file = write(tmp_path, "# a comment\nt1 0 d01 9\n\nt1 0 d02 1\nt1 0 d02 1\n", "some.qrels")
    assert refused(judging, file) == [("judged-twice", (4, 5)), ("off-the-scale", (2,))]


@pytest.mark.parametrize("text", ["", "topic,document,grade\n", '{"topic": 1}\n', "{}\n[1]\n"])
def test_a_file_without_a_judgment_is_refused(judging: Store, tmp_path: Path, text: str):
    assert refused(judging, write(tmp_path, text, "file")) != []


def test_a_header_without_a_grade_is_refused(judging: Store, tmp_path: Path, kept: Kept):
    with kept.raises(ProblemsFound):
        import_judgments(judging, write(tmp_path, "topic,document,assessor\nt1,d01,ada\n"), format="csv")


def test_ids_are_free_where_there_is_no_corpus(store: Store, tmp_path: Path):
    import_judgments(store, write(tmp_path, "401 0 FT911-3 1\n", "some.qrels"))
    assert list(qrels_for(store)) == [("401", "FT911-3", 1)]


def test_a_grade_of_the_same_assessor_that_gives_way_is_counted(judging: Store, tmp_path: Path):
    import_judgments(judging, write(tmp_path, TABLE))
    done = import_judgments(judging, write(tmp_path, TABLE.replace("t1,d01,0,bob", "t1,d01,1,bob"), "again.csv"))
    assert [done.facts[name] for name in ("new", "same", "replaced")] == [1, 2, 1]


def test_the_own_export_is_not_one_more_assessor(judging: Store, tmp_path: Path, kept: Kept):
    import_judgments(judging, write(tmp_path, TABLE))
    own, other = (write(tmp_path, f"t1 0 d01 {grade}\nt2 0 d05 1\n", f"{grade}.qrels") for grade in (2, 1))
    with kept.raises(InputError):
        import_judgments(judging, own)
    assert import_judgments(judging, own, assessor="eve").facts["new"] == 2
    assert import_judgments(judging, other).facts["new"] == 2
    assert import_judgments(judging, other).facts["new"] == 0


def test_a_layer_needs_a_name(judging: Store, tmp_path: Path, kept: Kept):
    with kept.raises(UsageError):
        import_judgments(judging, write(tmp_path, TABLE), layer=" ")
