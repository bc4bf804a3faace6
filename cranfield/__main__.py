"""`python -m cranfield`."""

from cranfield.cli.main import run

if __name__ == "__main__":
    run()
