"""The ir_metadata header of a run: read, kept, checked, shown, given back."""

import json
from pathlib import Path

import pytest
from command import call
from kept import Kept

HEADER = """# ir_metadata.start
# schema version: 0.1
# tag: bm25
# actor:
#   team: larder
#   name: [Ann, Ben]
# method:
#   automatic: false
#   retrieval:
#     - name: bm25
#       k1: 0.9
# ir_metadata.end
"""
ROWS = "1 Q0 d1 1 2.5 bm25\n1 Q0 d2 2 1.5 bm25\n2 Q0 d1 1 9 bm25\n"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    call("init", folder=tmp_path)
    (tmp_path / "bm25.run").write_text(HEADER + ROWS, "utf-8")
    return tmp_path


def facts(folder: Path, run: str = "bm25") -> dict[str, str]:
    known: dict[str, str] = json.loads(call("runs", "show", run, "--format", "json", folder=folder).out)
    return known


def checked(folder: Path, header: str, rows: str = ROWS) -> str:
    (folder / "bm25.run").write_text(header + rows, "utf-8")
    return call("runs", "check", "bm25.run", folder=folder, status=None).err


def test_it_is_shown_with_the_run_and_names_its_team(folder: Path, kept: Kept):
    call("runs", "submit", "bm25.run", folder=folder)
    kept(call("runs", "show", "bm25", folder=folder).out)
    known = facts(folder)
    assert (known["group"], known["family"], known["rows"]) == ("larder", "manual", 3)


def test_a_team_on_the_command_line_goes_before_it(folder: Path):
    call("runs", "submit", "bm25.run", "--group", "pantry", "--family", "lexical", folder=folder)
    assert (facts(folder)["group"], facts(folder)["family"]) == ("pantry", "lexical")


def test_two_warnings_of_one_run_do_not_look_like_those_of_two(folder: Path, kept: Kept):
    header = HEADER.replace("# tag: bm25", "# tag: other").replace("# method", "# methd")
    (folder / "bm25.run").write_text(header + ROWS, "utf-8")
    kept(call("runs", "submit", "bm25.run", folder=folder).err)


def test_an_export_gives_it_back_as_it_was(folder: Path):
    call("runs", "submit", "bm25.run", folder=folder)
    assert call("runs", "export", "bm25", folder=folder).out == HEADER + ROWS


def test_a_corrected_copy_has_it_too(folder: Path):
    (folder / "bm25.run").write_text(HEADER + ROWS + "2 Q0 d1 2 8.0 bm25\n", "utf-8")
    call("runs", "check", "bm25.run", "--repair", "mended", folder=folder)
    assert (folder / "mended" / "bm25.run").read_text("utf-8") == HEADER + ROWS


def test_scores_are_those_of_the_rows(folder: Path):
    (folder / "qrels").write_text("1 0 d2 1\n2 0 d1 1\n", "utf-8")
    (folder / "plain.run").write_text(ROWS, "utf-8")
    tables = [
        call("evaluate", "--qrels", "qrels", run, "-m", "AP", "--format", "csv", folder=folder).out
        for run in ("bm25.run", "plain.run")
    ]
    assert tables[0] == tables[1]


@pytest.mark.parametrize(
    "header",
    [
        HEADER.replace("# ir_metadata.end\n", ""),
        HEADER.replace("tag: bm25", "tag: bm52"),
        HEADER.replace("actor", "actr"),
        HEADER.replace("team: larder", "team: [larder"),
        HEADER.replace("tag: bm25", "tag: &a [*a, *a]"),
        "# ir_metadata.start\n# just words\n# ir_metadata.end\n",
        f"# ir_metadata.start\n# {'[' * 5000}\n# ir_metadata.end\n",
    ],
    ids=["no end", "other tag", "unknown section", "no YAML", "aliases", "no sections", "too deep"],
)
def test_what_is_wrong_with_it_is_a_warning(folder: Path, header: str, kept: Kept):
    kept(checked(folder, header))
    call("runs", "submit", "bm25.run", folder=folder)


def test_lines_of_problems_are_those_of_the_file(folder: Path):
    said = checked(folder, HEADER, ROWS + "2 Q0 d3 2 high bm25\n")
    assert "bm25.run:16:" in said


def test_elsewhere_a_number_sign_begins_no_comment(folder: Path):
    assert "too-few-columns" in checked(folder, "# a comment\n")


def test_a_file_of_metadata_beside_the_run_counts_as_its_header(tmp_path: Path):
    call("init", folder=tmp_path)
    for team in ("larder", "mortar"):
        output = tmp_path / "runs" / team / "bm25"
        output.mkdir(parents=True)
        (output / "run.txt").write_text(ROWS.replace("bm25", team), "utf-8")
        (output / "ir-metadata.yml").write_text(f"tag: {team}\nresearch goal:\n  venue: TREC\n", "utf-8")
    call("runs", "submit", "runs", folder=tmp_path)
    assert facts(tmp_path, "mortar")["ir_metadata_research_goal.venue"] == "TREC"
    exported = call("runs", "export", "larder", folder=tmp_path).out
    assert exported.startswith("# ir_metadata.start\n# tag: larder\n")


@pytest.mark.timeout(60)
@pytest.mark.parametrize(
    "yaml",
    [
        "tag: " + "[" * 20_000,
        "tag: " + "[" * 400,
        "- " * 5000,
        "tag: [" + "a," * 30_000,
        "".join(f"k{number}: &a{number} v\n" for number in range(30_000)),
        "a: &a [x, x]\nb: *a",
        "? [a]\n: b",
        'actor:\n  team: "\\ud800\\0\\e[2J"',
        "tag: !!python/object/apply:os.system [exit]",
    ],
    ids=["deep", "nested", "dashes", "flow", "long", "alias", "key", "text", "object"],
)
def test_hostile_yaml_is_a_warning_and_the_run_is_stored(folder: Path, kept: Kept, yaml: str):
    header = "".join(f"# {line}\n" for line in ("ir_metadata.start", *yaml.splitlines(), "ir_metadata.end"))
    kept(checked(folder, header))
    call("runs", "submit", "bm25.run", folder=folder)
    assert facts(folder)["rows"] == 3
    shown = call("runs", "show", "bm25", folder=folder)
    assert "\x1b" not in shown.out + shown.err
    assert len(call("runs", "export", "bm25", folder=folder).out) < 200_000
