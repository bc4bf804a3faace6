"""`python -m cranfield`, and the command itself."""

import gc
import signal

# To look for garbage among all that is imported would take a fifth of a short command: so the first look comes only
# after more objects than such a command makes. It is set here, before the imports it is about.
gc.set_threshold(200_000, 20, 20)

# Until `run` can answer it, Ctrl-C ends the process by the signal alone, without a traceback: nothing was begun.
if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
    signal.signal(signal.SIGINT, signal.SIG_DFL)

from cranfield.cli.main import run  # noqa: E402

if __name__ == "__main__":
    run()
