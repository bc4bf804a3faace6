"""What the tests of the Python interface share: the shipped collection, judged, and a toy pool of bare files."""

from pathlib import Path

import pytest
from command import call

KITCHEN = Path(__file__).parents[2] / "collections" / "kitchen"
TOPICS = [f"t{number}" for number in range(1, 13)]
RUNS = (1, 2, 3, 4, 5, 9)


def ranking(run: int, topic: int) -> list[str]:
    """Five contributors share documents and have one of their own; the outsider (9) has two that nobody has."""
    shared = [f"d{(run + topic + step) % 4}" for step in range(3)]
    own = [f"own{run}"] if run != 9 else ["far1", "far2"]
    listed = [*own, *shared] if (run + topic) % 2 else [shared[0], *own, *shared[1:]]
    return [*dict.fromkeys(listed), f"tail{run}a", f"tail{run}b"]


@pytest.fixture(scope="session")
def pool(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with runs r1 … r5 that fed a pool of depth 3, r9 that did not, qrels, and groups.tsv."""
    folder = tmp_path_factory.mktemp("pool")
    pooled: set[tuple[str, str]] = set()
    for run in RUNS:
        rows = []
        for number, topic in enumerate(TOPICS):
            for place, document in enumerate(ranking(run, number), start=1):
                rows.append(f"{topic} Q0 {document} {place} {10 - place} r{run}\n")
                if run != 9 and place <= 3:
                    pooled.add((topic, document))
        (folder / f"r{run}.run").write_text("".join(rows))
    relevant = {"d0", "d1", "own1", "own2", "own4"}
    (folder / "qrels").write_text(
        "".join(f"{topic} 0 {document} {int(document in relevant)}\n" for topic, document in sorted(pooled))
    )
    groups = [f"r{run}\tg{run}\tpooled\n" for run in range(1, 6)]
    (folder / "groups.tsv").write_text("".join([*groups, "r9\tnew group\tnew\n"]))
    return folder


@pytest.fixture(scope="session")
def kitchen(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The shipped collection, pooled and judged by two assessors; tests only read it."""
    folder = tmp_path_factory.mktemp("kitchen")
    call("init", "kitchen", "--scale", str(KITCHEN / "scale.toml"), folder=folder)
    call("corpus", "add", str(KITCHEN / "documents.jsonl"), folder=folder)
    call("corpus", "topics", str(KITCHEN / "topics.trec"), folder=folder)
    call("runs", "submit", str(KITCHEN / "runs.toml"), folder=folder)
    call("pool", "build", "depth 5", folder=folder)
    call("judge", "import", str(KITCHEN / "judgments.csv"), folder=folder)
    return folder / "collection.db"
