"""The bot on a server that speaks lishogi's API: challenges, games, every end, and all that breaks on the way."""

import asyncio
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest
from lishogi_server import TOKEN, LishogiServer, Opponent, ServerGame, random_opponent
from patience import PATIENCE_S
from places import HELPERS

from fukayomi import BLACK, WHITE, Move, Position, Result, Termination, clients, read_record
from fukayomi.arena.game.player import InProcessPlayer, MovePlayer
from fukayomi.arena.game.rules import EngineSettings
from fukayomi.arena.game.time_control import TimeControl
from fukayomi.clients import connecting
from fukayomi.clients.lishogi import api as api_module
from fukayomi.clients.lishogi.settings import BotError
from fukayomi.clients.records import RecordFolder
from fukayomi.shogi.record import RecordedMove
from fukayomi.usi.client import SearchAnswer
from fukayomi.usi.text import BestMove, Go, Info, UsiScore

RANDOM = [sys.executable, str(HELPERS / "random_engine.py")]


@pytest.fixture(autouse=True)
def _quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connecting, "FIRST_PAUSE_S", 0.01)
    monkeypatch.setattr(api_module, "RATE_LIMIT_S", 0.3)


class Heard(clients.OnlineListener):
    """Keeps what it hears."""

    def __init__(self) -> None:
        self.games: list[clients.OnlineGame] = []
        self.notes: list[str] = []
        self.moves: list[tuple[int, str]] = []

    def note(self, text: str) -> None:
        self.notes.append(text)

    def moved(self, game: clients.OnlineGame, ply: int, played: RecordedMove, left_ms: dict) -> None:
        self.moves.append((ply, played.move.usi()))

    def game_ended(self, game: clients.OnlineGame) -> None:
        self.games.append(game)


class Chooser(MovePlayer):
    """Plays what it is told, then the first legal move; every move has the same score."""

    def __init__(self, *answers: str, score: int = 100) -> None:
        self.answers, self.score = list(answers), score
        self.asked: list[tuple[str, Go]] = []

    def choose(self, position: Position, go: Go) -> Move | SearchAnswer:
        self.asked.append((position.usi(), go))
        move = self.answers.pop(0) if self.answers else position.legal_moves[0].usi()
        return SearchAnswer(BestMove(move), infos=(Info(score=UsiScore(cp=self.score), pv=(move,)),))


def in_process(chooser: MovePlayer) -> InProcessPlayer:
    return InProcessPlayer(chooser, EngineSettings(name="own", identity="own"), TimeControl(movetime_ms=1))


def scripted(*moves: str) -> Opponent:
    """Plays these moves, and then nothing: the test goes on."""
    left = list(moves)
    return lambda _: left.pop(0) if left else ""


async def until(condition: Callable[[], object]) -> None:
    async with asyncio.timeout(PATIENCE_S):
        while not condition():
            await asyncio.sleep(0.005)


Play = Callable[[LishogiServer, clients.LishogiBot], Awaitable[None]]


def run(play: Play, chooser: MovePlayer | None = None, out: Path | None = None, **more: object):
    """Run a bot on a server while something happens there; the score and what was heard."""
    heard = Heard()
    log: list[str] = []

    async def main() -> clients.Score:
        async with LishogiServer() as server:
            settings = clients.BotSettings(**{"url": server.url, "games": 1, "out": out, "margin_ms": 10, **more})
            player = chooser or Chooser()
            token = clients.Secret(TOKEN)
            bot = clients.LishogiBot(settings, token, lambda: in_process(player), listener=heard, log=log.append)
            async with asyncio.timeout(2 * PATIENCE_S):
                running = asyncio.create_task(bot.run())
                playing = asyncio.create_task(play(server, bot))
                await asyncio.wait((running, playing), return_when=asyncio.FIRST_COMPLETED)
                if playing.done():
                    playing.result()
                score = await running
                await playing
                assert server.tokens == {TOKEN}
                return score

    score = asyncio.run(main())
    assert TOKEN not in "".join(log + heard.notes)
    if out is not None:
        assert not [path for path in out.rglob("*") if path.is_file() and TOKEN.encode() in path.read_bytes()]
        assert not list(out.glob("*.part"))
    return score, heard


def same(game: ServerGame, heard: Heard, out: Path | None = None) -> clients.OnlineGame:
    """The game that was heard of has the moves of the server's, in the record too."""
    (own,) = heard.games
    assert (own.game_id, own.record.usi_moves()) == (game.id, game.moves)
    if out is not None:
        assert own.path == out / f"{game.id}.csa"
        saved = read_record(own.path)
        ends = saved.termination, saved.result
        assert (saved.usi_moves(), *ends) == (game.moves, own.record.termination, own.record.result)
        assert read_record(own.path.with_suffix(".kif")).usi_moves() == game.moves
    return own


# ---------------------------------------------------------------------------------------------- games


