"""Draws what strategies find against what they cost, by playing them against judgments that are known.

    python docs/pool_curves.py RUNS QRELS > docs/pool-curves.svg

RUNS is a folder of run files, QRELS a TREC qrels file. Broken runs are mended as `runs check --repair` does.
"""

import sys
from collections.abc import Mapping
from pathlib import Path

import numpy as np

from cranfield.base.files import Source
from cranfield.pool.candidates import PooledRuns, runs_of
from cranfield.pool.plan import parse
from cranfield.pool.replay import replay
from cranfield.runs.check import Expectations, check, repair
from cranfield.runs.columns import running_sum
from cranfield.runs.reading import read_rows
from cranfield.runs.run import Run

PLANS = {
    "rrf 300": "#7f4fa3",
    "hedge until 300": "#1b6ca8",
    "max-mean-ns until 300": "#c8553d",
    "thompson until 300": "#2a9d6f",
    "mtf until 300": "#b8860b",
    "take 300": "#555555",
    "shuffle 300": "#bbbbbb",
}
NOTES = {"take 300": " (by depth)", "shuffle 300": " (at random)"}
LEFT_OUT = ("rutfmed",)
WIDTH, HEIGHT, MARGIN = 720, 420, 60


def curves(runs: PooledRuns, labels: Mapping[str, Mapping[str, bool]]) -> dict[str, np.ndarray]:
    """Give for each plan the relevant documents found with 0, 1, 2 … documents a topic."""
    topics = len(runs.codes_by_topic)
    judged = {plan: replay(parse(plan), runs, labels) for plan in PLANS}
    return {plan: running_sum([one.relevant is True for one in some])[::topics] for plan, some in judged.items()}


def picture(found: Mapping[str, np.ndarray]) -> str:
    """Give the curves as SVG."""
    most = max(int(curve[-1]) for curve in found.values())
    deepest = max(len(curve) - 1 for curve in found.values())
    high = -(-most // 1000) * 1000
    parts = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" font-family="sans-serif">']
    parts.append(f'<rect width="{WIDTH}" height="{HEIGHT}" fill="white"/>')
    for step in range(0, high + 1, 1000):
        height = _y(step, high)
        parts.append(f'<path d="M{MARGIN} {height:.1f}H{WIDTH - 170}" stroke="#e4e4e4"/>')
        parts.append(_text(MARGIN - 8, height + 4, f"{step:,}", anchor="end"))
    steps = range(0, deepest + 1, 50)
    parts += [_text(_x(step, deepest), HEIGHT - MARGIN + 20, str(step), anchor="middle") for step in steps]
    parts.append(_text(_x(deepest / 2, deepest), HEIGHT - 16, "documents judged for each topic", anchor="middle"))
    parts.append(_text(MARGIN - 48, 22, "relevant documents found", anchor="start"))
    ends = sorted(((int(curve[-1]), plan) for plan, curve in found.items()), reverse=True)
    label_at = -np.inf
    for end, plan in ends:
        curve = found[plan]
        points = " ".join(f"{_x(place, deepest):.1f},{_y(value, high):.1f}" for place, value in enumerate(curve))
        parts.append(f'<polyline points="{points}" fill="none" stroke="{PLANS[plan]}" stroke-width="2"/>')
        label_at = max(_y(end, high) + 4, label_at + 15)
        name = plan.split()[0] + NOTES.get(plan, "")
        parts.append(_text(WIDTH - 162, label_at, name, anchor="start", colour=PLANS[plan]))
    return "\n".join([*parts, "</svg>"]) + "\n"


def _x(value: float, most: int) -> float:
    return MARGIN + value / most * (WIDTH - 170 - MARGIN)


def _y(value: float, most: int) -> float:
    return HEIGHT - MARGIN - value / most * (HEIGHT - MARGIN - 40)


def _text(x: float, y: float, words: str, *, anchor: str, colour: str = "#222222") -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" font-size="13" text-anchor="{anchor}" fill="{colour}">{words}</text>'


def _mended(path: Path, topics: frozenset[str]) -> Run | None:
    rows = read_rows(Source(path))
    return repair(rows, check(rows, Expectations(topics=topics)), name=path.name)[0]


def main() -> None:
    """Read, play and draw."""
    folder, qrels = Path(sys.argv[1]), Path(sys.argv[2])
    labels: dict[str, dict[str, bool]] = {}
    for line in qrels.read_text(encoding="utf-8").splitlines():
        topic, _, document, grade = line.split()
        labels.setdefault(topic, {})[document] = int(grade) > 0
    paths = [path for path in sorted(folder.iterdir()) if not any(word in path.name for word in LEFT_OUT)]
    runs = [run for path in paths if (run := _mended(path, frozenset(labels))) is not None]
    sys.stdout.write(picture(curves(runs_of(runs), labels)))


if __name__ == "__main__":
    main()
