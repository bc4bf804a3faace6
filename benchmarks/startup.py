"""`cranfield --help` against the time it takes merely to import typer."""

from benchmarks.measuring import cranfield, python, tell


def main() -> None:
    """Measure and print."""
    ours = cranfield("--help", repeat=15)
    theirs = python("import typer", repeat=15)
    tell("cranfield --help, against python -c 'import typer' (s)", ours.seconds, theirs.seconds, "below 4")


if __name__ == "__main__":
    main()
