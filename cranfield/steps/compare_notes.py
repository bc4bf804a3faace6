"""What is said with a comparison: how many pairs a topic set tells apart, and what it could have shown."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from cranfield.text import counted

if TYPE_CHECKING:
    from cranfield.steps.compare import Compared


def power_notes(compared: "Sequence[Compared]", *, power: float = 0.8, difference: float | None = None) -> list[str]:
    """Say for each measure what its topics tell apart, what they would find, and what a wanted difference needs."""
    notes = []
    for one in compared:
        notes.append(f"{one.measure}: {discriminative_power(one)}; {smallest_difference(one, power=power)}")
        if difference is not None:
            notes.append(f"{one.measure}: {needed_topics(one, difference, power=power)}")
    return notes


def discriminative_power(one: "Compared") -> str:
    """Say which share of the pairs is significant, by the corrected p, and the smallest difference that is."""
    found, topics = one.power, counted(one.scores.values.shape[1], "topic")
    smallest = f", the smallest difference {found.smallest_difference:.4f}" if found.significant else ""
    pairs = f"{found.significant:,} of {counted(found.pairs, 'pair')} significant on {topics}{smallest}"
    return f"discriminative power {found.share:.0%} ({pairs})"


def smallest_difference(one: "Compared", *, power: float = 0.8) -> str:
    """Say which difference these topics would probably show."""
    from cranfield.compare.power import detectable_difference

    topics = one.scores.values.shape[1]
    if topics < 2 or not one.deviation:
        return "no statement about power is possible"
    smallest = detectable_difference(topics, deviation=one.deviation, power=power, alpha=one.how.alpha)
    return f"a single true difference of {smallest:.4f} would be found with {power:.0%} chance (paired t)"


def needed_topics(one: "Compared", difference: float, *, power: float = 0.8) -> str:
    """Say how many topics a wanted difference would need."""
    from cranfield.compare.power import topics_needed

    if not one.deviation or not difference:
        return "no statement about the number of topics is possible"
    needed = topics_needed(difference=difference, deviation=one.deviation, power=power, alpha=one.how.alpha)
    return (
        f"a true difference of {difference:g} needs {needed:,} topics to be found with {power:.0%} chance (paired t)"
    )
