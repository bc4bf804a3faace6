"""One line to be typed at the foot of the screen. The document stays in sight, and no judging key fires."""

from textual.app import ComposeResult
from textual.containers import Horizontal
from textual.screen import ModalScreen
from textual.widgets import Input, Static


class Prompt(ModalScreen[str | None]):
    """A question with one line for the answer; Esc gives None."""

    BINDINGS = [("escape", "dismiss(None)", "leave")]  # noqa: RUF012

    def __init__(self, question: str, value: str = "", *, hint: str = "") -> None:
        super().__init__()
        self._question, self._value, self._hint = question, value, hint

    def compose(self) -> ComposeResult:
        """Make the line."""
        with Horizontal(id="prompt"):
            yield Static(self._question, markup=False, id="question")
            yield Input(self._value, placeholder=self._hint, select_on_focus=False, id="answer")
        yield Static("Enter takes it · Esc leaves", id="prompt-hint")

    def on_input_submitted(self, event: Input.Submitted) -> None:
        """Give what was typed."""
        self.dismiss(event.value)
