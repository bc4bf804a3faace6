"""Chance that is the same on every machine.

A draw is a hash of the seed, the topic and what is drawn. So a document has its draw for ever, whatever other
documents there are: a pool that is extended keeps its earlier draws.
"""

from collections.abc import Sequence
from hashlib import sha256

import numpy as np
from numpy.typing import NDArray

from cranfield.runs.run import Scores

_DOUBLE_BITS = 53


def document_draws(seed: int, purpose: str, topic: str, documents: Sequence[str]) -> NDArray[np.uint64]:
    r"""Give each document its draw: a number from 0 up to 2^64, small ones are drawn first.

    The first eight bytes, big-endian, of SHA-256 over `cranfield-draw-1\n`, the seed in decimal digits, `\n`, the
    purpose, `\n`, the topic, `\n`, the document. Draws for different purposes have nothing to do with each other.
    """
    start = sha256(f"cranfield-draw-1\n{seed}\n{purpose}\n{topic}\n".encode())
    heads = []
    for document in documents:
        digest = start.copy()
        digest.update(document.encode())
        heads.append(digest.digest()[:8])
    return np.frombuffer(b"".join(heads), dtype=">u8").astype(np.uint64)


def numbers(seed: int, *words: object, count: int) -> Scores:
    """Give `count` numbers from 0 up to 1 for one occasion, which the words name.

    They are the raw stream of numpy's Philox generator, keyed by a hash of seed and words. Raw streams are promised
    to stay as they are; what numpy makes of them is not, so the last step to a double is made here.
    """
    named = "\n".join(["cranfield-numbers-1", str(seed), *(str(word) for word in words)])
    key = np.frombuffer(sha256(named.encode()).digest()[:16], dtype="<u8").astype(np.uint64)
    raw = np.random.Philox(key=key).random_raw(count)
    return np.asarray((raw >> np.uint64(64 - _DOUBLE_BITS)) * 2.0**-_DOUBLE_BITS, dtype=np.float64)