@pytest.mark.parametrize("color", [BLACK, WHITE])
def test_a_game_from_the_challenge_to_the_record(color, tmp_path: Path) -> None:
    async def play(server: LishogiServer, bot: clients.LishogiBot) -> None:
        await until(lambda: server.events)
        games.append(server.challenge(color, random_opponent(1, 12), (60, 1, 0)))

    games: list[ServerGame] = []
    score, heard = run(play, out=tmp_path)
    game = same(games[0], heard, tmp_path)
    assert (score.wins, score.games) == (1, 1)
    record = read_record(tmp_path / f"{game.game_id}.csa")
    assert {record.black_name, record.white_name} == {"ours", "Somebody"}
    assert (record.event, record.time_limit) == (game.game_id, "60+0+1")
    assert all(move.time_ms is not None for move in record.moves[1:])
    own = record.moves[0 if color == BLACK else 1 :: 2]
    assert {move.score_cp for move in own} == {100 if color == BLACK else -100}
    assert [note for note in heard.notes if "Somebody (1500): standard, 60 s + 1 s increment, casual: accepted" in note]


@pytest.mark.parametrize(
    ("status", "winner", "termination", "result"),
    [
        ("resign", BLACK, Termination.RESIGN, Result.BLACK_WIN),
        ("resign", WHITE, Termination.RESIGN, Result.WHITE_WIN),
        ("mate", WHITE, Termination.MATE, Result.WHITE_WIN),
        ("stalemate", WHITE, Termination.MATE, Result.WHITE_WIN),
        ("outoftime", BLACK, Termination.TIME_UP, Result.BLACK_WIN),
        ("timeout", BLACK, Termination.OTHER, Result.BLACK_WIN),
        ("cheat", WHITE, Termination.OTHER, Result.WHITE_WIN),
        ("draw", None, Termination.DRAW, Result.DRAW),
        ("repetition", None, Termination.REPETITION, Result.DRAW),
        ("perpetualCheck", BLACK, Termination.PERPETUAL_CHECK, Result.BLACK_WIN),
        ("impasse27", BLACK, Termination.DECLARATION, Result.BLACK_WIN),
        ("aborted", None, Termination.INTERRUPTED, Result.UNKNOWN),
        ("noStart", BLACK, Termination.INTERRUPTED, Result.UNKNOWN),
        ("somethingNew", None, Termination.OTHER, Result.UNKNOWN),
    ],
)
def test_every_end_of_a_game(status: str, winner, termination: Termination, result: Result, tmp_path: Path) -> None:
    async def play(server: LishogiServer, bot: clients.LishogiBot) -> None:
        await until(lambda: server.events)
        game = server.challenge(BLACK, scripted("3c3d"))
        await until(lambda: len(heard_games(server)) and len(game.moves) == 3)
        game.end(status, winner)
        games.append(game)

    games: list[ServerGame] = []
    _, heard = run(play, Chooser("7g7f", "2g2f"), tmp_path)
    record = same(games[0], heard).record
    assert (record.termination, record.result) == (termination, result)
    saved = read_record(tmp_path / f"{games[0].id}.csa")
    assert (saved.termination, saved.result) == (termination, result)


def heard_games(server: LishogiServer) -> list[ServerGame]:
    return list(server.games.values())


def test_the_engine_resigns_and_is_mated(tmp_path: Path) -> None:
    async def play(server: LishogiServer, bot: clients.LishogiBot) -> None:
        await until(lambda: server.events)
        games.append(server.challenge(BLACK, scripted("3c3d")))

    games: list[ServerGame] = []
    score, heard = run(play, Chooser("7g7f", "resign"), tmp_path)
    assert (score.losses, same(games[0], heard, tmp_path).record.termination) == (1, Termination.RESIGN)


def test_increments_are_taken_off_and_byoyomi_is_told() -> None:
    async def play(server: LishogiServer, bot: clients.LishogiBot) -> None:
        await until(lambda: server.events)
        for clock in ((60, 5, 0), (0, 0, 10), (60, 5, 10)):
            server.challenge(BLACK, lambda _: "resign", clock)
            count = len(server.games)
            await until(lambda count=count: len(server.games) > count and heard_games(server)[-1].is_over)
            await until(lambda: not bot._games)

    chooser = Chooser("7g7f", "7g7f", "7g7f")
    run(play, chooser, games=3, margin_ms=0)
    first, second, third = (go for _, go in chooser.asked)
    assert (first.btime_ms, first.binc_ms) == (55_000, 5_000)  # 60 s in all, as the server has it
    assert (second.btime_ms, second.binc_ms) == (0, None)
    assert second.byoyomi_ms is not None
    assert 5_000 < second.byoyomi_ms <= 10_000  # less the delay that was measured
    assert third.btime_ms is not None
    assert 50_000 < third.btime_ms <= 55_000
    assert third.binc_ms == 15_000


