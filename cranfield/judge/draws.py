"""Chance while judging: a hash of the seed and of what is drawn, the same on every machine and at every time."""

from hashlib import sha256

_SPAN = float(2**64)


def draw(seed: int, purpose: str, topic: str, document: str) -> float:
    r"""Give a document's number from 0 up to 1 for one purpose.

    The first eight bytes, big-endian, of SHA-256 over `cranfield-draw-1\n`, the seed in decimal digits, `\n`, the
    purpose, `\n`, the topic, `\n`, the document, divided by 2^64: the recipe of pools. A document keeps its number
    whatever other documents there are, so a pool that grows keeps its draws.
    """
    words = f"cranfield-draw-1\n{seed}\n{purpose}\n{topic}\n{document}"
    return int.from_bytes(sha256(words.encode()).digest()[:8], "big") / _SPAN
