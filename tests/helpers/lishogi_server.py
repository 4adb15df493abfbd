"""A server that speaks lishogi's API for bots over HTTP on loopback, as https://lishogi.org/api documents it.

It has one account, whose opponents are played by the test or at random, and breaks things when it is told to: refuses
requests, loses answers, cuts streams, falls silent, repeats itself, sends nonsense.
"""

import asyncio
import json
import random
import time
from collections import Counter, deque
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Self

from aiohttp import web

from fukayomi.arena.game.referee import ending_of
from fukayomi.shogi import BLACK, WHITE, Color, Position, ShogiError
from fukayomi.shogi.record import Termination

TOKEN = "moonlight_token"
NAMES = {BLACK: "sente", WHITE: "gote"}
CUT = object()
Opponent = Callable[["ServerGame"], str]
"""Chooses an answer: a USI move, ``resign``, ``flag``, ``abort``, or "" for none."""


def random_opponent(seed: int, plies: int, last: str = "resign") -> Opponent:
    """Plays at random, and ends the game after so many moves of it."""
    chooser = random.Random(seed)

    def choose(game: "ServerGame") -> str:
        if len(game.moves) >= plies:
            return last
        return chooser.choice(game.position.legal_moves).usi()

    return choose


@dataclass
class Faults:
    """What goes wrong."""

    refusals: deque[tuple[str, int]] = field(default_factory=deque)
    """A part of a path, and the status that the next request to it gets; it is not done."""
    lost_answers: deque[str] = field(default_factory=deque)
    """A part of a path: the next request to it is done, and the connection closed without an answer."""
    lost_requests: deque[str] = field(default_factory=deque)
    """The same, and it is not done."""
    repeats: bool = False
    """Every state is sent twice, and then an older one."""
    is_disordered: bool = False
    """The stream of a game begins with a wrong state, and has the game as a whole twice."""
    is_silent: bool = False
    """Streams are open and have nothing, not even empty lines."""


