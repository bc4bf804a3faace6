"""Whole collections in one step: by a recipe, or out of the folder of a campaign."""

import json
import tomllib
from pathlib import Path

import pytest
from command import call
from kept import Kept

SHARED = Path(__file__).parents[2].parent / "shared" / "data"
RECIPES = Path(__file__).parents[2] / "collections"

DOCUMENTS = """.I 1
.T
wings
.W
Wings in slow air.
.I 2
.W
Heat in composite slabs.
.I 3
.W
Boundary layers.
"""
QUERIES = """.I 001
.W
slow wings
.I 004
.W
heat conduction
"""
RECIPE = """
name = "slabs"
title = "Slabs and wings"
description = "Three abstracts."
licence = "CC0-1.0"
citation = "Nobody: Slabs and Wings. 1966."
source = "https://example.org/slabs"
traps = ["Queries are numbered by their position."]

[files]
documents = ["slabs.all", "slabs.trec"]
topics = "slabs.qry"
qrels = "slabsrel"

[documents]
ids = "SLAB-{:02}"

[topics]
ids = "position"

[qrels]
topics = "{}"
grades = { -1 = 0, 1 = 2, 2 = 1 }

[scale]
relevant_from = 1
grade = [{ grade = 0, label = "no" }, { grade = 1, label = "partly" }, { grade = 2, label = "fully" }]

[counts]
documents = 3
topics = 2
judged_topics = 2
judgments = 3
"""
ROWS = {"t1": ("1 Q0 d1 1 2.5 {tag}", "1 Q0 d2 2 1.5 {tag}"), "t2": ("2 Q0 d1 1 9 {tag}",)}


@pytest.fixture
def slabs(tmp_path: Path) -> Path:
    """A folder in the layout of the SMART collections, with a recipe of its own."""
    folder = tmp_path / "slabs"
    (folder / "smart").mkdir(parents=True)
    (folder / "collection.toml").write_text(RECIPE, "utf-8")
    (folder / "smart" / "SLABS.ALL").write_text(DOCUMENTS.replace("\n", "\r\n"), "utf-8")
    (folder / "smart" / "slabs.qry").write_text(QUERIES, "utf-8")
    (folder / "smart" / "slabsrel").write_text("01 1 1\n01 2 -1\n02 2 2\n", "utf-8")
    return folder


def rows(*tags: str) -> str:
    return "".join(f"{line.format(tag=tag)}\n" for tag in tags for lines in ROWS.values() for line in lines)


def written(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, "utf-8")


def runs_of(folder: Path) -> list[tuple[str, str, int]]:
    listed = json.loads(call("runs", "list", "--format", "json", folder=folder).out)
    return [(one["run"], one["group"], one["priority"]) for one in listed]


def exported(folder: Path, *words: str) -> str:
    return call("qrels", "export", *words, folder=folder).out


def test_a_recipe_puts_ids_grades_and_numbers_right(slabs: Path, tmp_path: Path, kept: Kept):
    kept(call("init", "--from", slabs, folder=tmp_path).err)
    assert exported(tmp_path) == "1 0 SLAB-01 2\n1 0 SLAB-02 0\n2 0 SLAB-02 1\n"
    topics = json.loads(call("corpus", "topics", "--format", "json", folder=tmp_path).out)
    assert [(one["topic"], json.loads(one["metadata"])["given_id"]) for one in topics] == [("1", "001"), ("2", "004")]
    shown = json.loads(call("corpus", "show", "--format", "json", folder=tmp_path).out)
    assert [one["document"] for one in shown] == ["SLAB-01", "SLAB-02", "SLAB-03"]
    assert call("check", folder=tmp_path).status == 0


def test_what_is_known_of_a_collection_comes_into_its_card(slabs: Path, tmp_path: Path, kept: Kept):
    call("init", "--from", slabs, folder=tmp_path)
    call("qrels", "release", "official", "--bundle", "bundle", folder=tmp_path)
    card = json.loads((tmp_path / "bundle" / "card.json").read_text("utf-8"))
    kept(json.dumps({name: card[name] for name in ("licence", "citation", "about")}, indent=1))


def test_other_counts_than_those_of_the_recipe_leave_nothing_behind(slabs: Path, tmp_path: Path, kept: Kept):
    (slabs / "smart" / "slabsrel").write_text("01 1 1\n", "utf-8")
    kept(call("init", "--from", slabs, folder=tmp_path, status=1).err)
    assert [path.name for path in tmp_path.iterdir()] == ["slabs"]


def test_a_missing_file_is_named_with_the_place_to_get_it(slabs: Path, tmp_path: Path, kept: Kept):
    (slabs / "smart" / "slabs.qry").unlink()
    kept(call("init", "--from", slabs, folder=tmp_path, status=1).err)


