"""Rows that name their columns: JSON lines, and tables under a header, as BEIR ships its qrels."""

from cranfield.qrels.qrels import qrels_formats
from cranfield.qrels.reading import NamedColumns

qrels_formats.register("jsonl")(
    NamedColumns(
        "JSON lines: objects with topic (or query-id), document (or corpus-id) and grade (or relevance, score)"
    )
)
qrels_formats.register("csv")(
    NamedColumns(
        "comma-separated with a header: topic (or query-id), document (or corpus-id), grade (or relevance, score)",
        delimiter=",",
        header=("topic", "document", "grade"),
    )
)
qrels_formats.register("tsv", "beir")(
    NamedColumns(
        "tab-separated with a header, as in BEIR: query-id corpus-id score",
        delimiter="\t",
        header=("query-id", "corpus-id", "score"),
    )
)
