"""trec_eval's own C functions, as compiled into pytrec_eval: what its program takes at the least.

    python -m benchmarks.trec_eval_core QRELS RUN…

For each run the qrels and the run are read, and the lists of all topics joined with the judgments, as the program
does; no measure is computed, and no process started. So the program itself takes longer, and where its binary cannot
be had this is a lower bound of its time. That the layout of its records is the one assumed here is checked on small
files: the joined lists have to hold as many documents as the run has lines.
"""

import ctypes
import sys
from pathlib import Path

_NUMBERS = ctypes.c_long * 64
_LEVEL, _LONGEST_LIST = 8, 9
"""The places among the settings where the lowest relevant grade and the longest list stand."""
_RETRIEVED = 1
"""The place among the facts of a joined list where its length stands."""
_SMALL = 1 << 20
"""Bytes of a run whose lines are counted."""


class _Judged(ctypes.Structure):
    _fields_ = (("topic", ctypes.c_char_p), ("format", ctypes.c_char_p), ("rows", ctypes.c_void_p))


class _Ranked(ctypes.Structure):
    _fields_ = (
        ("topic", ctypes.c_char_p),
        ("run", ctypes.c_char_p),
        ("format", ctypes.c_char_p),
        ("rows", ctypes.c_void_p),
    )


class _AllJudged(ctypes.Structure):
    _fields_ = (("count", ctypes.c_long), ("room", ctypes.c_long), ("topics", ctypes.POINTER(_Judged)))


class _AllRanked(ctypes.Structure):
    _fields_ = (("count", ctypes.c_long), ("room", ctypes.c_long), ("topics", ctypes.POINTER(_Ranked)))


def main(qrels: str, runs: list[str]) -> None:
    """Read and join every run."""
    import pytrec_eval_ext

    core = ctypes.CDLL(pytrec_eval_ext.__file__)
    settings = _NUMBERS()
    settings[_LEVEL], settings[_LONGEST_LIST] = 1, sys.maxsize
    for run in runs:
        judged, ranked = _AllJudged(), _AllRanked()
        if core.te_get_qrels(settings, qrels.encode(), ctypes.byref(judged)) != 1:
            raise SystemExit(f"{qrels} could not be read")
        if core.te_get_trec_results(settings, run.encode(), ctypes.byref(ranked)) != 1:
            raise SystemExit(f"{run} could not be read")
        found = _joined(core, settings, judged, ranked)
        if Path(run).stat().st_size < _SMALL and found != Path(run).read_bytes().count(b"\n"):
            raise SystemExit(f"{run}: {found} documents were found; the records are laid out otherwise")
        print(run, found)
        core.te_get_qrels_cleanup()
        core.te_get_trec_results_cleanup()


def _joined(core: ctypes.CDLL, settings: ctypes.Array[ctypes.c_long], judged: _AllJudged, ranked: _AllRanked) -> int:
    """Join the lists of all topics with the judgments; gives how many documents they have."""
    places = {judged.topics[place].topic: place for place in range(judged.count)}
    facts, found = _NUMBERS(), 0
    for place in range(ranked.count):
        at = places.get(ranked.topics[place].topic)
        if at is not None:
            core.te_form_res_rels(
                settings, ctypes.byref(judged.topics[at]), ctypes.byref(ranked.topics[place]), facts
            )
            found += facts[_RETRIEVED]
    return found


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2:])
