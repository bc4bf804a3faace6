"""JSON, whole or by lines."""

import json

from cranfield.report.rendering import renderers
from cranfield.report.table import Table


@renderers.register("json")
def render_json(table: Table) -> str:
    """One JSON array of objects, indented."""
    return json.dumps(table.records(), ensure_ascii=False, indent=2) + "\n"


@renderers.register("jsonl")
def render_jsonl(table: Table) -> str:
    """One JSON object per line."""
    return "".join(json.dumps(record, ensure_ascii=False) + "\n" for record in table.records())
