"""Data sets of ir_datasets by name: the installed package, with data sets of local files through its own registry."""

import json
import subprocess
import sys
import tarfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from command import call
from kept import Kept

ir_datasets = pytest.importorskip("ir_datasets")

from ir_datasets.datasets.base import Dataset, ExpectedFile  # noqa: E402
from ir_datasets.formats import TrecDocs, TrecQrels, TrecQueries, TrecScoredDocs, TsvDocs, TsvQueries  # noqa: E402
from ir_datasets.util import Download, LocalDownload, RequestsDownload  # noqa: E402

SHARED = Path(__file__).parents[2].parent / "shared" / "data"
NAME = "cranfield-tests/wings"
MEANINGS = {0: "Irrelevant: nothing to do with it.", 1: "Related: on the subject.", 2: "Perfect: answers it."}
DOCUMENTS = """<DOC>
<DOCNO> d1 </DOCNO>
<TITLE> Wings </TITLE>
<TEXT>
Wings in slow air.
</TEXT>
</DOC>
<DOC>
<DOCNO> d2 </DOCNO>
<TEXT>
Heat in slabs.
</TEXT>
</DOC>
"""
TOPICS = """<top>
<num> Number: 1
<title> slow wings
<desc> Description:
What do wings do in slow air?
<narr> Narrative:
Only wings.
</top>
<top>
<num> Number: 2
<title> heat
<desc> Description:
How does heat flow?
<narr> Narrative:
In slabs.
</top>
"""


