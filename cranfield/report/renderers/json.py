"""JSON, whole or by lines."""

from __future__ import annotations

import json
from math import isfinite

from cranfield.base.text import Table, Value
from cranfield.report.rendering import renderers


@renderers.register("json")
def render_json(table: Table) -> str:
    """One JSON array of objects, indented; a table of facts is one object."""
    content = _object(table) if table.facts else [_finite(record) for record in table.records()]
    return json.dumps(content, ensure_ascii=False, indent=2, allow_nan=False) + "\n"


@renderers.register("jsonl")
def render_jsonl(table: Table) -> str:
    """One JSON object per line."""
    if table.facts:
        return json.dumps(_object(table), ensure_ascii=False, allow_nan=False) + "\n"
    lines = (json.dumps(_finite(record), ensure_ascii=False, allow_nan=False) for record in table.records())
    return "".join(f"{line}\n" for line in lines)


def _object(table: Table) -> dict[str, Value]:
    return _finite({str(name).replace(" ", "_"): value for name, value in table.rows})


def _finite(record: dict[str, Value]) -> dict[str, Value]:
    """The record with null for what is infinite or no number: JSON has no word for it."""
    return {
        name: None if isinstance(value, float) and not isfinite(value) else value for name, value in record.items()
    }