def test_several_games_at_once_each_with_an_engine_of_its_own(tmp_path: Path) -> None:
    heard, made = Heard(), []

    def player() -> clients.usi_player:
        made.append(clients.usi_player(f"engine {len(made) + 1}", [*RANDOM, "slow=0.02"]))
        return made[-1]

    async def main() -> tuple[clients.Score, list[ServerGame]]:
        async with LishogiServer() as server:
            settings = clients.BotSettings(url=server.url, games=6, at_once=3, out=tmp_path)
            bot = clients.LishogiBot(settings, clients.Secret(TOKEN), player, listener=heard)
            running = asyncio.create_task(bot.run())
            await until(lambda: server.events)
            most = 0
            async with asyncio.timeout(PATIENCE_S):
                while not running.done():
                    if len(server.waiting) - len(server.declined) < 1:
                        server.challenge(BLACK, random_opponent(len(server.games), 14))
                    most = max(most, sum(not game.is_over for game in server.games.values()))
                    await asyncio.sleep(0.01)
            assert most == 3
            return await running, heard_games(server)

    score, games = asyncio.run(main())
    assert (score.games, len(games), len(made)) == (6, 6, 3)
    assert {game.game_id: game.record.usi_moves() for game in heard.games} == {game.id: game.moves for game in games}


def test_an_engine_that_dies_is_started_again_and_plays_on() -> None:
    heard = Heard()

    async def main() -> clients.Score:
        async with LishogiServer() as server:
            settings = clients.BotSettings(url=server.url, games=1)
            engine = [*RANDOM, "dies=2"]
            bot = clients.LishogiBot(
                settings, clients.Secret(TOKEN), lambda: clients.usi_player("own", engine), listener=heard
            )
            running = asyncio.create_task(bot.run())
            await until(lambda: server.events)
            server.challenge(BLACK, random_opponent(3, 8))
            async with asyncio.timeout(PATIENCE_S):
                return await running

    assert asyncio.run(main()).wins == 1
    assert [note for note in heard.notes if "attempt 1 of 3" in note]


