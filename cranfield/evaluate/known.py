"""A run of which is known only where its rows stand in the qrels."""

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from cranfield.runs.run import Codes, Places, Run, Scores


@dataclass(frozen=True, eq=False)
class KnownRun:
    """A run of which is known only where its rows stand in the qrels: `judged` are rows of theirs, -1 for none.

    Topics are in byte order, each from best to worst with ties as the reference breaks them, and no document stands
    twice: whoever makes one has seen to that. The tags are those of the first and the last line, and `other_tags`
    those that were seen beside the first. `tied` says of each row whether it ties with the row above, in its topic;
    without it the scores tell.
    """

    tag: str
    last_tag: str
    topic_ids: pa.Array
    offsets: Places
    judged: Codes
    scores: Scores | None = None
    tied: NDArray[np.bool_] | None = None
    other_tags: tuple[str, ...] = ()


AnyRun = Run | KnownRun