class Documentation:
    """What a data set says of itself, as the YAML files of ir_datasets do."""

    def documentation(self) -> dict[str, object]:
        return {
            "pretty_name": "Wings",
            "desc": "<p>Two <b>abstracts</b>. This collection is licensed with CC-BY 4.0.</p>",
            "bibtex_ids": ["Voorhees2004Robust"],
            "official_measures": ["nDCG@10", "AP(rel=2)"],
        }


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder for the files of ir_datasets, and a registry that forgets what a test adds."""
    known = dict(ir_datasets.registry._registered)
    monkeypatch.setenv("IR_DATASETS_HOME", str(tmp_path / "irds"))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "settings"))
    yield tmp_path / "irds"
    ir_datasets.registry._registered = known


@pytest.fixture
def wings(home: Path, tmp_path: Path) -> str:
    """A data set of TREC files, with scored documents."""
    files = {
        "docs.trec": DOCUMENTS,
        "topics.trec": TOPICS,
        "qrels": "1 0 d1 2\n1 0 d2 0\n2 0 d2 1\n",
        "scored": "1 Q0 d1 1 2.5 bm25\n2 Q0 d2 1 1.5 bm25\n",
    }
    home.mkdir()
    for name, text in files.items():
        (home / name).write_text(text, "utf-8")
    parts = [
        TrecDocs(ExpectedFile(home / "docs.trec"), docstore_path=home / "wings.pklz4", namespace="wings", lang="en"),
        TrecQueries(ExpectedFile(home / "topics.trec"), namespace="wings", lang="en"),
        TrecQrels(ExpectedFile(home / "qrels"), MEANINGS),
        TrecScoredDocs(ExpectedFile(home / "scored")),
    ]
    ir_datasets.registry.register(NAME, Dataset(*parts, Documentation()))
    return f"irds:{NAME}"


def documents(folder: Path) -> list[tuple[str, str]]:
    shown = json.loads(call("corpus", "show", "--format", "json", folder=folder).out)
    return [(one["document"], one["text"].strip()) for one in shown]


def test_a_collection_is_made_of_a_data_set_with_all_that_is_known_of_it(wings: str, tmp_path: Path, kept: Kept):
    kept(call("init", "--from", wings, "--copy", folder=tmp_path).err)
    assert call("qrels", "export", folder=tmp_path).out == "1 0 d1 2\n1 0 d2 0\n2 0 d2 1\n"
    assert [id for id, _ in documents(tmp_path)] == ["d1", "d2"]
    assert call("runs", "export", "cranfield-tests-wings", folder=tmp_path).out.splitlines()[0].split()[:3] == [
        *("1", "Q0", "d1")
    ]
    call("qrels", "release", "official", "--bundle", "bundle", folder=tmp_path)
    card = json.loads((tmp_path / "bundle" / "card.json").read_text("utf-8"))
    kept(json.dumps({name: card[name] for name in ("licence", "citation", "about", "scale")}, indent=1))
    assert call("check", folder=tmp_path).status == 0


def ours(text: str) -> list[str]:
    """The lines that are not of ir_datasets itself, which says how long it took."""
    return [line for line in text.splitlines() if line and not line.startswith(("[INFO]", "docs_iter", "\r"))]


def test_documents_stay_in_the_store_of_ir_datasets(wings: str, tmp_path: Path, kept: Kept):
    kept(ours(call("init", "--from", wings, folder=tmp_path).err))
    assert documents(tmp_path) == []
    shown = json.loads(call("corpus", "show", "d2", "--format", "json", folder=tmp_path).out)
    assert shown[0]["text"].strip() == "Heat in slabs."


def test_without_its_documents_a_data_set_can_still_be_scored_with(
    wings: str, home: Path, tmp_path: Path, kept: Kept
):
    (home / "docs.trec").unlink()
    kept(ours(call("init", "--from", wings, folder=tmp_path).err))
    assert call("evaluate", "-m", "AP", folder=tmp_path).status == 0


def test_documents_and_topics_are_added_by_the_name_of_a_data_set(wings: str, tmp_path: Path, kept: Kept):
    call("init", folder=tmp_path)
    kept(call("corpus", "add", wings, folder=tmp_path).err + call("corpus", "topics", wings, folder=tmp_path).err)
    assert documents(tmp_path)[1] == ("d2", "Heat in slabs.")
    topics = json.loads(call("corpus", "topics", "--format", "json", folder=tmp_path).out)
    assert [(one["topic"], one["title"], one["description"], one["narrative"]) for one in topics] == [
        ("1", "slow wings", "What do wings do in slow air?", "Only wings."),
        ("2", "heat", "How does heat flow?", "In slabs."),
    ]


def test_a_run_is_scored_with_the_qrels_of_a_data_set(wings: str, home: Path, tmp_path: Path):
    words = "evaluate", "--qrels", wings, home / "scored", "-m", "AP(rel=2)", "--format", "json"
    alone = json.loads(call(*words, folder=tmp_path).out)
    assert next(row["value"] for row in alone if row["topic"] == "all") == 0.5
    call("init", folder=tmp_path)
    call("runs", "submit", wings, folder=tmp_path)
    here = call("evaluate", "--qrels", wings, "-m", "AP(rel=2)", "--format", "json", folder=tmp_path).out
    assert next(row["value"] for row in json.loads(here) if row["topic"] == "all") == 0.5


def test_a_data_set_without_a_title_or_meanings_is_binary(home: Path, tmp_path: Path):
    home.mkdir()
    for name, text in {"docs": "d1\tWings\nd2\tHeat\n", "queries": "q1\twings\n", "qrels": "q1 0 d1 1\n"}.items():
        (home / name).write_text(text, "utf-8")
    parts = [
        TsvDocs(ExpectedFile(home / "docs"), namespace="plain", docstore_size_hint=1),
        TsvQueries(ExpectedFile(home / "queries"), namespace="plain"),
        TrecQrels(ExpectedFile(home / "qrels"), {}),
    ]
    ir_datasets.registry.register("cranfield-tests/plain", Dataset(*parts))
    call("init", "--from", "irds:cranfield-tests/plain", "--copy", folder=tmp_path)
    assert documents(tmp_path) == [("d1", "Wings"), ("d2", "Heat")]
    status = json.loads(call("status", "--format", "json", folder=tmp_path).out)
    assert status["scale"] == "0 not relevant, 1 relevant (relevant from 1)"


def test_what_a_data_set_lacks_is_said(home: Path, tmp_path: Path, kept: Kept):
    ir_datasets.registry.register("cranfield-tests/bare", Dataset(TrecQrels(ExpectedFile(home / "qrels"), {})))
    call("init", folder=tmp_path)
    kept(call("corpus", "add", "irds:cranfield-tests/bare", folder=tmp_path, status=1).err)
    kept(call("qrels", "import", "irds:cranfield-tests/bare", "--name", "x", folder=tmp_path, status=1).err)


def test_an_unknown_data_set_is_answered_with_the_nearest(home: Path, tmp_path: Path):
    said = call("init", "--from", "irds:cranfeld", folder=tmp_path, status=1).err
    assert "cranfield" in said.splitlines()[0]


@pytest.mark.parametrize("mirrors", ["a server", "by hand"])
def test_without_a_network_it_is_said_what_to_get_and_where_it_must_lie(
    mirrors: str, home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kept: Kept
):
    monkeypatch.setenv("IR_DATASETS_DL_TRIES", "1")
    place = home / "far" / "qrels"
    source = (
        RequestsDownload("http://127.0.0.1:9/qrels")
        if mirrors == "a server"
        else LocalDownload(place, f"To use it, ask NIST for the qrels and put them at {place}.")
    )
    far = Download([source], cache_path=None if mirrors == "by hand" else place)
    ir_datasets.registry.register("cranfield-tests/far", Dataset(TrecQrels(far, {})))
    call("init", folder=tmp_path)
    said = call("qrels", "import", "irds:cranfield-tests/far", "--name", "x", folder=tmp_path, status=1).err
    kept(said.splitlines()[-1])


@pytest.mark.shared
def test_the_grades_of_cranfield_are_put_right_in_ir_datasets_too(home: Path, tmp_path: Path):
    """Its definitions have 4 as the best grade, its qrels 1; the recipe for the same collection knows."""
    (home / "cranfield").mkdir(parents=True)
    with tarfile.open(home / "cranfield" / "cran.tar.gz", "w:gz") as archive:
        for name in ("cran.all.1400", "cran.qry", "cranqrel"):
            archive.add(SHARED / "cranfield" / "original-glasgow" / name, name)
    call("init", "--recipe", "cranfield1400", "--from", SHARED / "cranfield", "-C", tmp_path / "files.db")
    # The folder of ir_datasets is settled when its data sets are loaded: in a process of its own.
    command = [sys.executable, "-m", "cranfield", "init", "--from", "irds:cranfield", "--copy"]
    subprocess.run([*command, "-C", tmp_path / "irds.db"], check=True)
    qrels = [call("qrels", "export", "-C", tmp_path / name).out for name in ("files.db", "irds.db")]
    assert qrels[0] == qrels[1]