WRONG = """
title = 3
traps = ["x", 1]
citations = "none"
[files]
documents = ["a", 2]
topics = "b"
[documents]
ids = "{:99999999}"
[topics]
ids = "by heart"
[qrels]
grades = { one = 1, 2 = "two" }
[counts]
documents = true
"""


def test_all_that_is_wrong_with_a_recipe_is_listed(slabs: Path, tmp_path: Path, kept: Kept):
    (slabs / "collection.toml").write_text(WRONG, "utf-8")
    kept(call("init", "--from", slabs, folder=tmp_path, status=1).err)


def test_the_next_step_after_a_past_track_is_to_score(slabs: Path, tmp_path: Path, kept: Kept):
    call("init", "--from", slabs, folder=tmp_path)
    kept(call("status", folder=tmp_path).err)


def test_an_unknown_recipe_is_answered_with_the_known_ones(tmp_path: Path):
    said = call("init", "--recipe", "cranfield1401", folder=tmp_path, status=2).err
    assert all(path.parent.name in said for path in RECIPES.glob("cranfield1400/collection.toml"))


def test_the_shipped_collection_is_its_own_recipe(tmp_path: Path):
    call("init", "--recipe", "kitchen", folder=tmp_path)
    assert len(runs_of(tmp_path)) == 11


@pytest.mark.parametrize("file", sorted(RECIPES.glob("*/collection.toml")), ids=lambda file: file.parent.name)
def test_every_recipe_says_how_many_records_there_are(file: Path):
    recipe = tomllib.loads(file.read_text("utf-8"))
    assert recipe["name"] == file.parent.name
    assert {"documents", "topics", "judgments"} <= recipe["counts"].keys()


@pytest.mark.shared
@pytest.mark.parametrize(
    ("name", "folder", "judged", "row"),
    [
        ("cranfield1400", "cranfield", 1837, "1 0 184 3"),
        ("cacm", "cacm", 796, "10 0 CACM-0046 1"),
        ("med", "med", 696, "1 0 13 1"),
        ("npl", "vaswani-npl", 2083, "1 0 1239 1"),
    ],
)
def test_a_classic_collection_is_made_of_its_files(name: str, folder: str, judged: int, row: str, tmp_path: Path):
    call("init", "--recipe", name, "--from", SHARED / folder, folder=tmp_path)
    qrels = exported(tmp_path).splitlines()
    assert len(qrels) == judged
    assert row in qrels
    assert call("check", folder=tmp_path).status == 0


@pytest.mark.shared
def test_the_best_answers_of_cranfield_have_the_highest_grade(tmp_path: Path):
    """Cleverdon's 1 is a complete answer: 128 pairs, here of grade 4."""
    call("init", "--recipe", "cranfield1400", "--from", SHARED / "cranfield", folder=tmp_path)
    grades = [line.split()[-1] for line in exported(tmp_path).splitlines()]
    assert {grade: grades.count(grade) for grade in "01234"} == {"0": 225, "1": 363, "2": 734, "3": 387, "4": 128}


@pytest.mark.shared
def test_a_run_on_cacm_meets_all_its_judgments(tmp_path: Path):
    """The qrels that are passed around call documents below 1000 otherwise than the runs do."""
    call("init", "--recipe", "cacm", "--from", SHARED / "cacm", folder=tmp_path)
    run, qrels = SHARED / "cacm/runs/cacm-bm25.txt", SHARED / "cacm/qrels/qrels.cacm.txt"

    def precision(*words: object) -> float:
        printed = call("evaluate", *words, run, "-m", "P@10", "--format", "json", folder=tmp_path).out
        return float(next(row["value"] for row in json.loads(printed) if row["topic"] == "all"))

    assert precision() > precision("--qrels", qrels)


# The folders of campaigns.


@pytest.fixture
def nist(tmp_path: Path) -> Path:
    """A folder as NIST has its past tracks: runs called input.RUN, one folder, a list of all."""
    folder = tmp_path / "trec"
    written(
        folder / "topics" / "topics.1-2.txt",
        "<top>\n<num> Number: 1\n<title> wings\n</top>\n<top>\n<num> Number: 2\n<title> heat\n</top>\n",
    )
    written(folder / "qrels" / "qrels.1-2.txt", "1 0 d1 1\n1 0 d2 0\n2 0 d1 2\n")
    written(folder / "runs" / "input.one", rows("one"))
    written(folder / "runs" / "input.two", rows("one").replace("9", "8"))
    written(folder / "README.md", "# A track\n")
    written(
        folder / "meta" / "runs.tsv",
        "tag\tteam\tpriority\ttype\none\tLarder, Inc.\t2\tlexical\ntwo\tMortar\t1\tdense\nthree\tMortar\t3\t\n",
    )
    return folder


