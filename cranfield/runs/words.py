"""Text of regular lines parsed into columns, each word as it stands."""

import pyarrow as pa
import pyarrow.csv

PARSED_AT_ONCE = 1 << 20
_SMALL = 1 << 22
"""Up to so many bytes text is parsed where it is: handing it over to other threads would take longer."""


def parsed_words(
    text: bytes | memoryview,
    delimiter: str,
    types: dict[str, pa.DataType],
    *,
    at_once: int = PARSED_AT_ONCE,
) -> pa.Table | None:
    """Parse lines of the named columns; None where a line has more or fewer, or a word is not of its type.

    Quoting, escaping and null words are off: a document may be called NA, or have a quotation mark in its name.
    """
    try:
        return pyarrow.csv.read_csv(
            pa.BufferReader(text),
            read_options=pyarrow.csv.ReadOptions(
                column_names=list(types), block_size=at_once, use_threads=len(text) > _SMALL
            ),
            parse_options=pyarrow.csv.ParseOptions(
                delimiter=delimiter, quote_char=False, escape_char=False, ignore_empty_lines=False
            ),
            convert_options=pyarrow.csv.ConvertOptions(
                column_types=types, null_values=[], strings_can_be_null=False, check_utf8=True
            ),
        )
    except pa.ArrowInvalid:
        return None
