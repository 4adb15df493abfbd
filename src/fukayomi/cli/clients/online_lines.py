"""What the commands print of games against others: lines for people, or JSON objects."""

import sys
from typing import Any

from fukayomi.cli.common.text import json_text
from fukayomi.clients.listener import OnlineGame, OnlineListener
from fukayomi.shogi import BLACK, WHITE, Color
from fukayomi.shogi.record import RecordedMove, Result
from fukayomi.tabular import printable


class Lines(OnlineListener):
    """A line for each game and each note, on stderr."""

    def _print(self, text: str) -> None:
        print(printable(text), file=sys.stderr, flush=True)

    def note(self, text: str) -> None:
        for line in text.splitlines():
            self._print(line)

    def listening(self, host: str, port: int) -> None:
        """A server has begun to listen."""
        self._print(f"listening at {host}:{port}")

    def waiting(self, name: str, game: str) -> None:
        self._print(f"{name} is waiting for a game{f' ({game})' if game else ''}")

    def game_started(self, game: OnlineGame) -> None:
        self._print(f"{game.game_id}: {_players(game)}")

    def game_ended(self, game: OnlineGame) -> None:
        record = game.record
        plies = f"{len(record)} moves, {record.termination}"
        saved = "" if game.path is None else f"; {game.path}"
        self._print(f"{game.game_id}: {_result(game)} ({plies}){saved}")


class JsonLines(OnlineListener):
    """A JSON object a line for each event, on stdout: ``waiting``, ``started``, ``moved``, ``ended``, ``note``."""

    def _print(self, event: str, **values: Any) -> None:
        print(json_text({"event": event, **values}), flush=True)

    def note(self, text: str) -> None:
        self._print("note", text=text)

    def listening(self, host: str, port: int) -> None:
        """A server has begun to listen."""
        self._print("listening", host=host, port=port)

    def waiting(self, name: str, game: str) -> None:
        self._print("waiting", name=name, game=game)

    def game_started(self, game: OnlineGame) -> None:
        own = {} if game.color is None else {"color": _color(game.color)}
        self._print("started", id=game.game_id, black=game.names[BLACK], white=game.names[WHITE], **own)

    def moved(self, game: OnlineGame, ply: int, played: RecordedMove, left_ms: dict[Color, int]) -> None:
        left = {f"{_color(color)}_ms": time_ms for color, time_ms in left_ms.items()}
        found = {"score_cp": played.score_cp} if played.score_cp is not None else {}
        self._print("moved", id=game.game_id, ply=ply, move=played.move.usi(), time_ms=played.time_ms, **found, **left)

    def game_ended(self, game: OnlineGame) -> None:
        record = game.record
        own = {} if game.color is None else {"outcome": game.outcome}
        self._print(
            "ended",
            id=game.game_id,
            black=game.names[BLACK],
            white=game.names[WHITE],
            result=record.result.name.lower(),
            termination=str(record.termination),
            plies=len(record),
            file=None if game.path is None else str(game.path),
            **own,
        )


def listener_of(*, as_json: bool) -> Lines | JsonLines:
    """The listener of a command."""
    return JsonLines() if as_json else Lines()


def _color(color: Color) -> str:
    return "black" if color == BLACK else "white"


def _players(game: OnlineGame) -> str:
    return f"{game.names[BLACK]} (black) - {game.names[WHITE]} (white)"


def _result(game: OnlineGame) -> str:
    result = game.record.result
    if game.color is not None:
        return {"win": "won", "loss": "lost", "draw": "drawn", "none": "no result"}[game.outcome]
    if result is Result.UNKNOWN:
        return "no result"
    return "drawn" if result is Result.DRAW else f"{game.names[BLACK if result is Result.BLACK_WIN else WHITE]} wins"
