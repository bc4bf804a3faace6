"""trec_eval's names for measures, in our words."""

import re
from collections.abc import Callable

from cranfield.errors import UsageError
from cranfield.evaluate.trec_eval.catalogue import DEFAULT_CUTOFFS, DEFAULT_LEVELS, NICKNAMES, nickname
from cranfield.text import counted

_PLAIN = {
    "num_q": "NumQ",
    "num_ret": "NumRet",
    "num_rel": "NumRel",
    "num_rel_ret": "NumRelRet",
    "num_nonrel_judged_ret": "NumJudgedNonrel",
    "map": "AP",
    "gm_map": "AP(agg=geometric)",
    "Rprec": "Rprec",
    "bpref": "Bpref",
    "gm_bpref": "Bpref(agg=geometric)",
    "recip_rank": "RR",
    "infAP": "infAP",
    "11pt_avg": "IPrecAvg",
    "binG": "BinG",
    "G": "G",
    "dcg": "DCG",
    "ideal_dcg": "IdealDCG",
    "ndcg": "nDCG",
    "ndcg_rel": "nDCGRel",
    "Rndcg": "RnDCG",
    "set_P": "SetP",
    "set_relative_P": "SetP(relative=True)",
    "set_recall": "SetR",
    "set_map": "SetAP",
    "set_F": "SetF",
    "utility": "Utility",
    "yaap": "YAAP",
    "rbp": "RBP(p=0.9, gain=topic)",
    "rbp_resid": "RBPResidual(p=0.9)",
}
_CUT: dict[str, Callable[[str], str]] = {
    "P": "P@{}".format,
    "recall": "R@{}".format,
    "ndcg_cut": "nDCG@{}".format,
    "map_cut": "AP@{}".format,
    "relative_P": "RelativeP@{}".format,
    "success": "Success@{}".format,
    "unj": "Unjudged(over=cutoff)@{}".format,
    "iprec_at_recall": "IPrec@{}".format,
    "Rprec_mult": "Rprec(times={})".format,
}
_NOT_NUMBERS = ("runid", "relstring")
_LEVELS = ("iprec_at_recall", "Rprec_mult")
_COEFFICIENTS = 4
_SIGNED = r"[+-]?[0-9.]+"
_WITH_NUMBERS = re.compile(rf"(utility|set_F|11pt_avg)[._]({_SIGNED}(?:,{_SIGNED})*)")
_WITH_PERSISTENCE = re.compile(r"rbp[._]((?:p|[0-9]+)=[0-9.]+(?:,(?:p|[0-9]+)=[0-9.]+)*)")
_PREFERENCES = re.compile(r"prefs?_\w+(\.\S*)?|\w+_avgjg(_\w+)?(\.\S*)?")
_GAINS = ("ndcg", "dcg", "ideal_dcg", "ndcg_rel", "Rndcg", "G")
_WITH_CUTOFF = re.compile(rf"({'|'.join(_CUT)})(?:_([0-9.]+)|\.([0-9.,]+))?")
_WITH_GAINS = re.compile(rf"({'|'.join(_GAINS)})[._]((?:[0-9]+=[+-]?[0-9.]+(?:[eE][+-]?[0-9]+)?,?)+)")


def in_our_words(text: str) -> list[str] | None:
    """Give the expressions that a name of trec_eval means; None where it is no such name.

    A family without a cutoff means its usual ones, and a nickname (`official`, `all_trec`, `set`) many measures;
    what is not a number (runid, relstring) is left out of those. Cutoffs lose what is behind their decimal point, as
    they do there. Measures of preferences are refused.
    """
    if text in _PLAIN:
        return [_PLAIN[text]]
    if text in ("runid", "relstring"):
        raise UsageError(f"{text} is not a number; cranfield trec-eval prints it")
    if _PREFERENCES.fullmatch(text):
        raise UsageError(f"{text}: measures of preferences are out of scope")
    if text in NICKNAMES:
        names = [name for name in nickname(text, "10") or () if name not in _NOT_NUMBERS]
        return [expression for name in names for expression in in_our_words(name) or []]
    family = _WITH_CUTOFF.fullmatch(text)
    if family:
        name, one, several = family.groups()
        cutoffs = several.split(",") if several else [one] if one else _usual(name)
        return [_CUT[name](_shortened(cutoff, whole=name not in _LEVELS)) for cutoff in cutoffs]
    graded = _WITH_GAINS.fullmatch(text)
    if graded:
        pairs = ", ".join(pair.replace("=", ": ") for pair in graded.group(2).rstrip(",").split(","))
        return [f"{_PLAIN[graded.group(1)]}(gains={{{pairs}}})"]
    return _with_parameters(text)


def _with_parameters(text: str) -> list[str] | None:
    """Give the expression of a measure whose parameters have names here and none there."""
    numbered = _WITH_NUMBERS.fullmatch(text)
    if numbered:
        name, given = numbered.group(1), numbered.group(2).split(",")
        if name == "11pt_avg":
            return [f"IPrecMean(levels='{','.join(given)}')"]
        wanted = _COEFFICIENTS if name == "utility" else 1
        if len(given) != wanted:
            raise UsageError(f"{text}: {name} takes {counted(wanted, 'number')}, not {len(given)}")
        names = "abcd" if name == "utility" else ("beta",)
        settings = ", ".join(f"{word}={value}" for word, value in zip(names, given, strict=True))
        return [f"{_PLAIN[name]}({settings})"]
    persistent = _WITH_PERSISTENCE.fullmatch(text)
    if persistent:
        named = dict(pair.split("=") for pair in persistent.group(1).split(","))
        p = named.pop("p", "0.9")
        gains = ", ".join(f"{grade}: {worth}" for grade, worth in named.items())
        return [f"RBPGains(p={p}, gains={{{gains}}})" if gains else f"RBP(p={p}, gain=topic)"]
    return None


def trec_names_of() -> dict[str, list[str]]:
    """Give for each of our expressions the names that mean it."""
    found: dict[str, list[str]] = {}
    for name, expression in _PLAIN.items():
        found.setdefault(expression.split("(")[0], []).append(name)
    for name, made in _CUT.items():
        found.setdefault(re.split("[(@]", made("1"))[0], []).append(f"{name}_k")
    return found


def _usual(name: str) -> list[str]:
    usual: tuple[float, ...] = DEFAULT_CUTOFFS.get(name) or DEFAULT_LEVELS[name]
    return [f"{cutoff:g}" for cutoff in usual]


def _shortened(cutoff: str, *, whole: bool) -> str:
    if not cutoff.replace(".", "", 1).isdigit():
        return cutoff
    return str(int(float(cutoff))) if whole else f"{float(cutoff):g}"