def test_a_folder_as_of_nist_is_loaded_in_one_command(nist: Path, tmp_path: Path, kept: Kept):
    kept(call("init", "--from", nist, folder=tmp_path).err)
    assert runs_of(tmp_path) == [("one", "Larder, Inc.", 2), ("two", "Mortar", 1)]
    assert exported(tmp_path).count("\n") == 3


def test_runs_of_teams_in_folders_of_their_own_as_of_clef(tmp_path: Path):
    folder = tmp_path / "clef"
    written(folder / "queries.tsv", "1\twings\n2\theat\n")
    written(folder / "submissions" / "larder" / "larder_bm25.txt", rows("bm25"))
    written(folder / "submissions" / "mortar" / "mortar_dense.txt", rows("dense").replace("9", "8"))
    call("init", "--from", folder, folder=tmp_path)
    assert runs_of(tmp_path) == [("bm25", "larder", 1), ("dense", "mortar", 1)]


def test_outputs_as_of_tira_that_share_a_tag_are_told_apart_by_their_places(tmp_path: Path):
    folder = tmp_path / "tira"
    written(folder / "inputs" / "queries.jsonl", '{"qid": "1", "query": "wings"}\n{"qid": "2", "query": "heat"}\n')
    written(folder / "truths" / "qrels.txt", "1 0 d1 1\n")
    written(folder / "runs" / "larder" / "bm25" / "2026-01-01" / "output" / "run.txt", rows("bm25"))
    written(folder / "runs" / "mortar" / "bm25" / "2026-01-01" / "output" / "run.txt", rows("bm25").replace("9", "8"))
    written(
        folder / "runs" / "larder" / "bm25" / "2026-01-01" / "output" / "ir-metadata.yml", "actor:\n  team: Larder\n"
    )
    assert "not used" not in call("init", "--from", folder, folder=tmp_path).err
    for name in ("stdout.txt", "stderr.txt", "run.prototext"):
        written(folder / "runs" / "larder" / "bm25" / "2026-01-01" / name, "done\n"[: 5 * (name != "stderr.txt")])
    assert "3 files not used" in call("init", "--from", folder, "-C", "again.db", folder=tmp_path).err
    assert [(run, group) for run, group, _ in runs_of(tmp_path)] == [
        ("larder-bm25-2026-01-01-output-run", "larder"),
        ("mortar-bm25-2026-01-01-output-run", "mortar"),
    ]


def test_a_broken_output_as_of_tira_is_an_error_and_not_left_out_in_silence(tmp_path: Path, kept: Kept):
    folder = tmp_path / "tira"
    written(folder / "queries.tsv", "1\twings\n2\theat\n")
    written(folder / "larder" / "bm25" / "output" / "run.txt", rows("bm25"))
    written(folder / "mortar" / "cut" / "output" / "run.txt", "1 Q0 d1\n1 Q0 d2\n")
    written(folder / "mortar" / "none" / "output" / "run.txt", "")
    kept(call("init", "--from", folder, folder=tmp_path, status=1).err)
    assert [run for run, _, _ in runs_of(tmp_path)] == ["bm25"]


def test_runs_without_a_team_and_runs_that_a_list_does_not_name_are_told(tmp_path: Path, kept: Kept):
    folder = tmp_path / "clef"
    written(folder / "queries.tsv", "1\twings\n2\theat\n")
    for place, score in {"larder/one": "9", "larder/two": "8", "three": "7", "four": "6"}.items():
        written(folder / "submissions" / f"{place}.txt", rows(place[-5:].strip("/r")).replace("9", score))
    written(folder / "runs.tsv", "run\tteam\tpriority\none\t\t2\nfour\tMortar\t1\n")
    kept(call("init", "--from", folder, folder=tmp_path).err)
    assert [group for _, group, _ in runs_of(tmp_path)][:2] == ["Mortar", "larder"]


def test_a_run_with_errors_is_repaired_or_left_out(nist: Path, tmp_path: Path, kept: Kept):
    written(nist / "runs" / "input.two", rows("two") + "2 Q0 d1 2 3 two\n")
    written(nist / "runs" / "input.four", rows("four").replace("2.5", "high").replace("9", "low"))
    kept(call("init", "--from", nist, folder=tmp_path, status=1).err)
    assert [run for run, _, _ in runs_of(tmp_path)] == ["one", "two"]


