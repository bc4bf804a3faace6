"""JSON, whole or by lines."""

from __future__ import annotations

import json
from math import isfinite

from cranfield.base.text import Table, Value
from cranfield.report.rendering import renderers


@renderers.register("json")
def render_json(table: Table) -> str:
    """One JSON array of objects, indented; a table of facts is one object."""
    objects = _objects(table)
    content = objects[0] if table.facts else objects
    return json.dumps(content, ensure_ascii=False, indent=2, allow_nan=False) + "\n"


@renderers.register("jsonl")
def render_jsonl(table: Table) -> str:
    """One JSON object per line."""
    lines = (json.dumps(one, ensure_ascii=False, allow_nan=False) for one in _objects(table))
    return "".join(f"{line}\n" for line in lines)


def _objects(table: Table) -> list[dict[str, Value]]:
    """The rows, or all facts as one object; null for what is infinite or no number: JSON has no word for it."""
    facts = {str(name).replace(" ", "_"): value for name, value in table.rows} if table.facts else {}
    return [
        {name: None if isinstance(value, float) and not isfinite(value) else value for name, value in one.items()}
        for one in ([facts] if table.facts else table.records())
    ]
