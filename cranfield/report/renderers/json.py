"""JSON, whole or by lines."""

import json

from cranfield.report.rendering import renderers
from cranfield.report.table import Table, Value


@renderers.register("json")
def render_json(table: Table) -> str:
    """One JSON array of objects, indented; a table of facts is one object."""
    content = _object(table) if table.facts else table.records()
    return json.dumps(content, ensure_ascii=False, indent=2) + "\n"


@renderers.register("jsonl")
def render_jsonl(table: Table) -> str:
    """One JSON object per line."""
    if table.facts:
        return json.dumps(_object(table), ensure_ascii=False) + "\n"
    return "".join(json.dumps(record, ensure_ascii=False) + "\n" for record in table.records())


def _object(table: Table) -> dict[str, Value]:
    return {str(name).replace(" ", "_"): value for name, value in table.rows}