def test_a_folder_of_runs_is_submitted_with_its_list(nist: Path, tmp_path: Path, kept: Kept):
    call("init", folder=tmp_path)
    words = "runs", "submit", nist / "runs", "--list", nist / "meta" / "runs.tsv", "--names", "file"
    kept(call(*words, folder=tmp_path, status=1).err)
    written(nist / "runs" / "three.run", rows("three").replace("9", "7"))
    call(*words, folder=tmp_path)
    assert runs_of(tmp_path) == [("input.one", "Larder, Inc.", 2), ("input.two", "Mortar", 1), ("three", "Mortar", 3)]


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("runs.csv", 'run;team;priority\none;"Larder; Inc.";2\ntwo;Mortar, Ltd.;1\n'),
        ("runs.csv", '"Run ID","Team Name","Priority"\r\n"one","Larder; Inc.","2"\r\n"two","Mortar, Ltd.","1"\r\n'),
        ("runs.txt", "\ufeffTag\tGroup\tPriority\none\tLarder; Inc.\t2\ntwo\tMortar, Ltd.\t1\n"),
    ],
    ids=["semicolons", "quotes", "tabs"],
)
def test_a_list_may_be_as_spreadsheets_write_it(nist: Path, tmp_path: Path, name: str, text: str):
    (nist / "meta" / "runs.tsv").unlink()
    written(nist / "meta" / name, text)
    call("init", "--from", nist, folder=tmp_path)
    assert runs_of(tmp_path) == [("one", "Larder; Inc.", 2), ("two", "Mortar, Ltd.", 1)]


def test_a_list_may_be_xml_and_what_is_wrong_with_it_is_said(nist: Path, tmp_path: Path, kept: Kept):
    call("init", folder=tmp_path)
    entries = [("one", "Larder", "2"), ("two", "Mortar", "soon"), ("two", "Mortar", "1")]
    lines = [
        f"<runs><tag>{tag}</tag><organization>{team}</organization><priority>{at}</priority></runs>"
        for tag, team, at in entries
    ]
    written(nist / "desc.xml", f"<set>{''.join(lines)}</set>")
    words = "runs", "submit", nist / "runs", "--list", nist / "desc.xml", "--names", "file"
    kept(call(*words, folder=tmp_path, status=1).err)
    written(nist / "desc.xml", f"<set>{lines[0]}{lines[2]}</set>")
    call(*words, folder=tmp_path)
    assert [(group, priority) for _, group, priority in runs_of(tmp_path)] == [("Larder", 2), ("Mortar", 1)]


def test_a_folder_without_anything_known_is_refused(tmp_path: Path, kept: Kept):
    (tmp_path / "empty").mkdir()
    kept(call("init", "--from", tmp_path / "empty", folder=tmp_path, status=1).err)


@pytest.mark.shared
def test_a_past_track_is_loaded_in_one_command(tmp_path: Path, kept: Kept):
    said = call("init", "trec-2", "--from", SHARED / "trec-2-adhoc", folder=tmp_path).err
    kept(said.replace(str(SHARED), "SHARED"))
    runs = runs_of(tmp_path)
    assert (len(runs), len({group for _, group, _ in runs})) == (38, 22)
    assert call("check", folder=tmp_path).status == 0


_RECIPE = 'name = "x"\n[files]\ntopics = "topics.tsv"\nqrels = "qrels.txt"\n'


@pytest.mark.parametrize(
    ("files", "link"),
    [
        ({}, "runs/a.run"),
        ({"runs/team/a.run": "1 Q0 d 1 2 t\n"}, "runs/team/ir-metadata.yml"),
        ({}, "documents.txt"),
        ({"collection.toml": f'{_RECIPE}guidelines = "guide.txt"\n'}, "guide.txt"),
        ({"collection.toml": f'{_RECIPE}guidelines = "../secret.run"\n'}, ""),
        ({"collection.toml": f'{_RECIPE}runs = "r.toml"\n', "r.toml": '[[run]]\nfile = "../secret.run"\n'}, ""),
        ({"collection.toml": f'{_RECIPE}[checksums]\n"../secret.run" = "x"\n'}, ""),
        ({"collection.toml": f'{_RECIPE}[checksums]\n"/dev/zero" = "x"\n'}, ""),
    ],
    ids=["run", "metadata", "documents", "guidelines", "named", "listed", "checksum", "device"],
)
def test_nothing_outside_the_folder_of_a_campaign_is_read(tmp_path: Path, kept: Kept, files, link):
    (tmp_path / "secret.run").write_text("1 Q0 secret 1 2 t\n")
    for name, text in {"topics.tsv": "1\twings\n", "qrels.txt": "1 0 d 1\n", **files}.items():
        written(tmp_path / "campaign" / name, text)
    if link:
        place = tmp_path / "campaign" / link
        place.parent.mkdir(parents=True, exist_ok=True)
        place.symlink_to(tmp_path / "secret.run")
    kept(call("init", "--from", "campaign", "-C", "c.db", folder=tmp_path, status=1).err)
    assert not (tmp_path / "c.db").exists()
