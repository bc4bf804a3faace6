"""trec_eval's bytes and exit status, both versions, on its awkward inputs and on its own test files."""

import gzip
from pathlib import Path

import pytest

from cranfield.evaluate.trec_eval import inputs
from cranfield.evaluate.trec_eval.printing import trec_eval

GOLDENS = Path(__file__).parent / "trec_eval"
SHARED = Path(__file__).parents[2].parent / "shared" / "data"
TESTS = SHARED / "trec_eval-tests"
TREC2 = SHARED / "trec-2-adhoc"

OPTIONS = {
    "plain": "-m all_trec",
    "q": "-q -m all_trec",
    "qc": "-q -c -m all_trec",
    "ql2": "-q -l 2 -m all_trec",
    "qM7": "-q -M 7 -m all_trec",
    "qJ": "-q -J -m all_trec",
    "official": "-m official",
}
OUTPUTS = sorted(path.name for path in GOLDENS.glob("*.out"))

MEASURE_PARAMETERS = (
    "-q -miprec_at_recall..10,.20,.25,.75,.50 -m P.5,7,3 -m recall.20,2000 -m Rprec_mult.5.0,0.2,0.35 "
    "-mutility.2,-1,0,0 -m 11pt_avg..25,.5,.75 -mndcg.1=3,2=9,4=4.5 -mndcg_cut.10,20,23.4 -msuccess.2,5,20"
)
OWN_TESTS = [
    ("out.test", "", "qrels.test", "results.test"),
    ("out.test", "", "qrels.test.with-comments", "results.test"),
    ("out.test.a", "-m all_trec", "qrels.test", "results.test"),
    ("out.test.aq", "-m all_trec -q", "qrels.test", "results.test"),
    ("out.test.aqc", "-m all_trec -q -c", "qrels.test", "results.trunc"),
    ("out.test.aqcM", "-m all_trec -q -c -M100", "qrels.test", "results.trunc"),
    ("out.test.aql", "-m all_trec -mrelstring.20 -q -l2", "qrels.rel_level", "results.test"),
    ("out.test.aqZ", f"-q -m all_trec -Z {TESTS / 'zscores_file'}", "qrels.test", "results.test"),
    ("out.test.meas_params", MEASURE_PARAMETERS, "qrels.test", "results.test"),
    ("out.comment.test", "", "qrels.comment.test", "results.comment.test"),
]


def printed_with_status(arguments: list[str]) -> str:
    printed = trec_eval(arguments)
    return f"{printed.output.decode()}# exit {printed.status}\n"


def test_there_are_goldens():
    assert len(OUTPUTS) == 112


@pytest.mark.parametrize("name", OUTPUTS)
def test_the_bytes_and_the_status_are_trec_evals(name: str):
    number, options, version = name.removesuffix(".out").split(".", 2)
    files = [str(GOLDENS / f"{number}.qrels"), str(GOLDENS / f"{number}.run")]
    got = printed_with_status([*OPTIONS[options].split(), "--as", version.split(".")[0], *files])
    assert got == (GOLDENS / name).read_text(encoding="utf-8")


@pytest.mark.parametrize("name", [name for name in OUTPUTS if ".q" in name])
def test_files_read_the_lenient_way_come_out_the_same(name: str, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(inputs, "_read_strictly", lambda *_: None)
    test_the_bytes_and_the_status_are_trec_evals(name)


@pytest.mark.shared
@pytest.mark.parametrize(("expected", "options", "qrels", "run"), OWN_TESTS)
def test_trec_evals_own_tests_pass(expected: str, options: str, qrels: str, run: str):
    printed = trec_eval([*options.split(), str(TESTS / qrels), str(TESTS / run)])
    assert (printed.output, printed.status) == ((TESTS / expected).read_bytes(), 0)


@pytest.mark.shared
@pytest.mark.parametrize("name", sorted(path.name for path in (GOLDENS / "trec-2").glob("*.gz")))
def test_real_trec_runs_come_out_the_same(name: str, tmp_path: Path):
    run, _, version = name.removesuffix(".out.gz").split(".", 2)
    unpacked = tmp_path / run
    packed = next(path for path in TREC2.rglob("*.gz") if run in path.name)
    unpacked.write_bytes(gzip.decompress(packed.read_bytes()))
    qrels = str(TREC2 / "qrels" / "qrels.101-150.disk1.disk2")
    got = printed_with_status(["-q", "-c", "-m", "all_trec", "--as", version.split(".")[0], qrels, str(unpacked)])
    expected = gzip.decompress((GOLDENS / "trec-2" / name).read_bytes()).decode()
    assert got == expected
