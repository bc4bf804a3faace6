"""The measures of trec_eval, in the order in which it prints them, and its nicknames for some of them together."""

from collections.abc import Sequence

from cranfield.evaluate.align import Reference

ORDER = (
    "runid",
    "num_q",
    "num_ret",
    "num_rel",
    "num_rel_ret",
    "map",
    "gm_map",
    "Rprec",
    "bpref",
    "recip_rank",
    "iprec_at_recall",
    "P",
    "relstring",
    "recall",
    "infAP",
    "gm_bpref",
    "Rprec_mult",
    "utility",
    "11pt_avg",
    "binG",
    "G",
    "dcg",
    "ideal_dcg",
    "ndcg",
    "ndcg_rel",
    "Rndcg",
    "ndcg_cut",
    "map_cut",
    "relative_P",
    "success",
    "set_P",
    "set_relative_P",
    "set_recall",
    "set_map",
    "set_F",
    "num_nonrel_judged_ret",
    "yaap",
    "rbp",
    "rbp_resid",
    "unj",
)

_ONLY_IN_10 = frozenset({"dcg", "ideal_dcg", "rbp", "rbp_resid", "unj"})
_NOT_IN_ALL = frozenset({"dcg", "ideal_dcg", "yaap"})
_OFFICIAL = ORDER[: ORDER.index("P") + 1]
_SET = (*ORDER[:5], "utility", "set_P", "set_recall", "set_relative_P", "set_map", "set_F")

NICKNAMES = ("official", "set", "all_trec")

LEVELS = tuple(level / 10 for level in range(11))
CUTOFFS = (5, 10, 15, 20, 30, 100, 200, 500, 1000)
DEFAULT_CUTOFFS: dict[str, tuple[int, ...]] = {
    **dict.fromkeys(("P", "recall", "ndcg_cut", "map_cut", "relative_P"), CUTOFFS),
    "success": (1, 5, 10),
    "unj": (5, 10, 20),
}
DEFAULT_LEVELS: dict[str, tuple[float, ...]] = {
    "iprec_at_recall": LEVELS,
    "Rprec_mult": tuple(step / 10 for step in range(2, 21, 2)),
}


def measures_of_version(version: Reference) -> list[str]:
    """Give the names a version knows, in printing order."""
    return [name for name in ORDER if version == "10" or name not in _ONLY_IN_10]


def nickname(name: str, version: Reference) -> Sequence[str] | None:
    """Give the measures a nickname stands for; None where it is none."""
    everything = [known for known in measures_of_version(version) if known not in _NOT_IN_ALL]
    return {"official": _OFFICIAL, "set": _SET, "all_trec": everything}.get(name)
