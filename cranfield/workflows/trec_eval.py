"""Do what trec_eval does."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from cranfield.evaluate.trec_eval.printing import Printed


def as_trec_eval(arguments: Sequence[str]) -> "Printed":
    """Give the output, the errors and the status of trec_eval for a command line."""
    from cranfield.evaluate.trec_eval.printing import trec_eval

    return trec_eval(arguments)