@dataclass
class ServerGame:
    """A game on the server."""

    id: str
    color: Color
    """The bot's side."""
    opponent: Opponent
    name: str
    clock: tuple[int, int, int]
    """Main time, increment and byoyomi, ms."""
    sfen: str = "startpos"
    rated: bool = False
    variant: str = "standard"
    moves: list[str] = field(default_factory=list)
    status: str = "started"
    winner: str | None = None
    extra: dict[str, Any] = field(default_factory=dict)
    """Further fields of the state: offers."""
    streams: list[asyncio.Queue[Any]] = field(default_factory=list)
    answers: list[str] = field(default_factory=list)
    """What the bot has answered and asked for: ``draw/no``, ``abort``."""
    opened: int = 0
    """Streams so far."""
    known: dict[str, Any] = field(default_factory=dict)
    """An older state."""

    def __post_init__(self) -> None:
        self.position = Position() if self.sfen == "startpos" else Position.from_sfen(self.sfen)
        self.left_ms = {BLACK: self.clock[0], WHITE: self.clock[0]}
        self.began_s = time.monotonic()

    @property
    def is_over(self) -> bool:
        return self.status not in ("created", "started")

    def state(self) -> dict[str, Any]:
        state = {
            "type": "gameState",
            "moves": " ".join(self.moves),
            "btime": self.left_ms[BLACK],
            "wtime": self.left_ms[WHITE],
            "binc": self.clock[1],
            "winc": self.clock[1],
            "byo": self.clock[2],
            "status": self.status,
            **self.extra,
        }
        return state | ({"winner": self.winner} if self.winner else {})

    def full(self, own: str) -> dict[str, Any]:
        bot = {"id": own, "name": own, "title": "BOT", "rating": 1800}
        other = {"id": self.name.lower(), "name": self.name, "title": None, "rating": 1500}
        return {
            "type": "gameFull",
            "id": self.id,
            "rated": self.rated,
            "variant": {"key": self.variant, "name": "Standard", "short": "Std"},
            "clock": {"initial": self.clock[0], "increment": self.clock[1], "byoyomi": self.clock[2], "periods": 1},
            "speed": "realTime",
            "perf": {"name": "Shogi"},
            "createdAt": 1523825103562,
            "sente": bot if self.color == BLACK else other,
            "gote": bot if self.color == WHITE else other,
            "initialSfen": self.sfen,
            "state": self.state(),
        }

    def send(self) -> None:
        """Send the state to all streams."""
        state = self.state()
        for stream in self.streams:
            stream.put_nowait(state)

    def send_raw(self, data: bytes) -> None:
        """Send any bytes."""
        for stream in self.streams:
            stream.put_nowait(data)

    def cut(self) -> None:
        """Cut the streams."""
        for stream in self.streams:
            stream.put_nowait(CUT)

    def play(self, text: str) -> None:
        """A move of the side to move, at its time; the end by the rules.

        Raises:
            ShogiError: It is not legal.
        """
        turn = self.position.turn
        self.position.push_usi(text)
        self.moves.append(text)
        used_ms = round(1000 * (time.monotonic() - self.began_s))
        self.left_ms[turn] = max(0, self.left_ms[turn] - used_ms) + self.clock[1]
        self.began_s = time.monotonic()
        ended = ending_of(self.position, len(self.moves), 10_000)
        if ended is None:
            self.send()
        elif ended[0] is Termination.PERPETUAL_CHECK:
            self.end("perpetualCheck", BLACK if ended[1] == 1 else WHITE)
        elif ended[0] is Termination.MATE:
            self.end("mate", turn)
        else:
            self.end("repetition")

    def end(self, status: str, winner: Color | None = None) -> None:
        """End the game."""
        self.status, self.winner, self.extra = status, None if winner is None else NAMES[winner], {}
        self.send()

    def flag(self) -> None:
        """The side to move has no time left."""
        self.left_ms[self.position.turn] = 0
        self.end("outoftime", self.position.turn.opponent)

    def ask(self, what: str) -> None:
        """The opponent offers a ``draw``, or asks for a ``takeback``."""
        self.extra = {f"{'w' if self.color == BLACK else 'b'}{what}": True}
        self.send()

    def take_back(self, plies: int) -> None:
        """Moves are taken back."""
        for _ in range(plies):
            self.moves.pop()
            self.position.pop()
        self.extra, self.began_s = {}, time.monotonic()
        self.send()

    def take_turn(self) -> None:
        """The opponent answers, if it is to move."""
        if self.is_over or self.position.turn == self.color:
            return
        text = self.opponent(self)
        if text == "resign":
            self.end("resign", self.color)
        elif text == "flag":
            self.flag()
        elif text == "abort":
            self.end("aborted")
        elif text:
            self.play(text)

    def watch(self) -> None:
        """The side to move loses by time if it has none left."""
        if not self.is_over:
            used_ms = 1000 * (time.monotonic() - self.began_s)
            if used_ms > self.left_ms[self.position.turn] + self.clock[2]:
                self.flag()


