"""How runs are compared: what a user may ask for, checked, and by the names that things are registered with."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import inf, isfinite, nan
from os.path import normpath

from cranfield.errors import UnknownName, UsageError, quoted

TUKEY, TUKEY_BESIDE = "tukey", "t"
"""Tukey's test over all runs, and the test of single pairs whose p stands beside it."""

DRAWING_TESTS = ("randomisation", "bootstrap")
DEFAULT_CORRECTION = "holm"
LEAST_DRAWS = 100


@dataclass(frozen=True)
class Comparing:
    """How runs are compared.

    Test and correction may be given by any of their names, and are kept by the first. Without a correction it is
    Holm's, or what Tukey's test has in it; Tukey's test takes no other. Without `draws`, intervals and Tukey's test
    have 10,000 and other drawing tests as many as the number of pairs asks for. `systems` maps the name of a system
    to its runs (seeds), which then count as one entry. Without baselines all pairs meet.
    """

    baselines: tuple[str, ...] = ()
    test: str = "t"
    correction: str = ""
    alpha: float = 0.05
    tolerance: float = 0.0
    draws: int | None = None
    seed: int = 1
    level: float = 0.95
    systems: Mapping[str, tuple[str, ...]] | None = None

    def __post_init__(self) -> None:
        from cranfield.compare.drawing import seeded

        test = _test_named(self.test)
        object.__setattr__(self, "test", test)
        object.__setattr__(self, "correction", _correction_named(self.correction, test))
        for name, value, highest in (("alpha", self.alpha, 1.0), ("tolerance", self.tolerance, inf)):
            _check_number(name, value, highest)
        seeded(self.seed)
        if self.draws is not None and (not _is_whole(self.draws) or self.draws < LEAST_DRAWS):
            raise UsageError(f"draws are a whole number from {LEAST_DRAWS} up, not {self.draws!r}")

    @property
    def interval_draws(self) -> int:
        """How often topics are drawn for an interval, and permuted for Tukey's test."""
        from cranfield.compare.drawing import DRAWS

        return DRAWS if self.draws is None else self.draws

    def test_draws(self, pairs: int) -> int:
        """Give how often the test draws, for so many pairs; 0 where it draws nothing."""
        from cranfield.compare.drawing import DRAWS, enough_draws

        if self.test == TUKEY:
            return self.interval_draws
        if self.test not in DRAWING_TESTS:
            return 0
        if self.draws is not None:
            return self.draws
        return DRAWS if self.correction == "none" else enough_draws(pairs, alpha=self.alpha)


def _test_named(name: object) -> str:
    from cranfield.compare.significance import tests

    if name == TUKEY:
        return TUKEY
    if not isinstance(name, str) or name not in tests:
        raise UnknownName("significance test", str(name), [TUKEY, *tests.names()])
    return tests.canonical(name)


def _correction_named(name: object, test: str) -> str:
    from cranfield.compare.corrections import corrections

    if test == TUKEY:
        if name not in ("", TUKEY):
            raise UsageError(
                f"Tukey's test corrects for all pairs itself, and takes no {quoted(name)}; leave the correction out"
            )
        return TUKEY
    if name == TUKEY:
        raise UsageError("Tukey's test is chosen as the test: --test tukey, without a correction")
    if not isinstance(name, str):
        raise UnknownName("correction", str(name), corrections.names())
    return corrections.canonical(name or DEFAULT_CORRECTION)


def _check_number(name: str, value: object, highest: float) -> None:
    """Refuse what is no number from 0 up; where there is a highest one, both ends are no sense either."""
    number = float(value) if isinstance(value, int | float) and not isinstance(value, bool) else nan
    if not (0 < number < highest if isfinite(highest) else 0 <= number < inf):
        wanted = f"a number between 0 and {highest:g}" if isfinite(highest) else "a number from 0 up"
        raise UsageError(f"{name} is {wanted}, not {value!r}")


def _is_whole(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def seed_systems(words: Sequence[str]) -> dict[str, tuple[str, ...]]:
    """Give the runs of each system that is written as `NAME=RUN,RUN,…`."""
    systems: dict[str, tuple[str, ...]] = {}
    for word in words:
        name, equals, runs = word.partition("=")
        members = tuple(run for run in runs.split(",") if run)
        if not equals or not name or not members:
            raise UsageError(f"{quoted(word)} is not a system; write NAME=RUN,RUN,…")
        if name in systems:
            raise UsageError(f"two systems are called {quoted(name)}; name all runs of a system in one --system")
        systems[name] = members
    return systems


def with_names_of(how: Comparing, words: Sequence[object], names: Sequence[str]) -> Comparing:
    """Give the same with runs by their names, where baselines and seeds are given as the files that were typed.

    `words` are the runs as they were asked for, `names` what they are called, in the same order. A file may be typed
    in two ways, `b.run` and `./b.run`.
    """
    typed = {word: name for word, name in zip(words, names, strict=True) if isinstance(word, str)}
    paths = {normpath(word): name for word, name in typed.items()}

    def named(word: str) -> str:
        meant = typed.get(word) or paths.get(normpath(word), word)
        if meant != word and word in names:
            raise UsageError(f"{quoted(word)} is the file of run {quoted(meant)}, and the name of another run")
        return meant

    seeds = {system: tuple(map(named, members)) for system, members in (how.systems or {}).items()}
    return replace(how, baselines=tuple(map(named, how.baselines)), systems=seeds or how.systems)


def entries_of(runs: Sequence[str], systems: Mapping[str, tuple[str, ...]]) -> list[str]:
    """Give the entry each run belongs to: itself, or its system."""
    belongs: dict[str, str] = {}
    for system, members in systems.items():
        for member in members:
            if member not in runs:
                raise UnknownName("run", member, runs)
            if member in belongs:
                raise UsageError(f"{quoted(member)} is a seed of two systems")
            belongs[member] = system
        if system in runs and system not in members:
            raise UsageError(f"{quoted(system)} is a run of its own; give the system another name")
    return [belongs.get(run, run) for run in runs]
