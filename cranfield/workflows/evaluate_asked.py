"""What is asked of an evaluation."""

from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from cranfield.evaluate.align import AnyRun
    from cranfield.qrels.qrels import Qrels

As = Literal["9", "10"]
Ties = Literal["trec", "best", "worst", "expected"]
Duplicates = Literal["plain", "novelty"]
LetterTest = Literal["tukey", "t"]

TOPIC_SETS = ("qrels", "common", "run")
DEFAULT_MEASURES = ("AP", "nDCG@10", "P@10", "RR")


@dataclass(frozen=True, kw_only=True)
class Asked:
    """What is to be evaluated: runs as stored names or files, against a file of qrels; both also as they are.

    `like` asks for the order of equal scores and the rounding of recall levels of a version of trec_eval; without it
    scores are compared as doubles and recall levels are exact. `topics` is qrels, common, run, or a file of ids, or
    the ids themselves. With novelty, near-duplicates of a document above count as not relevant; `clusters` says
    which those are, in a file or as document -> cluster. With `curve` there are also scores for a precision–recall
    curve. `letters` names the test behind significance letters, where they are wanted.
    """

    qrels: "Path | Qrels"
    runs: "tuple[str | AnyRun, ...]"
    measures: tuple[str, ...] = DEFAULT_MEASURES
    topics: str | tuple[str, ...] = "qrels"
    like: As | None = None
    ties: Ties = "trec"
    duplicates: Duplicates = "plain"
    clusters: Path | Mapping[str, Hashable] | None = None
    curve: bool = False
    letters: LetterTest | None = None
