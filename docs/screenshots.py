"""Draws docs/images/*.svg: the assessor interface, from the kitchen collection and a fake session, and its verdicts.

The pictures hold no dates and no times of this machine, so they change only with the program.
"""

import asyncio
import re
import sys
import tomllib
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "tests" / "ui"))
# ruff: noqa: E402 (the session in memory lies with the tests)

import matplotlib
from fakes import FakeAdjudication, FakeJudging
from textual.app import App
from textual.pilot import Pilot

import cranfield as cf
from assessor_ui.app import AssessorApp
from assessor_ui.session import Session
from cranfield.base.records import Document, Topic
from cranfield.corpus.reading import read_documents, read_topics
from cranfield.judge.events import Evidence
from cranfield.judge.session import Item, Opinion
from cranfield.workflows.collection import parse_scale

KITCHEN = ROOT / "collections" / "kitchen"
IMAGES = Path(__file__).parent / "images"
DEPTH = 12

PICTURES: dict[str, tuple[str, tuple[int, int], Sequence[str]]] = {
    "chair": ("dark", (80, 24), ("2", "3", "n")),
    "chair-light": ("light", (80, 24), ("2", "3", "n")),
    "chair-wide": ("light", (130, 30), ("2", "3", "v", "down", "enter")),
    "chair-small": ("dark", (60, 20), ("2", "3")),
    "topic": ("dark", (80, 24), ("2",) * 12),
    "note": ("dark", (80, 24), ("2", "c", *"only the pan sauce")),
    "search": ("dark", (80, 24), ("2", "s", *"milk", "enter")),
    "history": ("dark", (80, 24), ("2", "3", "l", "1", "h")),
    "guidelines": ("dark", (80, 24), ("g",)),
}


def kitchen_judging() -> FakeJudging:
    """Give a session with the shipped collection on it: the first documents of one run, by id."""
    queues: dict[str, list[str]] = {}
    for line in (KITCHEN / "runs" / "larder-bm25.run").read_text(encoding="utf-8").splitlines():
        topic, _, document, rank, *_ = line.split()
        if int(rank) <= DEPTH:
            queues.setdefault(topic, []).append(document)
    return FakeJudging(
        scale=parse_scale(str(KITCHEN / "scale.toml")),
        guidelines=(KITCHEN / "guidelines.md").read_text(encoding="utf-8"),
        topic_list=tuple(topic for topic in read_topics(KITCHEN / "topics.trec") if isinstance(topic, Topic)),
        documents=documents(),
        queues={topic: sorted(queue) for topic, queue in queues.items()},
    )


def documents() -> tuple[Document, ...]:
    """Give the documents of the shipped collection."""
    return tuple(each for each in read_documents(KITCHEN / "documents.jsonl") if isinstance(each, Document))


def kitchen_cases() -> FakeAdjudication:
    """Give a session with one disagreement on it."""
    document = next(each for each in documents() if each.id == "K003")
    topic = next(each for each in kitchen_judging().topic_list if each.id == "T01")
    careful = "Do not use it on bare aluminium, which goes dark."
    method = "Cover the burnt layer with an inch of water, tip in three tablespoons of baking soda"
    opinions = (
        Opinion(2, "For stainless pans only.", (marked(document, careful),)),
        Opinion(3, "Complete: what to take, how long, and what to do with the rest.", (marked(document, method),)),
    )
    return FakeAdjudication(
        cases=(Item(topic, document, 3, 14, 12, opinions=opinions),), scale=parse_scale(str(KITCHEN / "scale.toml"))
    )


def marked(document: Document, words: str) -> Evidence:
    """Give words of a document as evidence."""
    start = document.text.index(words)
    return Evidence(start, start + len(words), words)


async def draw(app: App[int], name: str, size: tuple[int, int], keys: Sequence[str]) -> None:
    """Press keys and keep what is on the screen then."""
    async with app.run_test(size=size) as pilot:
        await settle(app, pilot)
        for key in keys:
            await pilot.press("space" if key == " " else key)
            await settle(app, pilot)
        (IMAGES / f"{name}.svg").write_text(plain_svg(app.export_screenshot()), encoding="utf-8")


async def settle(app: App[int], pilot: Pilot[int]) -> None:
    """Wait until all is drawn."""
    for _ in range(3):
        await app.workers.wait_for_complete()
        await pilot.pause()


def plain_svg(svg: str) -> str:
    """Give a picture that fetches no font from anywhere."""
    without_fonts = re.sub(r"\s*@font-face \{.*?\}", "", svg, flags=re.DOTALL)
    return without_fonts.replace("Fira Code", "DejaVu Sans Mono")


def draw_verdicts() -> None:
    """Draw the score of every run of the shipped collection, with what judging could add to it."""
    runs = tomllib.loads((KITCHEN / "runs.toml").read_text(encoding="utf-8"))["run"]
    files = cf.open_files(
        qrels=KITCHEN / "qrels.txt",
        runs=[KITCHEN / run["file"] for run in runs],
        groups={Path(run["file"]).stem: run["group"] for run in runs if run["role"] == "contributing"},
        pool_depth=5,
        progress=False,
    )
    with matplotlib.rc_context({"svg.fonttype": "none", "svg.hashsalt": "cranfield"}):
        axes = files.reuse(measures="nDCG@5").plot.intervals("nDCG@5")
        axes.figure.savefig(IMAGES / "verdict.svg", bbox_inches="tight", metadata={"Date": None, "Creator": None})


def main() -> int:
    """Draw all pictures."""
    IMAGES.mkdir(exist_ok=True)
    draw_verdicts()
    for name, (theme, size, keys) in PICTURES.items():
        asyncio.run(draw(AssessorApp(Session(kitchen_judging()), theme=theme, held=0, seen=0), name, size, keys))
    deciding = Session(kitchen_cases())
    app = AssessorApp(deciding, theme="dark", held=0, seen=0)
    asyncio.run(draw(app, "adjudication", (80, 24), ("f",)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
