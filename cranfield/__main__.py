"""`python -m cranfield`, and the command itself."""

import gc

_ALLOCATIONS = 200_000
"""So many objects more than before are made until the first look for garbage: more than a short command makes."""


def run() -> None:
    """Run the program.

    Looking for garbage among all that is imported, on the way in and once more on the way out, would take a fifth of
    a short command: so the first look comes late, and what is there at the end is left to the operating system.
    """
    gc.set_threshold(_ALLOCATIONS, 20, 20)
    from cranfield.cli.main import run as run_command

    try:
        run_command()
    finally:
        gc.freeze()


if __name__ == "__main__":
    run()
