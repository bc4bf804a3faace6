"""`python -m cranfield`, and the command itself."""

from __future__ import annotations

import gc

# To look for garbage among all that is imported would take a fifth of a short command: so the first look comes only
# after more objects than such a command makes. It is set here, before the imports it is about.
gc.set_threshold(200_000, 20, 20)

from cranfield.cli.main import run  # noqa: E402

if __name__ == "__main__":
    run()
