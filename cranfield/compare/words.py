"""Tests and corrections as people read them below a table."""

from collections.abc import Mapping

TESTS: Mapping[str, str] = {
    "t": "paired t",
    "wilcoxon": "Wilcoxon's signed ranks",
    "sign": "sign test",
    "randomisation": "randomisation",
    "bootstrap": "paired bootstrap",
    "tukey": "Tukey's HSD by randomisation",
}

CORRECTIONS: Mapping[str, str] = {
    "holm": "Holm",
    "bonferroni": "Bonferroni",
    "benjamini-hochberg": "Benjamini-Hochberg",
    "none": "not corrected",
    "tukey": "",
}


def said_of_test(test: str, correction: str = "", *, draws: int = 0) -> str:
    """Give a test and its correction in words; those of strangers by the names they are registered with.

    `draws` are those of the test, 0 where nothing was drawn.
    """
    drawn = f"{draws:,} draws" if draws else ""
    return ", ".join(word for word in (TESTS.get(test, test), drawn, CORRECTIONS.get(correction, correction)) if word)
