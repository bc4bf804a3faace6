"""Documents that a live pool offers, several at a time: each as if those before it were being judged."""

from collections.abc import Collection

from cranfield.pool.live import Choice, LivePool


def batch(
    live: LivePool,
    size: int,
    *,
    under_judgment: Collection[tuple[str, str]] = (),
    topics: Collection[str] | None = None,
) -> list[Choice]:
    choices: list[Choice] = []
    while len(choices) < size:
        pending = [*under_judgment, *((choice.topic, choice.document) for choice in choices)]
        if (choice := live.offer(under_judgment=pending, topics=topics)) is None:
            break
        choices.append(choice)
    return choices
