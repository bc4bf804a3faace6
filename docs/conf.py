"""How the pages become a site: Sphinx with MyST. The pages stay plain Markdown, readable in the repository."""

import json
import re
from pathlib import Path

from sphinx.application import Sphinx

from cranfield._version import __version__

HERE = Path(__file__).parent

project = "Cranfield"
release = __version__
html_title = f"Cranfield {__version__}"
extensions = ["myst_parser"]
source_suffix = {".md": "markdown", ".ipynb": "markdown"}
html_theme = "furo"
html_show_copyright = False
html_copy_source = False
html_static_path = ["site.css"]
html_css_files = ["site.css"]
exclude_patterns = ["_site"]
myst_heading_anchors = 4
suppress_warnings = ["misc.highlighting_failure"]
html_extra_path: list[str] = []

GROUPS = {
    "Start": ["install", "tutorial", "reading-a-verdict", "glossary"],
    "How to": ["how-to/*"],
    "Stage by stage": [
        "collection",
        "recipes",
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
        "calibration",
        "simulate",
        "report",
        "python",
    ],
    "Reference": ["reference/*", "limits", "security"],
    "Decisions": ["decisions/README", "decisions/0*"],
}
"""The sidebar: the pages of each group, in the order of the way."""


def contents() -> str:
    """Give the table of contents, which the plain pages have as lists of links; every page is in one group."""
    files = sorted([*HERE.rglob("*.md"), *HERE.rglob("*.ipynb")])
    pages = [path.relative_to(HERE).with_suffix("").as_posix() for path in files]
    trees = []
    for caption, wanted in GROUPS.items():
        names = [page for name in wanted for page in pages if re.fullmatch(name.replace("*", ".*"), page)]
        trees.append(
            "\n".join(["```{toctree}", ":hidden:", ":maxdepth: 1", f":caption: {caption}", "", *names, "```"])
        )
    return "\n\n".join(["", *trees, ""])


def as_markdown(notebook: str) -> str:
    """Give a notebook as a page: its texts, its code, and what the cells give."""
    parts = []
    for cell in json.loads(notebook)["cells"]:
        text = "".join(cell["source"])
        parts.append(text if cell["cell_type"] == "markdown" else f"```python\n{text}\n```")
        for output in cell.get("outputs", ()):
            data = {kind: "".join(lines) for kind, lines in output.get("data", {}).items()}
            page = data.get("text/html", "")
            if "image/png" in data:
                page = f'<img alt="what the cell draws" src="data:image/png;base64,{data["image/png"].strip()}">'
            text = "".join(output.get("text", data.get("text/plain", "")))
            parts.append(f"```{{raw}} html\n{page}\n```" if page else f"```text\n{text}\n```")
    return "\n\n".join(parts)


def setup(app: Sphinx) -> None:
    """Add the table of contents to the first page as it is read, and read notebooks as pages."""

    def read(_app: Sphinx, name: str, source: list[str]) -> None:
        if name == "index":
            source[0] += contents()
        elif (HERE / f"{name}.ipynb").exists():
            source[0] = as_markdown(source[0])

    app.connect("source-read", read)
