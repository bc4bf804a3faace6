"""The measures of trec_eval, in the order in which it prints them, and what each is in our words."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Literal, NamedTuple

from cranfield.base.errors import UsageError
from cranfield.base.text import counted

LEVELS = tuple(level / 10 for level in range(11))
CUTOFFS = (5, 10, 15, 20, 30, 100, 200, 500, 1000)


class TrecMeasure(NamedTuple):
    """One name: the expression that it means here, where it means one, and what may follow it.

    A family `takes` cutoffs or levels, which stand in the expression's {}; `usual` are those without any.
    """

    name: str
    expression: str = ""
    takes: Literal["", "cutoffs", "levels", "gains"] = ""
    usual: tuple[float, ...] = ()
    since_10: bool = False
    in_all: bool = True


_ALL = (
    TrecMeasure("runid"),
    TrecMeasure("num_q", "NumQ"),
    TrecMeasure("num_ret", "NumRet"),
    TrecMeasure("num_rel", "NumRel"),
    TrecMeasure("num_rel_ret", "NumRelRet"),
    TrecMeasure("map", "AP"),
    TrecMeasure("gm_map", "AP(agg=geometric)"),
    TrecMeasure("Rprec", "Rprec"),
    TrecMeasure("bpref", "Bpref"),
    TrecMeasure("recip_rank", "RR"),
    TrecMeasure("iprec_at_recall", "IPrec@{}", "levels", LEVELS),
    TrecMeasure("P", "P@{}", "cutoffs", CUTOFFS),
    TrecMeasure("relstring"),
    TrecMeasure("recall", "R@{}", "cutoffs", CUTOFFS),
    TrecMeasure("infAP", "infAP"),
    TrecMeasure("gm_bpref", "Bpref(agg=geometric)"),
    TrecMeasure("Rprec_mult", "Rprec(times={})", "levels", tuple(step / 10 for step in range(2, 21, 2))),
    TrecMeasure("utility", "Utility"),
    TrecMeasure("11pt_avg", "IPrecAvg"),
    TrecMeasure("binG", "BinG"),
    TrecMeasure("G", "G", "gains"),
    TrecMeasure("dcg", "DCG", "gains", since_10=True, in_all=False),
    TrecMeasure("ideal_dcg", "IdealDCG", "gains", since_10=True, in_all=False),
    TrecMeasure("ndcg", "nDCG", "gains"),
    TrecMeasure("ndcg_rel", "nDCGRel", "gains"),
    TrecMeasure("Rndcg", "RnDCG", "gains"),
    TrecMeasure("ndcg_cut", "nDCG@{}", "cutoffs", CUTOFFS),
    TrecMeasure("map_cut", "AP@{}", "cutoffs", CUTOFFS),
    TrecMeasure("relative_P", "RelativeP@{}", "cutoffs", CUTOFFS),
    TrecMeasure("success", "Success@{}", "cutoffs", (1, 5, 10)),
    TrecMeasure("set_P", "SetP"),
    TrecMeasure("set_relative_P", "SetP(relative=True)"),
    TrecMeasure("set_recall", "SetR"),
    TrecMeasure("set_map", "SetAP"),
    TrecMeasure("set_F", "SetF"),
    TrecMeasure("num_nonrel_judged_ret", "NumJudgedNonrel"),
    TrecMeasure("yaap", "YAAP", in_all=False),
    TrecMeasure("rbp", "RBP(p=0.9, gain=topic)", since_10=True),
    TrecMeasure("rbp_resid", "RBPResidual(p=0.9)", since_10=True),
    TrecMeasure("unj", "Unjudged(over=cutoff)@{}", "cutoffs", (5, 10, 20), since_10=True),
)
MEASURES = {one.name: one for one in _ALL}
ORDER = tuple(MEASURES)
NICKNAMES = ("official", "set", "all_trec")

_SIGNED = r"[+-]?[0-9.]+"
_WITH_NUMBERS = re.compile(rf"(utility|set_F|11pt_avg)[._]({_SIGNED}(?:,{_SIGNED})*)")
_WITH_PERSISTENCE = re.compile(r"rbp[._]((?:p|[0-9]+)=[0-9.]+(?:,(?:p|[0-9]+)=[0-9.]+)*)")
_PREFERENCES = re.compile(r"prefs?_\w+(\.\S*)?|\w+_avgjg(_\w+)?(\.\S*)?")
_FAMILIES = "|".join(one.name for one in _ALL if one.usual)
_WITH_CUTOFF = re.compile(rf"({_FAMILIES})(?:_([0-9.]+)|\.([0-9.,]+))?")
_GRADED = "|".join(one.name for one in _ALL if one.takes == "gains")
_WITH_GAINS = re.compile(rf"({_GRADED})[._]((?:[0-9]+=[+-]?[0-9.]+(?:[eE][+-]?[0-9]+)?,?)+)")


def measures_of_version(version: str) -> list[str]:
    """The names a version knows, in printing order."""
    return [one.name for one in _ALL if version == "10" or not one.since_10]


def nickname(name: str, version: str) -> Sequence[str] | None:
    """The measures a nickname stands for; None where it is none."""
    together = {
        "official": ORDER[: ORDER.index("P") + 1],
        "set": (*ORDER[:5], "utility", "set_P", "set_recall", "set_relative_P", "set_map", "set_F"),
        "all_trec": [known for known in measures_of_version(version) if MEASURES[known].in_all],
    }
    return together.get(name)


def trec_names_of() -> dict[str, list[str]]:
    """For each of our measures the names that mean it."""
    found: dict[str, list[str]] = {}
    for one in _ALL:
        if one.expression:
            names = found.setdefault(re.split("[(@]", one.expression)[0], [])
            names.append(f"{one.name}_k" if one.usual else one.name)
    return found


def in_our_words(text: str) -> list[str] | None:
    """The expressions that a name of trec_eval means; None where it is no such name.

    A family without a cutoff means its usual ones, and a nickname (`official`, `all_trec`, `set`) many measures;
    what is not a number (runid, relstring) is left out of those. Cutoffs lose what is behind their decimal point, as
    they do there. Measures of preferences are refused.
    """
    known = MEASURES.get(text)
    if known is not None and not known.usual:
        if not known.expression:
            raise UsageError(f"{text} is not a number; cranfield trec-eval prints it")
        return [known.expression]
    if _PREFERENCES.fullmatch(text):
        raise UsageError(f"{text}: measures of preferences are out of scope")
    if text in NICKNAMES:
        names = [name for name in nickname(text, "10") or () if MEASURES[name].expression]
        return [expression for name in names for expression in in_our_words(name) or []]
    if family := _WITH_CUTOFF.fullmatch(text):
        one, cutoffs = MEASURES[family[1]], family[3].split(",") if family[3] else [family[2]] if family[2] else []
        cutoffs = cutoffs or [f"{cutoff:g}" for cutoff in one.usual]
        for place, cutoff in enumerate(cutoffs):
            if len(cutoff) <= 18 and cutoff.replace(".", "", 1).isdigit():
                cutoffs[place] = str(int(float(cutoff))) if one.takes == "cutoffs" else f"{float(cutoff):g}"
        return [one.expression.format(cutoff) for cutoff in cutoffs]
    if graded := _WITH_GAINS.fullmatch(text):
        pairs = ", ".join(pair.replace("=", ": ") for pair in graded[2].rstrip(",").split(","))
        return [f"{MEASURES[graded[1]].expression}(gains={{{pairs}}})"]
    if persistent := _WITH_PERSISTENCE.fullmatch(text):
        named = dict(pair.split("=") for pair in persistent[1].split(","))
        p = named.pop("p", "0.9")
        gains = ", ".join(f"{grade}: {worth}" for grade, worth in named.items())
        return [f"RBPGains(p={p}, gains={{{gains}}})" if gains else f"RBP(p={p}, gain=topic)"]
    numbered = _WITH_NUMBERS.fullmatch(text)
    if numbered is None:
        return None
    name, given = numbered[1], numbered[2].split(",")
    if name == "11pt_avg":
        return [f"IPrecMean(levels='{','.join(given)}')"]
    words = list("abcd") if name == "utility" else ["beta"]
    if len(given) != len(words):
        raise UsageError(f"{text}: {name} needs {counted(len(words), 'number')}, not {len(given)}")
    settings = ", ".join(f"{word}={value}" for word, value in zip(words, given, strict=True))
    return [f"{MEASURES[name].expression}({settings})"]
