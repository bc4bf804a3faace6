"""The page about runs says what the program does."""

from pathlib import Path

from cranfield.runs.reading import CHECKS, SPELLINGS, run_formats

PAGE = (Path(__file__).parents[2] / "docs" / "runs.md").read_text(encoding="utf-8")


def test_the_page_lists_every_check_and_no_other():
    listed = [line for line in PAGE.splitlines() if line.startswith("| `")]
    assert listed == [
        f"| `{check.code}` | {check.severity} | {check.meaning} | {check.repair or '—'} |" for check in CHECKS
    ]


def test_the_page_describes_every_format():
    assert [name for name in run_formats.names() if f"**`{name}`**" not in PAGE] == []


def test_every_check_has_a_code_of_its_own_and_every_error_a_remedy():
    codes = [check.code for check in CHECKS]
    assert len(set(codes)) == len(codes)
    assert [check.code for check in CHECKS if not check.remedy] == []


def test_no_spelling_means_two_columns():
    names = [name for spellings in SPELLINGS.values() for name in spellings]
    assert len(set(names)) == len(names)
