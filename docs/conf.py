"""How the pages become a site: Sphinx with MyST. The pages stay plain Markdown, readable in the repository."""

from pathlib import Path

from sphinx.application import Sphinx

from cranfield._version import __version__

HERE = Path(__file__).parent

project = "Cranfield"
release = __version__
html_title = f"Cranfield {__version__}"
extensions = ["myst_parser"]
source_suffix = {".md": "markdown"}
html_theme = "furo"
html_show_copyright = False
html_copy_source = False
exclude_patterns = ["_site"]
myst_heading_anchors = 4
suppress_warnings = ["misc.highlighting_failure"]
html_extra_path: list[str] = []

LISTED = [
    "tutorial",
    "how-to/organise-a-shared-task",
    "how-to/evaluate-a-new-system",
    "how-to/judge-with-a-team",
    "how-to/choose-a-budget",
    "how-to/move-from-trec-eval",
    "how-to/use-a-notebook",
    "collection",
    "corpus",
    "runs",
    "systems",
    "pool",
    "strategies",
    "judge",
    "assessor",
    "agreement",
    "qrels",
    "evaluate",
    "trec-eval-differences",
    "compare",
    "reuse",
    "reading-a-verdict",
    "calibration",
    "simulate",
    "report",
    "python",
    "reference/commands",
    "reference/measures",
    "reference/formats",
    "reference/thresholds",
    "reference/python",
    "decisions/README",
]
"""The pages in the order of the way; those that are not here come after them, by name."""


def contents() -> str:
    """Give the table of contents, which the plain pages have as a list of links."""
    pages = [path.relative_to(HERE).with_suffix("").as_posix() for path in sorted(HERE.rglob("*.md"))]
    known = [name for name in LISTED if name in pages]
    others = [name for name in pages if name not in known and name != "index"]
    lines = "\n".join([*known, *others])
    return f"\n\n```{{toctree}}\n:hidden:\n:maxdepth: 1\n\n{lines}\n```\n"


def setup(app: Sphinx) -> None:
    """Add the table of contents to the first page as it is read."""

    def read(_app: Sphinx, name: str, source: list[str]) -> None:
        if name == "index":
            source[0] += contents()

    app.connect("source-read", read)
