"""Tables with named columns become rows: at full speed where nothing is wrong in them."""

from collections.abc import Mapping

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from cranfield.runs.columns import Coded, assembled, encoded, ranks_of, scores_of
from cranfield.runs.problems import Findings
from cranfield.runs.run import NO_RANK, Places, Rows, Scores
from cranfield.source import Source

_UNFIT = r"^$|[\x00-\x20\x7f-\x{9f}]"


def clean_rows(
    source: Source,
    parts: Mapping[str, pa.ChunkedArray],
    *,
    skipped: NDArray[np.int64],
    findings: Findings | None = None,
) -> Rows | None:
    """Make rows of text columns (`topic`, `document`, `score` or `rank`, `tag`), or None if any value is wrong.

    `skipped` are the lines that have no row, `findings` what is known already. Where there is no score, it is minus
    the rank.
    """
    if any(column.null_count for column in parts.values()):
        return None
    words = {part: encoded(parts[part]) for part in ("topic", "document", "tag") if part in parts}
    ranks = ranks_of(parts["rank"].combine_chunks()) if "rank" in parts else None
    scores = _scores(parts, ranks)
    if scores is None or not all(_is_fit(ids) for ids, _ in words.values()):
        return None
    return assembled(
        source,
        topics=words["topic"],
        documents=words["document"],
        scores=scores,
        ranks=ranks,
        tags=_first_lines(words["tag"], len(skipped)) if "tag" in words else [],
        skipped=skipped,
        findings=findings or Findings(),
    )


def _is_fit(ids: pa.Array) -> bool:
    """Say whether no word is empty or has white space or control characters in it."""
    return not pc.any(pc.match_substring_regex(ids, _UNFIT)).as_py()


def _scores(parts: Mapping[str, pa.ChunkedArray], ranks: Places | None) -> Scores | None:
    if "score" in parts:
        column = parts["score"].combine_chunks()
        if pa.types.is_floating(column.type):
            values = np.asarray(column.cast(pa.float64()).to_numpy(zero_copy_only=False))
            return values if np.isfinite(values).all() else None
        numbers = scores_of(column)
        return None if numbers.wrong else numbers.values
    if ranks is None or (ranks == NO_RANK).any():
        return None
    return -ranks.astype(np.float64)


def _first_lines(tags: Coded, header: int) -> list[tuple[str, int]]:
    names, codes = tags
    distinct, rows = np.unique(codes, return_index=True)
    pairs = sorted(zip(rows.tolist(), distinct.tolist(), strict=True))
    return [(names[code].as_py(), row + header + 1) for row, code in pairs]
