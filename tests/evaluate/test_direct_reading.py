"""The short way from a run file to its grades gives what the long way gives, or is not taken."""

import random
from pathlib import Path

import pytest

from cranfield.evaluate.align import align
from cranfield.evaluate.direct import read_direct
from cranfield.evaluate.judged_pairs import judged_pairs
from cranfield.evaluate.mappings import qrels_from
from cranfield.runs.order import ranked
from cranfield.runs.reading import read_rows
from cranfield.source import Source

ORDINARY = "2 Q0 a 1 3.5 t\n2 Q0 b 2 2 t\n10 Q0 a 1 1e-3 t\n"


def direct(tmp_path: Path, text: str | bytes):
    file = tmp_path / "run"
    file.write_bytes(text if isinstance(text, bytes) else text.encode())
    return read_direct(Source(file), judged_pairs(qrels_from({"2": {"a": 1}})))


def random_file(draw: random.Random) -> str:
    lines = []
    for topic in draw.sample(["1", "2", "10", "é", "T-5", "zz"], 5):
        documents = draw.sample([f"D{number}" for number in range(40)] + ["ä", "Z"], draw.randrange(1, 30))
        scores = sorted(
            (draw.choice([1.0, 1.0 + 1e-9, 2.0, round(draw.random(), 2)]) for _ in documents), reverse=True
        )
        lines += [
            f"{topic} Q0 {document} {score:.0f} {score!r} tag"
            for document, score in zip(documents, scores, strict=True)
        ]
    return "\n".join(lines) + draw.choice(["", "\n"])


@pytest.mark.parametrize("reference", ["9", "10"])
@pytest.mark.parametrize("topics", ["qrels", "run", ["2", "é"]])
def test_both_ways_lead_to_the_same_lists(tmp_path: Path, reference, topics):
    draw = random.Random(3)
    judged = {
        topic: {f"D{number}": draw.randrange(-1, 3) for number in range(0, 40, 2)} for topic in ("2", "é", "1", "w")
    }
    judged["2"]["ä"] = 2
    qrels = qrels_from(judged)
    files = [tmp_path / f"run{number}" for number in range(20)]
    for file in files:
        file.write_text(random_file(draw), encoding="utf-8")
    found = [read_direct(Source(file), judged_pairs(qrels), reference=reference) for file in files]
    assert all(run is not None for run in found)
    short = align(qrels, found, topics=topics, reference=reference)
    runs = [ranked(read_rows(Source(file))) for file in files]
    long = align(qrels, runs, topics=topics, reference=reference)
    assert short.lists.grades.tolist() == long.lists.grades.tolist()
    assert short.lists.offsets.tolist() == long.lists.offsets.tolist()
    assert short.tied.tolist() == long.tied.tolist()
    assert (short.run_names, short.extra_topics) == (long.run_names, long.extra_topics)


@pytest.mark.parametrize("text", [ORDINARY, ORDINARY.removesuffix("\n"), ORDINARY.replace(" ", "\t")])
def test_an_ordinary_file_takes_the_short_way(tmp_path: Path, text: str):
    run = direct(tmp_path, text)
    assert run is not None
    assert (run.tag, run.last_tag, run.topic_ids.to_pylist()) == ("t", "t", ["10", "2"])
    assert (run.offsets.tolist(), run.judged.tolist(), run.scores.tolist()) == (
        [0, 1, 3],
        [-1, 0, -1],
        [0.001, 3.5, 2],
    )


@pytest.mark.parametrize(
    "text",
    [
        "",
        "\n",
        ORDINARY.replace("\n", "\r\n"),
        ORDINARY + "\n",
        " " + ORDINARY,
        ORDINARY.replace("2 t", "2 t ", 1),
        ORDINARY.replace("Q0 b", " b"),
        ORDINARY.replace("2 Q0 b 2 2 t", "2 Q0 b 2 2 "),
        ORDINARY.replace("2 Q0 b 2 2 t", "2 Q0 b 2 2 t more"),
        ORDINARY.replace("2 Q0 b 2 2 t", "2 Q0 b 2 2"),
        ORDINARY.replace("2 Q0 b", "2\tQ0 b"),
        ORDINARY.replace(" b ", " a "),
        ORDINARY.replace("3.5", "1.5"),
        ORDINARY.replace("3.5", "nan"),
        ORDINARY.replace("3.5", "abc"),
        ORDINARY.replace("3.5", "1e999"),
        ORDINARY + "2 Q0 c 3 1 t\n",
        b"2 Q0 \xff 1 1 t\n",
        b"2 Q0 a\x00 1 1 t\n",
    ],
)
def test_anything_else_does_not(tmp_path: Path, text: str | bytes):
    assert direct(tmp_path, text) is None


def test_a_gap_across_pieces_is_seen(tmp_path: Path):
    line = "1 Q0 document-%07d 1 1 t\n"
    many = "".join(line % number for number in range(30_000))
    place = 1 << 18
    assert direct(tmp_path, many) is not None
    for shift in range(-2, 3):
        cut = many.rfind(" t\n", 0, place + shift)
        assert direct(tmp_path, many[:cut] + " " + many[cut:]) is None
