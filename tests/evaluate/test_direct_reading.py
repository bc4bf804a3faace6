"""The short way from a run file to its grades gives what the long way gives, or is not taken."""

import random
from pathlib import Path

import pytest
from mappings import qrels_from, run_from

from cranfield.base.files import Source
from cranfield.evaluate import direct as reading
from cranfield.evaluate.align import align
from cranfield.evaluate.direct import judged_pairs, read_direct
from cranfield.runs.reading import read_rows, run_formats
from cranfield.runs.run import ranked

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
@pytest.mark.parametrize("piece", [1, 40, 300, 1 << 20])
@pytest.mark.parametrize("judged_every", [2, 13])
def test_both_ways_lead_to_the_same_lists(tmp_path: Path, monkeypatch, reference, topics, piece, judged_every):
    monkeypatch.setattr(reading, "_PIECE", piece)
    monkeypatch.setattr(reading, "_SMALL", piece)
    draw = random.Random(3)
    judged = {
        topic: {f"D{number}": draw.randrange(-1, 3) for number in range(0, 40, judged_every)}
        for topic in ("2", "é", "1", "w")
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
    assert (run.offsets.tolist(), run.judged.tolist(), run.tied.tolist()) == ([0, 1, 3], [-1, 0, -1], [False] * 3)


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
        "2 Q0 a 1 3.5 t\n2 Q0 b 2 2\n10 Q0 a 1 7 5 6\n",
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


@pytest.mark.parametrize("piece", range(1, 80))
def test_it_does_not_matter_where_a_file_is_cut(tmp_path: Path, monkeypatch, piece: int):
    monkeypatch.setattr(reading, "_PIECE", piece)
    text = "\ufeff" + "".join(f"2 Q0 {name} 1 1 t\n" for name in "abcdefg") + "10 Q0 a 1 1 t\n10 Q0 b 1 1 u"
    run = direct(tmp_path, text)
    assert run is not None
    assert (run.tag, run.last_tag, run.topic_ids.to_pylist()) == ("t", "u", ["10", "2"])
    assert (run.offsets.tolist(), run.judged.tolist()) == ([0, 2, 9], [-1, -1, *[-1] * 6, 0])
    assert direct(tmp_path, text.replace("10 Q0 b", "2 Q0 h")) is None
    assert direct(tmp_path, text.replace("Q0 g", "Q0 b")) is None
    assert direct(tmp_path, text.replace("Q0 g", "Q0  g")) is None
    for name in "bcdefg":
        assert direct(tmp_path, text.replace(f"Q0 {name} 1 1", f"Q0 {name} 1 1.5")) is None


def test_a_very_long_line_is_not_ordinary(tmp_path: Path, monkeypatch):
    monkeypatch.setattr(reading, "_PIECE", 1 << 16)
    for column in range(6):
        words = ["2", "Q0", "b", "2", "2", "t"]
        words[column] = "1" * (1 << 18)
        assert direct(tmp_path, ORDINARY + " ".join(words) + "\n") is None
    assert direct(tmp_path, ORDINARY.replace("t\n", "t" * 3000 + "\n")) is not None


@pytest.mark.parametrize("longest", [8, 256])
def test_ids_that_are_alike_are_told_apart_even_in_one_slot(tmp_path: Path, monkeypatch, longest: int):
    names = ["a", "aa", "a" * 8, "a" * 9, "a" * 16, "a" * 17, "a" * 255 + "b", "a" * 256]
    in_qrels = {name: place for place, name in enumerate(names) if len(name) <= longest}
    qrels = qrels_from({"2": in_qrels, "22": {"a": 1}, "é": {"aa": 1}})
    monkeypatch.setattr("cranfield.evaluate.align._ROOM", 1 - len(qrels).bit_length())
    rows = [f"{topic} Q0 {name} 1 {300 - len(name)}.5 t" for topic in ("2", "22", "é") for name in [*names, "ab"]]
    file = tmp_path / "run"
    file.write_text("\n".join(sorted(rows, key=lambda row: (row.split()[0], -float(row.split()[4])))))
    run = read_direct(Source(file), judged_pairs(qrels))
    assert run is not None
    short, long = (align(qrels, [one]).lists for one in (run, ranked(read_rows(Source(file)))))
    assert short.grades.tolist() == long.grades.tolist()
    assert (short.grades >= 0).sum() == len(qrels)


def test_a_gap_across_pieces_is_seen(tmp_path: Path):
    line = "1 Q0 document-%07d 1 1 t\n"
    many = "".join(line % number for number in range(30_000))
    place = 1 << 18
    assert direct(tmp_path, many) is not None
    for shift in range(-2, 3):
        cut = many.rfind(" t\n", 0, place + shift)
        assert direct(tmp_path, many[:cut] + " " + many[cut:]) is None


@pytest.mark.parametrize("format", [name for name in run_formats.names() if name != "trec"])
def test_no_file_of_another_format_is_an_ordinary_one(tmp_path: Path, format: str):
    run = run_from({"10": {"a": 1.0}, "2": {"a": 3.5, "b": 2.0}}, tag="t")
    with (tmp_path / "other").open("wb") as stream:
        run_formats.get(format).write(run, stream)
    assert read_direct(Source(tmp_path / "other"), judged_pairs(qrels_from({"2": {"a": 1}}))) is None
