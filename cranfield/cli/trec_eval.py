"""`cranfield trec-eval`: takes trec_eval's options, prints trec_eval's bytes, ends with its status."""

import sys

import typer

_UNTOUCHED = {"ignore_unknown_options": True, "allow_extra_args": True, "help_option_names": []}


def add_to(app: typer.Typer) -> None:
    """Add the command to the program."""
    app.command("trec-eval", context_settings=_UNTOUCHED)(trec_eval)


def trec_eval(context: typer.Context) -> None:
    """Do what trec_eval does, as version 10, or as version 9 with --as 9."""
    from cranfield.workflows.listing import as_trec_eval

    printed = as_trec_eval(context.args)
    sys.stdout.buffer.write(printed.output)
    sys.stdout.buffer.flush()
    sys.stderr.write(printed.errors)
    raise typer.Exit(printed.status)