def test_ponder() -> None:
    log: list[str] = []

    async def main() -> clients.Score:
        async with LishogiServer() as server:
            engine = [sys.executable, str(HELPERS / "ponder_engine.py"), "plain", "7g7f,3c3d,2g2f,8c8d,2f2e", "3=4a3b"]
            settings = clients.BotSettings(url=server.url, games=1)
            player = lambda: clients.usi_player("own", engine, log=log.append)  # noqa: E731
            bot = clients.LishogiBot(settings, clients.Secret(TOKEN), player)
            running = asyncio.create_task(bot.run())
            await until(lambda: server.events)
            game = server.challenge(BLACK, lambda game: "resign" if len(game.moves) >= 5 else "")
            for count, move in ((1, "3c3d"), (3, "8c8d")):  # the second is not what it expects
                await until(lambda count=count: sum("go ponder" in line for line in log) >= (count + 1) // 2)
                game.play(move)
            async with asyncio.timeout(PATIENCE_S):
                return await running

    assert asyncio.run(main()).wins == 1
    said = [line.split()[1] for line in log if line.startswith(("> go ponder", "> ponderhit", "> stop"))]
    assert said[:3] == ["go", "ponderhit", "go"]
    assert "stop" in said


# ---------------------------------------------------------------------------------------------- challenges


@pytest.mark.parametrize(
    ("rules", "challenge", "reason"),
    [
        ({}, {"variant": {"key": "minishogi"}}, "variant"),
        ({"kind": "casual"}, {"rated": True}, "casual"),
        ({"kind": "rated"}, {}, "rated"),
        ({"opponents": "people"}, {"title": "BOT"}, "noBot"),
        ({"opponents": "bots"}, {}, "onlyBot"),
        ({"min_rating": 1501}, {}, "generic"),
        ({"max_rating": 1499}, {}, "generic"),
        ({"max_rating": 3000}, {"rating": None}, "generic"),
        ({"avoid": ("SOMEBODY",)}, {}, "generic"),
        ({"min_main": 601}, {}, "tooFast"),
        ({"min_extra": 1}, {}, "tooFast"),
        ({"max_main": 599}, {}, "tooSlow"),
        ({"max_extra": 4}, {"clock": (600, 0, 5)}, "tooSlow"),
        ({"margin_ms": 500}, {"clock": (0, 0, 1)}, "tooFast"),
        ({}, {"timeControl": {"type": "correspondence", "daysPerTurn": 3}}, "timeControl"),
        ({}, {"timeControl": {"type": "unlimited"}}, "timeControl"),
        ({}, {"initialSfen": "nonsense"}, "standard"),
    ],
)
def test_challenges_that_the_rules_decline(rules: dict, challenge: dict, reason: str) -> None:
    async def play(server: LishogiServer, bot: clients.LishogiBot) -> None:
        await until(lambda: server.events)
        sfen = challenge.pop("initialSfen", None)
        game = server.challenge(**challenge)
        if sfen is not None:
            declined = {**server.challenges[game.id], "id": "other1", "initialSfen": sfen}
            server.challenges["other1"] = declined
            server.send_event({"type": "challenge", "challenge": declined})
        key = game.id if sfen is None else "other1"
        await until(lambda: key in server.declined)
        assert server.declined[key] == reason
        bot.resign()

    run(play, **rules)


def test_a_challenge_that_all_rules_allow_and_a_first_position(tmp_path: Path) -> None:
    async def play(server: LishogiServer, bot: clients.LishogiBot) -> None:
        await until(lambda: server.events)
        sfen = "lnsgkgsnl/1r7/ppppppppp/9/9/9/PPPPPPPPP/1B5R1/LNSGKGSNL w - 1"
        games.append(
            server.challenge(
                WHITE, random_opponent(5, 9), (300, 5, 0), title="BOT", rating=1700, rated=True, initialSfen=sfen
            )
        )

    games: list[ServerGame] = []
    rules = {"kind": "rated", "opponents": "bots", "min_rating": 1700, "max_rating": 1700, "min_main": 300}
    more = {"max_main": 300, "min_extra": 5, "max_extra": 5, "per_day": 1}
    score, heard = run(play, out=tmp_path, **rules, **more)
    assert score.wins == 1
    assert same(games[0], heard, tmp_path).record.initial_sfen.split()[1] == "w"


def test_so_many_games_with_one_opponent_a_day_even_after_a_restart(tmp_path: Path) -> None:
    async def play(server: LishogiServer, bot: clients.LishogiBot) -> None:
        await until(lambda: server.events)
        for name in ("One", "One", "Two"):
            game = server.challenge(BLACK, random_opponent(1, 2), name=name)
            await until(lambda game=game: game.is_over or game.id in server.declined)
            await until(lambda: not bot._games)
            if game.id in server.declined:
                declined.append((name, server.declined[game.id]))

    declined: list[tuple[str, str]] = []
    score, _ = run(play, out=tmp_path, per_day=1, games=2)
    assert (score.games, declined) == (2, [("One", "later")])

    async def again(server: LishogiServer, bot: clients.LishogiBot) -> None:
        await until(lambda: server.events)
        game = server.challenge(BLACK, random_opponent(1, 2), name="two")
        await until(lambda: game.id in server.declined)
        bot.finish()

    run(again, out=tmp_path, per_day=1)


def test_while_a_game_is_in_play_others_are_declined_and_after_finish_all() -> None:
    async def play(server: LishogiServer, bot: clients.LishogiBot) -> None:
        await until(lambda: server.events)
        first = server.challenge(BLACK)
        await until(lambda: first.moves)
        second = server.challenge(BLACK)
        await until(lambda: second.id in server.declined)
        bot.finish()
        third = server.challenge(BLACK)
        await until(lambda: third.id in server.declined)
        assert {*server.declined.values()} == {"later"}
        first.end("resign", BLACK)

    score, _ = run(play, games=None)
    assert (score.wins, score.games) == (1, 1)


def test_a_challenge_is_answered_once_and_our_own_not_at_all() -> None:
    async def play(server: LishogiServer, bot: clients.LishogiBot) -> None:
        await until(lambda: server.events)
        game = server.challenge(BLACK, variant={"key": "chushogi"})
        event = {"type": "challenge", "challenge": server.challenges[game.id]}
        own = {**event["challenge"], "id": "mine1", "challenger": {"id": "ours", "name": "ours"}}
        server.send_event({"type": "challenge", "challenge": own})
        server.send_event(event)
        await until(lambda: game.id in server.declined)
        server.send_event(event)
        last = server.challenge(BLACK, random_opponent(1, 2))
        await until(lambda: last.is_over)
        answers = [path for method, path in server.requests if "/decline" in path]
        assert answers == [f"/api/challenge/{game.id}/decline"]

    run(play)


# ---------------------------------------------------------------------------------------------- draws, takebacks


@pytest.mark.parametrize(
    ("rules", "answer"),
    [
        ({}, "draw/no"),
        ({"draw_cp": 50, "draw_moves": 2, "draw_ply": 2}, "draw/no"),  # the score is 100
        ({"draw_cp": 100, "draw_moves": 2, "draw_ply": 40}, "draw/no"),
        ({"draw_cp": 100, "draw_moves": 3, "draw_ply": 2}, "draw/no"),  # it has played two moves
        ({"draw_cp": 100, "draw_moves": 2, "draw_ply": 3}, "draw/yes"),
    ],
)
def test_draws_are_accepted_by_the_scores(rules: dict, answer: str) -> None:
    async def play(server: LishogiServer, bot: clients.LishogiBot) -> None:
        await until(lambda: server.events)
        game = server.challenge(BLACK, scripted("3c3d"))
        await until(lambda: len(game.moves) == 3)
        await asyncio.sleep(0)
        game.ask("draw")
        await until(lambda: game.answers)
        assert game.answers == [answer]
        game.send()  # the same state once more: it is answered once
        if answer == "draw/no":
            game.end("resign", BLACK)

    score, _ = run(play, Chooser("7g7f", "2g2f"), **rules)
    assert (score.draws, score.wins) == ((1, 0) if answer == "draw/yes" else (0, 1))


def test_draws_are_offered_if_the_rules_say_so() -> None:
    async def play(server: LishogiServer, bot: clients.LishogiBot) -> None:
        await until(lambda: server.events)
        game = server.challenge(BLACK, scripted("3c3d", "8c8d", "resign"))
        await until(lambda: game.is_over)
        assert game.answers == ["offers draw"] * 2

    run(play, Chooser("7g7f", "2g2f", "2f2e"), draw_cp=100, draw_moves=2, draw_ply=2, offer_draws=True)


def test_a_lost_game_is_resigned_by_the_scores(tmp_path: Path) -> None:
    async def play(server: LishogiServer, bot: clients.LishogiBot) -> None:
        await until(lambda: server.events)
        game = server.challenge(WHITE, random_opponent(2, 100))
        await until(lambda: game.is_over)
        assert (len(game.moves), game.answers) == (5, ["resign"])  # the third answer would be below
        games.append(game)

    games: list[ServerGame] = []
    score, heard = run(play, Chooser(score=-900), tmp_path, resign_cp=900, resign_moves=3)
    assert score.losses == 1
    same(games[0], heard, tmp_path)


def test_takebacks(tmp_path: Path) -> None:
    async def play(server: LishogiServer, bot: clients.LishogiBot) -> None:
        await until(lambda: server.events)
        game = server.challenge(BLACK, scripted("3c3d"))
        await until(lambda: len(game.moves) == 3)
        game.ask("takeback")  # of 3c3d and our answer
        await until(lambda: game.answers == ["takeback/yes"] and len(game.moves) == 1)
        game.play("8c8d")
        await until(lambda: len(game.moves) == 3)
        game.ask("takeback")
        await until(lambda: game.answers == ["takeback/yes", "takeback/no"])
        game.play("3c3d")
        await until(lambda: len(game.moves) == 5)
        game.end("resign", BLACK)
        games.append(game)

    games: list[ServerGame] = []
    chooser = Chooser("7g7f", "2g2f", "2g2f", "2f2e")
    _, heard = run(play, chooser, tmp_path, takebacks=1)
    assert games[0].moves == ["7g7f", "8c8d", "2g2f", "3c3d", "2f2e"]
    same(games[0], heard, tmp_path)


@pytest.mark.parametrize(("plies", "action"), [(1, "abort"), (3, "resign")])
def test_resign_leaves_the_games_in_play(plies: int, action: str, tmp_path: Path) -> None:
    async def play(server: LishogiServer, bot: clients.LishogiBot) -> None:
        await until(lambda: server.events)
        game = server.challenge(BLACK, scripted(*["3c3d"][: plies // 2]))
        await until(lambda: len(game.moves) == plies)
        bot.resign()
        await until(lambda: game.is_over)
        assert game.answers == [action]
        games.append(game)

    games: list[ServerGame] = []
    score, heard = run(play, Chooser("7g7f", "2g2f"), tmp_path, games=None)
    assert (score.losses, score.unfinished) == ((0, 1) if action == "abort" else (1, 0))
    same(games[0], heard, tmp_path)


# ---------------------------------------------------------------------------------------------- what breaks


@pytest.mark.parametrize("fault", ["answer", "request", "500", "429", "400"])
def test_a_move_whose_request_fails_is_played_once(fault: str, tmp_path: Path) -> None:
    async def play(server: LishogiServer, bot: clients.LishogiBot) -> None:
        await until(lambda: server.events)
        if fault == "answer":
            server.faults.lost_answers.append("/move/")
        elif fault == "request":
            server.faults.lost_requests.append("/move/")
        else:
            server.faults.refusals.append(("/move/", int(fault)))
        games.append(server.challenge(BLACK, random_opponent(4, 8)))

    games: list[ServerGame] = []
    chooser = Chooser()
    score, heard = run(play, chooser, tmp_path)
    assert score.wins == 1
    same(games[0], heard, tmp_path)
    assert len(chooser.asked) == len({position for position, _ in chooser.asked})  # it thinks about each once
    assert games[0].opened == (1 if fault == "429" else 2)


def test_after_429_nothing_is_asked_for_the_whole_pause(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(api_module, "RATE_LIMIT_S", 1.0)
    times: list[tuple[float, str]] = []

    async def play(server: LishogiServer, bot: clients.LishogiBot) -> None:
        loop = asyncio.get_running_loop()
        await until(lambda: server.events)
        server.faults.refusals.append(("/move/", 429))
        game = server.challenge(BLACK, random_opponent(4, 4))
        await until(lambda: server.kinds["429"])
        began, count = loop.time(), len(server.requests)
        game.cut()  # a new stream waits, too
        await until(lambda: len(server.requests) > count)
        times.append((loop.time() - began, server.requests[count][1]))

    score, _ = run(play)
    assert score.wins == 1
    assert times[0][0] >= 0.9


def test_a_stream_that_is_cut_again_and_again(tmp_path: Path) -> None:
    async def play(server: LishogiServer, bot: clients.LishogiBot) -> None:
        await until(lambda: server.events)
        game = server.challenge(BLACK, random_opponent(7, 20))
        for plies in range(2, 20, 3):
            await until(lambda plies=plies: len(game.moves) >= plies)
            server.cut()
        games.append(game)

    games: list[ServerGame] = []
    score, heard = run(play, out=tmp_path)
    assert score.wins == 1
    same(games[0], heard, tmp_path)


def test_a_silent_stream_is_opened_again(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(api_module, "SILENCE_S", 0.6)

    async def play(server: LishogiServer, bot: clients.LishogiBot) -> None:
        await until(lambda: server.events)
        game = server.challenge(BLACK, scripted("3c3d"))
        await until(lambda: len(game.moves) == 3)
        server.faults.is_silent = True
        game.play("8c8d")  # nobody hears of it, until the stream is opened again
        await until(lambda: len(game.moves) == 5)
        game.end("resign", BLACK)
        server.faults.is_silent = False
        games.append(game)

    games: list[ServerGame] = []
    score, heard = run(play, out=tmp_path)
    assert score.wins == 1
    assert [note for note in heard.notes if "says nothing" in note]
    same(games[0], heard, tmp_path)


def test_repeated_and_late_states_change_nothing(tmp_path: Path) -> None:
    async def play(server: LishogiServer, bot: clients.LishogiBot) -> None:
        await until(lambda: server.events)
        server.faults.repeats = True
        games.append(server.challenge(WHITE, random_opponent(8, 21)))

    games: list[ServerGame] = []
    score, heard = run(play, out=tmp_path)
    assert score.wins == 1
    assert heard.moves == list(enumerate(games[0].moves, 1))
    same(games[0], heard, tmp_path)


def test_a_stream_in_the_wrong_order(tmp_path: Path) -> None:
    async def play(server: LishogiServer, bot: clients.LishogiBot) -> None:
        await until(lambda: server.events)
        server.faults.is_disordered = True
        games.append(server.challenge(BLACK, random_opponent(6, 10)))

    games: list[ServerGame] = []
    score, heard = run(play, out=tmp_path)
    assert score.wins == 1
    same(games[0], heard, tmp_path)


def test_a_flood_of_challenges_does_not_disturb_a_game(tmp_path: Path) -> None:
    async def play(server: LishogiServer, bot: clients.LishogiBot) -> None:
        await until(lambda: server.events)
        game = server.challenge(BLACK, scripted("3c3d"))
        await until(lambda: len(game.moves) == 3)
        flood = [server.challenge(WHITE) for _ in range(400)]
        game.play("8c8d")
        await until(lambda: len(game.moves) == 5)
        await until(lambda: flood[0].id in server.declined)
        game.end("resign", BLACK)
        assert {*server.declined.values()} == {"later"}
        games.append(game)

    games: list[ServerGame] = []
    score, heard = run(play, out=tmp_path)
    assert score.games == 1
    same(games[0], heard, tmp_path)


NONSENSE = [
    b"{\n",
    b'{"type": "gameState", "mov',
    b"\xff\xfe\x00\n",
    b"[]\n",
    b"3\n",
    b'"gameFull"\n',
    b'{"type": 3}\n',
    b"[" * 50_000 + b"\n",
    b'{"type": "gameState", "moves": 3, "status": "started"}\n',
    b'{"type": "gameState", "moves": "7g7f 7g7f", "status": "started"}\n',
    b'{"type": "gameState", "moves": "2g2f 3c3d 7g7f 8c8d", "status": "started"}\n',
    b'{"type": "gameState", "moves": "", "status": "started", "btime": -5}\n',
    b'{"type": "gameFull", "id": "../../etc", "state": {}}\n',
    b"x" * 200_000 + b"\n",
    b"\n" * 4_500_000,
    b'{"type": "unheardOf", "x": 1}\n',
    b'{"type": "chatLine", "room": "player", "username": "x", "text": "hello"}\n',
]


@pytest.mark.parametrize("data", NONSENSE, ids=lambda data: repr(data[:24]))
def test_nonsense_in_a_stream_does_not_end_the_game(data: bytes, tmp_path: Path) -> None:
    async def play(server: LishogiServer, bot: clients.LishogiBot) -> None:
        await until(lambda: server.events)
        game = server.challenge(BLACK, scripted("3c3d"))
        await until(lambda: len(game.moves) == 3)
        server.send_event(data)
        game.send_raw(data)
        if not data.endswith(b"\n"):
            game.cut()
            server.cut()
        game.play("8c8d")
        await until(lambda: len(game.moves) == 5)
        game.end("resign", BLACK)
        games.append(game)

    games: list[ServerGame] = []
    score, heard = run(play, out=tmp_path)
    assert score.wins == 1
    same(games[0], heard, tmp_path)


@pytest.mark.parametrize(
    "event",
    [
        {"type": "gameStart", "game": {"gameId": "../../../etc/passwd"}},
        {"type": "gameStart", "game": {"gameId": "x/y"}},
        {"type": "gameStart", "game": {"gameId": "unknown1"}},
        {"type": "gameStart", "game": {"id": "boardonly", "compat": {"bot": False}}},
        {"type": "gameStart"},
        {"type": "challenge", "challenge": {"id": "a/../b"}},
        {"type": "challenge", "challenge": {"id": "okay1", "variant": 3, "rated": "?", "timeControl": []}},
        {"type": "challengeCanceled", "challenge": None},
        {"type": "gameFinish", "game": {"gameId": "none1"}},
        {"type": ""},
    ],
)
def test_strange_events_are_passed_over(event: dict, tmp_path: Path) -> None:
    async def play(server: LishogiServer, bot: clients.LishogiBot) -> None:
        await until(lambda: server.events)
        server.send_event(event)
        if "unknown1" in str(event):
            await until(lambda: any("unknown1" in path for _, path in server.requests))
            await until(lambda: not bot._games)
        games.append(server.challenge(BLACK, random_opponent(9, 4)))
        await until(lambda: games[0].is_over)
        assert not [path for _, path in server.requests if "etc" in path or "x/y" in path or "board" in path]

    games: list[ServerGame] = []
    score, _ = run(play, out=tmp_path)
    assert score.wins == 1
    assert {path.suffix for path in tmp_path.iterdir()} <= {".csa", ".kif", ""}


def test_a_game_that_the_server_tells_nonsense_of_is_given_up_alone(tmp_path: Path) -> None:
    async def play(server: LishogiServer, bot: clients.LishogiBot) -> None:
        await until(lambda: server.events)
        bad = server.challenge(BLACK, scripted("3c3d"))
        await until(lambda: len(bad.moves) == 3)
        bad.moves[1] = "9i9h+"  # from now on each stream begins so
        bad.cut()
        await until(lambda: not bot._games)
        bad.status = "aborted"
        good = server.challenge(BLACK, random_opponent(3, 4))
        await until(lambda: good.is_over)

    score, heard = run(play, Chooser("7g7f", "2g2f"), tmp_path, games=2)
    assert (score.wins, score.unfinished) == (1, 1)
    assert heard.games[0].record.usi_moves() == ["7g7f", "3c3d", "2g2f"]
    assert [note for note in heard.notes if "given up" in note and "not legal" in note]


def test_a_move_that_the_server_always_refuses_is_resigned_in_the_end() -> None:
    async def play(server: LishogiServer, bot: clients.LishogiBot) -> None:
        await until(lambda: server.events)
        server.faults.refusals.extend([("/move/", 400)] * 3)
        game = server.challenge(BLACK)
        await until(lambda: game.is_over)
        assert game.answers == ["resign"]

    score, _ = run(play)
    assert score.losses == 1


def test_a_declaration_that_the_server_does_not_see_is_played_on() -> None:
    declared = "+P+P+P+P+P+P3/+P+P+P+PK4/9/9/9/9/9/9/4k4 b 2R2B 1"

    async def play(server: LishogiServer, bot: clients.LishogiBot) -> None:
        await until(lambda: server.events)
        game = server.challenge(BLACK, lambda _: "resign", initialSfen=declared)
        await until(lambda: game.is_over)
        assert len(game.moves) == 1

    score, _ = run(play, Chooser("win"))
    assert score.wins == 1


# ---------------------------------------------------------------------------------------------- accounts, tokens


def attempt(server: LishogiServer, token: str = TOKEN, **more: object) -> clients.Score:
    async def main() -> clients.Score:
        async with server:
            settings = clients.BotSettings(**{"url": server.url, "games": 1, **more})
            bot = clients.LishogiBot(settings, clients.Secret(token), lambda: in_process(Chooser()))
            async with asyncio.timeout(PATIENCE_S):
                return await bot.run()

    return asyncio.run(main())


def test_a_refused_token_and_an_account_that_is_no_bot() -> None:
    with pytest.raises(clients.TokenRefusedError, match="No such token") as refused:
        attempt(LishogiServer(), "sunlight")
    assert "sunlight" not in str(refused.value)
    with pytest.raises(clients.NotABotError, match="ours is not a bot account; fukayomi lishogi upgrade"):
        attempt(LishogiServer(title=None))


def test_a_server_that_is_not_there() -> None:
    settings = clients.BotSettings(url="http://127.0.0.1:9", reconnects=2)
    heard = Heard()
    bot = clients.LishogiBot(settings, clients.Secret("s"), lambda: in_process(Chooser()), listener=heard)
    with pytest.raises(clients.ConnectionLostError, match=r"the connection to http://127\.0\.0\.1:9 failed"):
        asyncio.run(bot.run())
    assert len(heard.notes) == 2


def test_an_engine_that_does_not_start_is_an_error_before_anybody_is_asked() -> None:
    from fukayomi.arena.game.player import PlayerFailedError

    settings = clients.BotSettings(url="http://127.0.0.1:9")
    dead = [sys.executable, "-c", "pass"]
    bot = clients.LishogiBot(settings, clients.Secret("s"), lambda: clients.usi_player("own", dead))
    with pytest.raises(PlayerFailedError):
        asyncio.run(bot.run())


@pytest.mark.parametrize(
    ("url", "wrong"),
    [
        ("http://lishogi.org", "has no encryption"),
        ("lishogi.org", "is not an address"),
        ("https://lishogi.org/api", "is not an address"),
        ("https://user:pass@lishogi.org", "is not an address"),
    ],
)
def test_addresses(url: str, wrong: str) -> None:
    with pytest.raises(BotError, match=wrong):
        clients.BotSettings(url=url)
    assert clients.BotSettings(url="https://lishogi.org/").url == "https://lishogi.org"


@pytest.mark.parametrize(
    ("rules", "wrong"),
    [
        ({"min_main": 4000}, "min_main 4000 is more than max_main 3600"),
        ({"min_extra": 10, "max_extra": 5}, "min_extra 10 is more than max_extra 5"),
        ({"min_rating": 2000, "max_rating": 1000}, "min_rating 2000 is more than max_rating 1000"),
        ({"offer_draws": True}, "offer_draws needs draw_cp"),
    ],
)
def test_rules_that_no_game_can_meet(rules: dict, wrong: str) -> None:
    with pytest.raises(ValueError, match=wrong):
        clients.BotSettings(**rules)


def test_a_bot_that_leaves_does_not_wait_for_ever_for_a_server_that_has_gone(tmp_path: Path) -> None:
    heard = Heard()

    async def main() -> clients.Score:
        server = LishogiServer()
        await server.__aenter__()
        settings = clients.BotSettings(url=server.url, out=tmp_path)
        token = clients.Secret(TOKEN)
        bot = clients.LishogiBot(settings, token, lambda: in_process(Chooser()), listener=heard)
        running = asyncio.create_task(bot.run())
        await until(lambda: server.events)
        game = server.challenge(BLACK, scripted("3c3d"))
        await until(lambda: len(heard.moves) == 3)
        assert len(game.moves) == 3
        await server.__aexit__()
        bot.finish()
        async with asyncio.timeout(PATIENCE_S):
            return await running

    assert asyncio.run(main()).games == 0
    assert [note for note in heard.notes if note.endswith("game0001 is left to the next run")]
    with RecordFolder(tmp_path, goes_on=True) as folder:
        assert folder.left() == ["game0001"]


def test_games_that_an_earlier_run_left_go_on_or_get_their_end(tmp_path: Path) -> None:
    """A bot is cut off in two games; one ends meanwhile, one is forgotten by the server, one goes on."""
    heard = Heard()

    async def main() -> list[ServerGame]:
        async with LishogiServer() as server:
            settings = clients.BotSettings(url=server.url, at_once=3, games=3, out=tmp_path)

            def bot(listener: clients.OnlineListener) -> clients.LishogiBot:
                player = lambda: in_process(Chooser())  # noqa: E731
                return clients.LishogiBot(settings, clients.Secret(TOKEN), player, listener=listener)

            first = asyncio.create_task(bot(Heard()).run())
            await until(lambda: server.events)
            games = [server.challenge(BLACK, scripted("3c3d", "8c8d")) for _ in range(3)]
            await until(lambda: all(len(game.moves) == 5 for game in games))
            await until(lambda: len([*tmp_path.glob("*.part")]) == 3)
            first.cancel()
            await asyncio.wait((first,))
            games[0].end("resign", WHITE)
            del server.games[games[1].id]
            games[2].opponent = random_opponent(1, 12)
            games[2].take_turn()
            async with asyncio.timeout(PATIENCE_S):
                second = asyncio.create_task(bot(heard).run())
                await until(lambda: games[2].is_over)
                last = server.challenge(BLACK, random_opponent(1, 2))
                await until(lambda: last.is_over)
                score = await second
            assert (score.wins, score.losses, score.games) == (2, 1, 3)
            return games

    games = asyncio.run(main())
    ended, forgotten, continued = (read_record(tmp_path / f"{game.id}.csa") for game in games)
    assert (ended.usi_moves(), ended.result) == (games[0].moves, Result.WHITE_WIN)
    assert forgotten.termination is Termination.INTERRUPTED
    assert forgotten.usi_moves() == games[1].moves[: len(forgotten)]
    assert len(forgotten) >= 4
    assert (continued.usi_moves(), continued.result) == (games[2].moves, Result.BLACK_WIN)
    assert [move.score_cp for move in continued.moves[:4:2]] == [100, 100]  # known from the first run
    assert len(list(tmp_path.glob("*.csa"))) == 4
    assert not list(tmp_path.glob("*.part"))
