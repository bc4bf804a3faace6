"""The program trec_eval, made of its own functions where its binary cannot be had.

The extension of pytrec_eval carries all of trec_eval 9 but its main(): reading, joining, measuring, and printing.
`trec_eval.c` is a main() for them, compiled here and linked to the extension; no Python runs in it. Its output is
compared with `cranfield trec-eval --as 9` on some runs each time. For each run it takes half a millisecond to load
what the extension needs and trec_eval does not, above all the library of C++. Otherwise it takes no longer than the
program: the extension is compiled with optimisation, which trec_eval's own Makefile does not ask for in version 9.
"""

import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from shutil import which

MEASURES = ("-c", "-m", "map", "-m", "ndcg_cut.10", "-m", "P.10")
"""Options for what `cranfield evaluate` prints by default: over all topics of the qrels AP, nDCG@10 and P@10."""
LOOP = f'q="$1"; shift; for r in "$@"; do "$TREC_EVAL" {" ".join(MEASURES)} "$q" "$r"; done'
"""The program called once for each run."""
_SOURCE = Path(__file__).with_suffix(".c")
_KITCHEN = _SOURCE.parents[1] / "collections/kitchen"


def make(folder: Path) -> bool:
    """Have a program that $TREC_EVAL names, else make one in the folder; it needs a C compiler and the extension."""
    found, compiler = find_spec("pytrec_eval_ext"), which("cc")
    if "TREC_EVAL" in os.environ or found is None or compiler is None or not sys.platform.startswith("linux"):
        return "TREC_EVAL" in os.environ
    extension, made = Path(str(found.origin)), folder / "trec_eval"
    # What the extension wants of Python is never called, so it may be missing.
    linking = ["-Wl,--unresolved-symbols=ignore-in-shared-libs,-z,lazy", f"-Wl,-rpath,{extension.parent}"]
    subprocess.run([compiler, "-O2", "-o", made, _SOURCE, extension, *linking], check=True)
    for run in sorted((_KITCHEN / "runs").glob("*.run"))[:3]:
        words = ["-q", *MEASURES, str(_KITCHEN / "qrels.txt"), str(run)]
        ours = [sys.executable, "-m", "cranfield", "trec-eval", "--as", "9"]
        outputs = {subprocess.run([*one, *words], check=True, capture_output=True).stdout for one in ([made], ours)}
        assert len(outputs) == 1, f"{run.name}: trec_eval's functions print something else"
    os.environ["TREC_EVAL"] = str(made)
    return True
