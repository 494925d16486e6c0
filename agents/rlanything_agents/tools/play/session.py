"""A game on the screen: it shows messages, reads answers, and has a few commands."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from rich.console import Console
from rich.text import Text

from rlanything_agents.tools.play.game import Game
from rlanything_agents.tools.play.input import Answers, completions, known_words
from rlanything_envs.conversation import Turn
from rlanything_envs.errors import EpisodeOver, InfrastructureError
from rlanything_verifiers.plain_text import printable

__all__ = ["Session"]

MAX_FILE_BYTES = 1_000_000
"""Largest program that ``:load`` reads, in bytes."""
MAX_SOLVING = 200
"""Answers after which ``:solve`` gives up."""
_LINE = 4000  # characters of a line that are shown


class Session:
    """Plays until the player quits or the answers end.

    Args:
        game: The game.
        console: Console of the messages.
    """

    def __init__(self, game: Game, console: Console) -> None:
        self.game = game
        self.console = console
        self._words: list[str] = []
        self._quitting = False
        self._commands: dict[str, tuple[Callable[[str], None], str]] = {
            ":help": (self._help, "what can be typed"),
            ":actions": (self._actions, "what can be done now"),
            ":hint": (self._hint, "the next step of a known solution"),
            ":solve": (self._solve, "play the known solution from here to its end"),
            ":load": (self._load, "FILE [WORD]: send a file as a program, after an action word where one is needed"),
            ":restart": (self._restart, "play this task again from its start"),
            ":next": (self._next, "play the next task"),
            ":quit": (self._quit, "end the game (so does Ctrl-D)"),
        }

    def complete(self, before: str) -> list[tuple[str, int]]:
        """Completions of a line; see `completions`."""
        if before.lstrip().startswith(":"):
            return completions(before, list(self._commands), [])
        return completions(before, self.game.turn.commands if self.game.running else [], self._words)

    def play(self, answers: Answers) -> None:
        """Play until the end.

        Raises:
            InfrastructureError, UnknownTask, TaskFormatError: The first task cannot be played.
        """
        if not answers.echo:
            self._say("Tab completes; :help tells what else can be typed.", "dim")
        self._begin(self.game.next)
        while not self._quitting:
            prompt = "> " if self.game.running else ": "
            try:
                text = answers.read(prompt)
            except (EOFError, KeyboardInterrupt):
                return
            if answers.echo and text.strip():
                self.console.print(Text(prompt + _shown(text), style="bold"))
            try:
                self._do(text)
            except KeyboardInterrupt:
                self._say("interrupted", "yellow")

    def _do(self, text: str) -> None:
        word, _, rest = text.strip().partition(" ")
        if not word:
            return
        if not word.startswith(":"):
            self._answer(text)
            return
        found = [name for name in self._commands if name.startswith(word)]
        if word in self._commands or len(found) == 1:
            command, _ = self._commands[word if word in self._commands else found[0]]
            command(rest.strip())
        else:
            self._say(f"{printable(word, 40)}: there is no such command; :help lists them", "red")

    def _answer(self, text: str) -> None:
        try:
            self._show(self.game.answer(text))
        except InfrastructureError as error:
            self._say(f"{printable(str(error))}\n:restart plays it again", "red")
        except EpisodeOver:
            self._say("This episode is over: :next, :restart or :quit", "yellow")

    def _begin(self, how: Callable[[], Turn]) -> None:
        turn = how()
        self._words = known_words(turn.text)
        self.console.rule(style="dim")
        self._show(turn)

    def _show(self, turn: Turn) -> None:
        self.console.print(Text(_shown(turn.text)))
        if turn.done:
            score = f" (score {turn.reward:g})"
            self._say(("You solved it" if turn.won else "Not solved") + score, "bold green" if turn.won else "bold red")
            self._say(f"{self.game.wins} solved, {self.game.losses} not. :next, :restart or :quit", "dim")

    def _say(self, text: str, style: str) -> None:
        self.console.print(Text(text, style=style))

    # -- commands --------------------------------------------------------------------------------------------

    def _help(self, rest: str) -> None:
        for name, (_, meaning) in self._commands.items():
            self._say(f"{name:9} {meaning}", "")
        self._say(
            "Anything else is sent to the environment. An answer goes on in the next line while a ``` fence is open, "
            "or after a backslash at the end of a line.",
            "dim",
        )

    def _actions(self, rest: str) -> None:
        commands = self.game.turn.commands if self.game.running else []
        self._say("\n".join(printable(word, 200) for word in (self._words if commands is None else commands)), "cyan")

    def _hint(self, rest: str) -> None:
        hint = self.game.hint()
        self._say(_shown(hint) if hint is not None else self._no_way(), "cyan" if hint is not None else "yellow")

    def _solve(self, rest: str) -> None:
        for _ in range(MAX_SOLVING):
            if (hint := self.game.hint()) is None:
                break
            self._say(f"> {_shown(hint)}", "cyan")
            self._answer(hint)
        if self.game.running:
            self._say(self._no_way(), "yellow")

    def _no_way(self) -> str:
        if not self.game.running:
            return "This episode is over: :next, :restart or :quit"
        return "No way is known from here." + (" :restart, then ask again." if self.game.answers else "")

    def _load(self, rest: str) -> None:
        name, _, word = rest.rpartition(" ") if rest.rpartition(" ")[2].isupper() else (rest, "", "")
        try:
            path = Path(name).expanduser()
            if not name or path.stat().st_size > MAX_FILE_BYTES:
                raise ValueError(f"expected a file of at most {MAX_FILE_BYTES} bytes: :load FILE [WORD]")
            program = path.read_text(encoding="utf-8")
        except (OSError, ValueError) as error:
            self._say(printable(f":load {name}: {error}"), "red")
            return
        fence = "`" * (3 + program.count("```"))
        self._answer(f"{word}\n{fence}python\n{program.rstrip()}\n{fence}".lstrip())

    def _restart(self, rest: str) -> None:
        self._try(self.game.restart)

    def _next(self, rest: str) -> None:
        self._try(self.game.next)

    def _try(self, how: Callable[[], Turn]) -> None:
        try:
            self._begin(how)
        except (InfrastructureError, LookupError, ValueError) as error:
            if not type(error).__module__.startswith("rlanything_"):
                raise
            self._say(printable(str(error)), "red")

    def _quit(self, rest: str) -> None:
        self._quitting = True


def _shown(text: str) -> str:
    """Untrusted text of several lines, without characters that move the cursor."""
    return "\n".join(printable(line.expandtabs(4), _LINE) for line in text.splitlines())