class LishogiServer:
    """The server, as an asynchronous context manager."""

    def __init__(self, own: str = "ours", title: str | None = "BOT", keep_alive_s: float = 0.3) -> None:
        self.own, self.title, self.keep_alive_s = own, title, keep_alive_s
        self.port = 0
        self.games: dict[str, ServerGame] = {}
        self.challenges: dict[str, dict[str, Any]] = {}
        self.waiting: dict[str, ServerGame] = {}
        self.declined: dict[str, str] = {}
        self.requests: list[tuple[str, str]] = []
        """Method and path of each."""
        self.kinds = Counter[str]()
        """Requests that were refused, by status."""
        self.tokens: set[str] = set()
        self.played_games = 0
        self.faults = Faults()
        self.events: list[asyncio.Queue[Any]] = []
        self._numbers = iter(range(1, 1_000_000))

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    async def __aenter__(self) -> Self:
        app = web.Application()
        app.add_routes(
            [
                web.get("/api/account", self._account),
                web.post("/api/bot/account/upgrade", self._upgrade),
                web.get("/api/stream/event", self._stream_events),
                web.post("/api/challenge/{id}/{answer:accept|decline}", self._answer_challenge),
                web.get("/api/bot/game/stream/{id}", self._stream_game),
                web.post("/api/bot/game/{id}/move/{move}", self._move),
                web.post("/api/bot/game/{id}/{action:abort|resign}", self._leave),
                web.post("/api/bot/game/{id}/{what:draw|takeback}/{answer:yes|no}", self._answer_offer),
            ]
        )
        app.middlewares.append(self._guard)
        self._runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.1)
        await self._runner.setup()
        site = web.TCPSite(self._runner, "127.0.0.1", self.port)
        await site.start()
        self.port = self._runner.addresses[0][1]
        self._watching = asyncio.create_task(self._watch())
        return self

    async def __aexit__(self, *_: object) -> None:
        self._watching.cancel()
        self.cut()
        await self._runner.cleanup()

    def cut(self) -> None:
        """Cut all streams."""
        for stream in self.events:
            stream.put_nowait(CUT)
        for game in self.games.values():
            game.cut()

    def send_event(self, event: object) -> None:
        """Send an event, or any bytes."""
        for stream in self.events:
            stream.put_nowait(event)

    def challenge(
        self, color: Color = BLACK, opponent: Opponent = lambda _: "", clock: tuple[int, int, int] = (600, 0, 0),
        *, name: str = "Somebody", title: str | None = None, rating: int | None = 1500, **changes: Any,
    ) -> ServerGame:  # fmt: skip
        """Somebody challenges the bot; main time, increment and byoyomi are in seconds."""
        game_id = f"game{next(self._numbers):04}"
        times = (1000 * clock[0], 1000 * clock[1], 1000 * clock[2])
        sfen = changes.get("initialSfen", "startpos")
        game = ServerGame(game_id, color, opponent, name, times, sfen)
        challenge = {
            "id": game_id,
            "url": f"{self.url}/{game_id}",
            "status": "created",
            "challenger": {"id": name.lower(), "name": name, "title": title, "rating": rating, "online": True},
            "destUser": {"id": self.own, "name": self.own, "title": "BOT", "rating": 1800},
            "variant": {"key": "standard", "name": "Standard", "short": "Std"},
            "rated": False,
            "speed": "realTime",
            "timeControl": {
                "type": "clock", "limit": clock[0], "increment": clock[1], "byoyomi": clock[2], "periods": 1,
                "show": "10+0",
            },
            "color": "random",
            "perf": {"icon": "#", "name": "Shogi"},
        } | changes  # fmt: skip
        self.challenges[game_id], self.waiting[game_id] = challenge, game
        self.send_event({"type": "challenge", "challenge": challenge})
        return game

    def start(self, game: ServerGame) -> None:
        """A game begins."""
        self.games[game.id] = game
        self.challenges.pop(game.id, None)
        game.began_s = time.monotonic()
        self.send_event(self._start_event(game))
        game.take_turn()

    def _start_event(self, game: ServerGame) -> dict[str, Any]:
        return {
            "type": "gameStart",
            "game": {"gameId": game.id, "fullId": f"{game.id}abcd", "color": NAMES[game.color], "source": "friend",
                     "compat": {"bot": True, "board": True}},
        }  # fmt: skip

    async def _watch(self) -> None:
        while True:
            await asyncio.sleep(0.1)
            for game in list(self.games.values()):
                game.watch()

    # ------------------------------------------------------------------------------------------ requests

    @web.middleware
    async def _guard(self, request: web.Request, handler: Any) -> web.StreamResponse:
        self.requests.append((request.method, request.path_qs))
        token = request.headers.get("Authorization", "").removeprefix("Bearer ")
        self.tokens.add(token)
        if token != TOKEN:
            return web.json_response({"error": f"No such token: {token}"}, status=401)
        for part, status in list(self.faults.refusals):
            if part in request.path:
                self.faults.refusals.remove((part, status))
                self.kinds[str(status)] += 1
                return web.json_response({"error": f"I refuse, {token}"}, status=status)
        for lost, is_done in ((self.faults.lost_requests, False), (self.faults.lost_answers, True)):
            for part in list(lost):
                if part in request.path:
                    lost.remove(part)
                    self.kinds["lost answer" if is_done else "lost request"] += 1
                    if is_done:
                        await handler(request)
                    _abort(request)
                    return web.Response(status=500)
        return await handler(request)

    async def _account(self, _: web.Request) -> web.Response:
        account = {"id": self.own, "username": self.own, "count": {"all": self.played_games}}
        return web.json_response(account | ({"title": self.title} if self.title else {}))

    async def _upgrade(self, _: web.Request) -> web.Response:
        if self.played_games:
            return web.json_response({"error": "The account has played games"}, status=400)
        self.title = "BOT"
        return web.json_response({"ok": True})

    async def _answer_challenge(self, request: web.Request) -> web.Response:
        challenge_id = request.match_info["id"]
        if challenge_id not in self.challenges:
            return web.json_response({"error": "Not found."}, status=404)
        if request.match_info["answer"] == "accept":
            self.start(self.waiting.pop(challenge_id))
        else:
            self.challenges.pop(challenge_id)
            self.declined[challenge_id] = str((await request.post()).get("reason", ""))
        return web.json_response({"ok": True})

    def _game(self, request: web.Request) -> ServerGame:
        game = self.games.get(request.match_info["id"])
        if game is None:
            raise web.HTTPNotFound(text=json.dumps({"error": "Not found."}), content_type="application/json")
        return game

    async def _move(self, request: web.Request) -> web.Response:
        game, move = self._game(request), request.match_info["move"]
        if game.is_over or game.position.turn != game.color:
            return web.json_response({"error": "Not your turn, or game already over"}, status=400)
        try:
            game.play(move)
        except ShogiError:
            return web.json_response({"error": f"Invalid move: {move}"}, status=400)
        if request.query.get("offeringDraw") == "true":
            game.answers.append("offers draw")
        asyncio.get_running_loop().call_soon(game.take_turn)
        return web.json_response({"ok": True})

    async def _leave(self, request: web.Request) -> web.Response:
        game, action = self._game(request), request.match_info["action"]
        if game.is_over or (action == "abort" and len(game.moves) >= 2):
            return web.json_response({"error": "This game can no longer be aborted"}, status=400)
        game.answers.append(action)
        if action == "abort":
            game.end("aborted")
        else:
            game.end("resign", game.color.opponent)
        return web.json_response({"ok": True})

    async def _answer_offer(self, request: web.Request) -> web.Response:
        game, what, answer = self._game(request), request.match_info["what"], request.match_info["answer"]
        game.answers.append(f"{what}/{answer}")
        if answer == "no":
            game.extra = {}
        elif what == "draw":
            game.end("draw")
        else:
            game.take_back(2 if game.position.turn != game.color else 1)
        return web.json_response({"ok": True})

    # ------------------------------------------------------------------------------------------ streams

    async def _stream_events(self, request: web.Request) -> web.StreamResponse:
        first = [{"type": "challenge", "challenge": challenge} for challenge in self.challenges.values()]
        first += [self._start_event(game) for game in self.games.values() if not game.is_over]
        return await self._stream(request, self.events, first, lambda: False)

    async def _stream_game(self, request: web.Request) -> web.StreamResponse:
        game = self._game(request)
        game.opened += 1
        first = [game.full(self.own)]
        if self.faults.is_disordered:
            first = [game.state() | {"moves": "9g9f"}, *first, *first]
        return await self._stream(request, game.streams, first, lambda: game.is_over)

    async def _stream(
        self, request: web.Request, streams: list[asyncio.Queue[Any]], first: list[Any], is_over: Callable[[], bool]
    ) -> web.StreamResponse:
        response = web.StreamResponse(headers={"Content-Type": "application/x-ndjson"})
        await response.prepare(request)
        queue: asyncio.Queue[Any] = asyncio.Queue()
        streams.append(queue)
        older: Any = None
        try:
            for message in first:
                await response.write(_line(message))
            while not (is_over() and queue.empty()):
                try:
                    async with asyncio.timeout(self.keep_alive_s):
                        message = await queue.get()
                except TimeoutError:
                    if not self.faults.is_silent:
                        await response.write(b"\n")
                    continue
                if message is CUT:
                    _abort(request)
                    break
                if self.faults.is_silent:
                    continue
                await response.write(_line(message))
                if self.faults.repeats and isinstance(message, dict):
                    await response.write(_line(message))
                    if older is not None and message.get("status") == "started":
                        await response.write(_line(older))
                    older = message
        except ConnectionResetError:
            pass
        finally:
            streams.remove(queue)
        return response


def _abort(request: web.Request) -> None:
    if request.transport is not None:  # the bot has not gone already
        request.transport.abort()


def _line(message: Any) -> bytes:
    return message if isinstance(message, bytes) else json.dumps(message).encode() + b"\n"
