"""The CSA client against servers that follow a script: every end of a game, engines that fail, servers that do."""

import asyncio
import os
import shutil
import sys
from pathlib import Path

import pytest
from csa_server import Script, Scripted, scripted_server
from places import HELPERS

import fukayomi.clients.connecting as connecting
from fukayomi import BLACK, WHITE, Move, Position, Record, Result, Termination, clients, read_record
from fukayomi.arena.game.player import InProcessPlayer, MovePlayer
from fukayomi.arena.game.rules import EngineSettings
from fukayomi.arena.game.time_control import TimeControl
from fukayomi.clients.csa import client as client_module
from fukayomi.clients.csa.clock import CsaTime
from fukayomi.clients.csa.connection import connect
from fukayomi.clients.csa.inbox import Inbox
from fukayomi.shogi.record import RecordedMove
from fukayomi.usi.client import SearchAnswer
from fukayomi.usi.text import BestMove, Go, Info, UsiScore

ENGINE = [sys.executable, str(HELPERS / "random_engine.py")]
PONDER = [sys.executable, str(HELPERS / "ponder_engine.py")]


@pytest.fixture(autouse=True)
def _quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connecting, "FIRST_PAUSE_S", 0.01)


class Heard(clients.OnlineListener):
    """Keeps what it hears."""

    def __init__(self) -> None:
        self.games: list[clients.OnlineGame] = []
        self.notes: list[str] = []
        self.moves: list[tuple[int, dict[str, int]]] = []

    def note(self, text: str) -> None:
        self.notes.append(text)

    def moved(self, game: clients.OnlineGame, ply: int, played: RecordedMove, left_ms: dict) -> None:
        self.moves.append((ply, {"black": left_ms[BLACK], "white": left_ms[WHITE]}))

    def game_ended(self, game: clients.OnlineGame) -> None:
        self.games.append(game)


class Chooser(MovePlayer):
    """Plays the first legal move, or what it is told."""

    def __init__(self, *answers: str) -> None:
        self.answers = list(answers)
        self.asked: list[Go] = []

    def choose(self, position: Position, go: Go) -> Move | SearchAnswer:
        self.asked.append(go)
        move = self.answers.pop(0) if self.answers else position.legal_moves[0].usi()
        info = Info(score=UsiScore(cp=100), pv=(move, "3c3d"))
        return SearchAnswer(BestMove(move), infos=(info,))


def in_process(chooser: MovePlayer) -> InProcessPlayer:
    return InProcessPlayer(chooser, EngineSettings(name="own", identity="own"), TimeControl(movetime_ms=1))


def play(
    *scripts: Script, player: object = None, games: int = 1, out: Path | None = None, log: object = None,
    heard: Heard | None = None, **more: object,
):  # fmt: skip
    """Play against scripts; the score and what was heard."""
    heard = heard or Heard()

    async def run() -> clients.Score:
        async with scripted_server(*scripts) as port:
            settings = clients.PlaySettings(
                host="127.0.0.1", port=port, name="own", game="test-60-1F", games=games, out=out, **more
            )
            own = player or in_process(Chooser("7g7f", "2g2f", "resign"))
            client = clients.CsaClient(settings, clients.Secret("moonlight"), own, listener=heard, log=log)
            async with asyncio.timeout(60):
                return await client.run()

    return asyncio.run(run()), heard


def opening(*last: str, color=BLACK) -> Script:
    """Login, a game of two moves, and these last lines."""

    async def script(server: Scripted) -> None:
        await server.login()
        await server.propose(color)
        await server.echo(3)
        server.send("-3334FU,T5")
        await server.line()
        server.send(*last)

    return script


@pytest.mark.parametrize(
    ("lines", "termination", "result"),
    [
        (("#RESIGN", "#WIN"), Termination.RESIGN, Result.BLACK_WIN),
        (("#RESIGN", "#LOSE"), Termination.RESIGN, Result.WHITE_WIN),
        (("#TIME_UP", "#LOSE"), Termination.TIME_UP, Result.WHITE_WIN),
        (("#ILLEGAL_MOVE", "#LOSE"), Termination.ILLEGAL_MOVE, Result.WHITE_WIN),
        (("#ILLEGAL_ACTION", "#WIN"), Termination.PROTOCOL, Result.BLACK_WIN),
        (("#SENNICHITE", "#DRAW"), Termination.REPETITION, Result.DRAW),
        (("#OUTE_SENNICHITE", "#WIN"), Termination.PERPETUAL_CHECK, Result.BLACK_WIN),
        (("#JISHOGI", "#LOSE"), Termination.DECLARATION, Result.WHITE_WIN),
        (("#JISHOGI", "#DRAW"), Termination.IMPASSE, Result.DRAW),
        (("#MAX_MOVES", "#CENSORED"), Termination.MAX_PLIES, Result.DRAW),
        (("#CENSORED",), Termination.OTHER, Result.UNKNOWN),
        (("#CHUDAN",), Termination.INTERRUPTED, Result.UNKNOWN),
        (("%TORYO,T7", "#RESIGN", "#WIN"), Termination.RESIGN, Result.BLACK_WIN),
    ],
)
def test_every_end_of_a_game(lines: tuple[str, ...], termination: Termination, result: Result, tmp_path: Path) -> None:
    score, heard = play(opening(*lines), out=tmp_path)
    (game,) = heard.games
    assert (game.record.termination, game.record.result) == (termination, result)
    assert score.games == 1
    assert game.path is not None
    saved = read_record(game.path)
    assert (saved.termination, saved.result) == (termination, result)
    assert [(each.move.usi(), each.time_ms) for each in saved.moves] == [("7g7f", 3000), ("3c3d", 5000)]
    assert (saved.moves[0].score_cp, saved.moves[0].pv) == (100, "-3334FU")
    assert (saved.black_name, saved.white_name, saved.event) == ("first", "second", "game1")
    assert read_record(game.path.with_suffix(".kif")).usi_moves() == ["7g7f", "3c3d"]
    assert b"moonlight" not in b"".join(path.read_bytes() for path in tmp_path.iterdir())


@pytest.mark.skipif(os.name == "nt", reason="the folder is locked, and Windows removes no open file")
def test_a_game_whose_file_cannot_be_begun_is_saved_at_its_end(tmp_path: Path) -> None:
    out = tmp_path / "games"

    async def script(server: Scripted) -> None:
        await server.login()
        shutil.rmtree(out)
        await server.propose()
        await server.echo()
        out.mkdir()
        server.send("#RESIGN", "#WIN")

    _, heard = play(script, out=out)
    assert [note for note in heard.notes if "game1 is not saved" in note]
    assert heard.games[0].path == out / "game1.csa"
    saved = read_record(out / "game1.csa")
    assert (saved.usi_moves(), saved.result) == (["7g7f"], Result.BLACK_WIN)
    assert sorted(path.name for path in out.iterdir()) == ["game1.csa", "game1.kif"]


def test_the_servers_times_are_the_clock_and_what_the_engine_is_told() -> None:
    chooser = Chooser("7g7f", "2g2f")
    _, heard = play(opening("#TIME_UP", "#LOSE"), player=in_process(chooser), margin_ms=200)
    assert heard.moves == [(1, {"black": 58_000, "white": 60_000}), (2, {"black": 58_000, "white": 56_000})]
    assert [(go.btime_ms, go.wtime_ms, go.binc_ms) for go in chooser.asked] == [
        (59_800, 60_000, 1000), (57_800, 56_000, 1000),
    ]  # fmt: skip


def test_the_login_and_the_comment_of_a_move() -> None:
    said: list[str] = []

    async def script(server: Scripted) -> None:
        said.append(await server.login())
        said.append(await server.propose())
        said.append(await server.echo())
        server.send("#RESIGN", "#WIN")

    play(script)
    assert said == ["LOGIN own test-60-1F,moonlight", "AGREE game1", "+7776FU,'* 100 -3334FU"]


def test_a_password_that_the_server_repeats_is_not_in_the_log() -> None:
    async def script(server: Scripted) -> None:
        server.send(f"##[ERROR] {await server.line()}", "LOGIN:own OK")
        await server.propose()
        await server.echo()
        server.send("#RESIGN", "#WIN")

    log: list[str] = []
    assert play(script, log=log.append)[0].wins == 1
    assert log[:2] == ["> LOGIN own test-60-1F,*****", "< ##[ERROR] LOGIN own test-60-1F,*****"]
    assert "moonlight" not in "".join(log)


def test_a_log_that_fails_ends_the_run_with_its_error() -> None:
    def log(line: str) -> None:
        if line == "< LOGIN:own OK":
            raise OSError("the disk is full")

    async def script(server: Scripted) -> None:
        await server.login()

    with pytest.raises(OSError, match="the disk is full"):
        play(script, log=log)


def test_without_comments_and_as_white_scores_are_blacks() -> None:
    said: list[str] = []

    async def script(server: Scripted) -> None:
        await server.login()
        await server.propose(WHITE)
        server.send("+7776FU,T0")
        said.append(await server.echo())
        server.send("#RESIGN", "#WIN")

    play(script, player=in_process(Chooser("3c3d")))
    play(script, player=in_process(Chooser("3c3d")), comments=False)
    assert said == ["-3334FU,'* -100", "-3334FU"]


def test_games_follow_each_other_on_one_connection_and_over_several() -> None:
    async def two(server: Scripted) -> None:
        await server.login()
        for _ in range(2):
            await server.propose()
            await server.echo()
            server.send("#RESIGN", "#WIN")

    score, heard = play(two, opening("#RESIGN", "#LOSE"), games=3, player=in_process(Chooser("7g7f", "7g7f", "7g7f")))
    assert (score.wins, score.losses, score.games) == (2, 1, 3)
    assert not [note for note in heard.notes if "again" in note]  # floodgate closes the connection after each game


def test_moves_already_played_are_the_games() -> None:
    moves = [RecordedMove(Move.from_usi("7g7f"), time_ms=4000), RecordedMove(Move.from_usi("3c3d"), time_ms=9000)]
    chooser = Chooser("2g2f")

    async def script(server: Scripted) -> None:
        await server.login()
        await server.propose(record=Record(moves=list(moves)))
        await server.echo(2)
        server.send("#RESIGN", "#WIN")

    _, heard = play(script, player=in_process(chooser), margin_ms=0)
    assert heard.games[0].record.usi_moves() == ["7g7f", "3c3d", "2g2f"]
    assert (chooser.asked[0].btime_ms, chooser.asked[0].wtime_ms) == (57_000, 52_000)


def test_a_declaration_and_a_resignation() -> None:
    said: list[str] = []

    def game(color, record: Record, *last: str) -> Script:
        async def script(server: Scripted) -> None:
            await server.login()
            await server.propose(color, record=record)
            said.append(await server.line())
            server.send(f"{said[-1]},T1", *last)

        return script

    declared = Record(initial_sfen="+P+P+P+P+P+P3/+P+P+P+PK4/9/9/9/9/9/9/4k4 b 2R2B 1")
    play(game(BLACK, declared, "#JISHOGI", "#WIN"), player=in_process(Chooser("win")))
    play(game(BLACK, Record(), "#RESIGN", "#LOSE"), player=in_process(Chooser("resign")))
    assert said == ["%KACHI", "%TORYO"]


def test_who_is_mated_resigns_without_asking_the_engine() -> None:
    chooser = Chooser()

    async def script(server: Scripted) -> None:
        await server.login()
        await server.propose(WHITE, record=Record(initial_sfen="4k4/9/4P4/9/9/9/9/9/4K4 b G 1"))
        server.send("+0052KI,T0")
        assert await server.line() == "%TORYO"
        server.send("%TORYO,T0", "#RESIGN", "#LOSE")

    score, _ = play(script, player=in_process(chooser))
    assert (score.losses, chooser.asked) == (1, [])


def test_an_engine_that_dies_is_started_again_and_plays_on() -> None:
    async def script(server: Scripted) -> None:
        await server.login()
        await server.propose()
        assert (await server.echo()).startswith("+")
        server.send("-3334FU,T0")
        assert (await server.echo()).startswith("+")
        server.send("#RESIGN", "#WIN")

    player = clients.usi_player("own", [*ENGINE, "dies=2"])
    score, heard = play(script, player=player)
    assert score.wins == 1
    assert [note for note in heard.notes if "attempt 1 of 3" in note]


def test_an_engine_that_always_fails_resigns() -> None:
    async def script(server: Scripted) -> None:
        await server.login()
        await server.propose()
        assert await server.echo() == "%TORYO"
        server.send("#RESIGN", "#LOSE")

    score, heard = play(script, player=in_process(Chooser("1a1b", "hello", "win")))
    assert score.losses == 1
    assert sum("attempt" in note for note in heard.notes) == 3


def test_an_engine_that_does_not_start_is_an_error_before_the_login() -> None:
    with pytest.raises(fukayomi_player_failed()):
        play(player=clients.usi_player("own", [sys.executable, "-c", "pass"]))


def fukayomi_player_failed() -> type[Exception]:
    from fukayomi.arena.game.player import PlayerFailedError

    return PlayerFailedError


def test_a_refused_login_is_an_error_at_first_and_tried_again_later() -> None:
    async def refuse(server: Scripted) -> None:
        await server.line()
        server.send("LOGIN:incorrect")

    with pytest.raises(clients.CsaLoginError, match="refuses the name own or the password"):
        play(refuse)
    player = in_process(Chooser("7g7f", "2g2f", "7g7f", "2g2f"))
    score, heard = play(opening("#RESIGN", "#WIN"), refuse, opening("#RESIGN", "#WIN"), games=2, player=player)
    assert score.wins == 2
    assert [note for note in heard.notes if "refuses" in note]


def test_the_user_does_not_wait_for_a_server_that_does_not_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    settings = clients.PlaySettings(host="127.0.0.1", port=4081, name="own")

    async def run() -> clients.Score:
        begun = asyncio.Event()

        async def connect(*_: object) -> None:
            begun.set()
            await asyncio.Event().wait()

        monkeypatch.setattr(client_module, "connect", connect)
        client = clients.CsaClient(settings, clients.Secret("moonlight"), in_process(Chooser()))
        playing = asyncio.create_task(client.run())
        await begun.wait()
        client.finish()
        async with asyncio.timeout(60):
            return await playing

    assert asyncio.run(run()).games == 0


def test_unwanted_games_are_rejected() -> None:
    async def script(server: Scripted) -> None:
        await server.login()
        assert await server.propose(names=("own", "cheater")) == "REJECT game1"
        server.send("REJECT:game1 by own")
        assert await server.propose() == "AGREE game1"
        await server.echo()
        server.send("#RESIGN", "#WIN")

    score, heard = play(script, avoid=("cheater",))
    assert score.games == 1
    assert "game1 is rejected: cheater is avoided" in heard.notes


async def _closes(server: Scripted) -> None:
    await server.login()
    await server.propose()
    await server.echo()


async def _illegal(server: Scripted) -> None:
    await _closes(server)
    server.send("-3333FU,T1")
    await server.line()


async def _endless(server: Scripted) -> None:
    await _closes(server)
    server.send_raw(b"-" * 10_000)
    await server.line()


def test_a_server_that_ends_connections_after_the_login_is_not_asked_for_ever() -> None:
    async def script(server: Scripted) -> None:
        await server.login()

    heard = Heard()
    with pytest.raises(clients.ConnectionLostError, match="closed the connection"):
        play(script, script, script, reconnects=2, heard=heard)
    assert len(heard.notes) == 2


@pytest.mark.parametrize("script", [_closes, _illegal, _endless])
def test_a_connection_that_breaks_costs_its_game_alone(script: Script, tmp_path: Path) -> None:
    score, heard = play(
        script, opening("#RESIGN", "#WIN"), games=2, out=tmp_path, player=in_process(Chooser("7g7f", "7g7f"))
    )
    assert (score.unfinished, score.wins) == (1, 1)
    first = heard.games[0].record
    assert (first.termination, first.result, len(first)) == (Termination.INTERRUPTED, Result.UNKNOWN, 1)
    assert heard.games[0].path is not None
    assert read_record(heard.games[0].path).usi_moves() == ["7g7f"]


@pytest.mark.parametrize("lines", [("Your_Turn:*",), ("x" * 5000,), ("BEGIN Game_Summary",), ("nonsense",)])
def test_a_wrong_summary_ends_the_connection(lines: tuple[str, ...]) -> None:
    async def script(server: Scripted) -> None:
        await server.login()
        server.send("BEGIN Game_Summary", *lines, "END Game_Summary")
        assert await server.line() == ""

    score, heard = play(script, opening("#RESIGN", "#WIN"))
    assert score.wins == 1
    assert [note for note in heard.notes if "connecting again" in note]


def test_a_server_that_is_not_there() -> None:
    settings = clients.PlaySettings(host="127.0.0.1", port=9, name="own", reconnects=2)
    heard = Heard()
    client = clients.CsaClient(settings, clients.Secret("s"), in_process(Chooser()), listener=heard)
    with pytest.raises(clients.ConnectionLostError, match=r"cannot connect to 127\.0\.0\.1:9"):
        asyncio.run(client.run())
    assert len(heard.notes) == 2


def test_finish_leaves_after_the_game_and_resign_ends_it() -> None:
    async def run(step: str) -> tuple[clients.Score, list[str]]:
        said: list[str] = []

        async def script(server: Scripted) -> None:
            await server.login()
            await server.propose(WHITE)
            getattr(client, step)()
            if step == "finish":
                server.send("+7776FU,T0")
                said.append(await server.echo())
                server.send("#RESIGN", "#WIN")
            else:
                said.append(await server.line())
                server.send("#RESIGN", "#LOSE")
            assert await server.line() == ""

        async with scripted_server(script) as port:
            settings = clients.PlaySettings(host="127.0.0.1", port=port, name="own", comments=False)
            client = clients.CsaClient(settings, clients.Secret("s"), in_process(Chooser("3c3d")))
            async with asyncio.timeout(60):
                return await client.run(), said

    score, said = asyncio.run(run("finish"))
    assert (score.wins, score.games, said) == (1, 1, ["-3334FU"])
    score, said = asyncio.run(run("resign"))
    assert (score.losses, said) == (1, ["%TORYO"])


def test_a_game_that_is_cancelled_is_saved_by_the_next_run(tmp_path: Path) -> None:
    async def run() -> None:
        reached = asyncio.Event()

        async def script(server: Scripted) -> None:
            await server.login()
            await server.propose()
            await server.echo()
            server.send("-3334FU,T1")
            await server.line()
            reached.set()
            assert await server.line() == ""

        async with scripted_server(script) as port:
            settings = clients.PlaySettings(host="127.0.0.1", port=port, name="own", out=tmp_path)
            playing = asyncio.create_task(clients.CsaClient(settings, clients.Secret("x"), in_process(Chooser())).run())
            await reached.wait()
            playing.cancel()
            await asyncio.wait((playing,))
            assert playing.cancelled()

    asyncio.run(run())
    assert [path.name for path in tmp_path.iterdir() if path.name != "lock"] == ["game1.part"]
    play(opening("#RESIGN", "#WIN"), out=tmp_path)
    saved = read_record(tmp_path / "game1.csa")
    assert (saved.usi_moves()[1:], saved.termination) == (["3c3d"], Termination.INTERRUPTED)


def test_the_margin_grows_with_the_delay() -> None:
    chooser = Chooser("7g7f", "2g2f")

    async def script(server: Scripted) -> None:
        await server.login()
        await server.propose()
        line = await server.line()
        await asyncio.sleep(0.4)
        server.send(f"{line.split(',')[0]},T0", "-3334FU,T0")
        await server.line()
        server.send("#RESIGN", "#WIN")

    play(script, player=in_process(chooser), margin_ms=10)
    assert chooser.asked[0].btime_ms == 59_990
    second = chooser.asked[1].btime_ms
    assert second is not None
    assert second <= 61_000 - 600


def test_ponder() -> None:
    async def script(server: Scripted) -> None:
        await server.login()
        await server.propose()
        for answer in ("-3334FU,T1", "-8384FU,T1", "#RESIGN"):  # the second is not what it expects
            await server.echo()
            server.send(answer)
        server.send("#WIN")

    log: list[str] = []
    player = clients.usi_player("own", [*PONDER, "plain", "7g7f,3c3d,2g2f,8c8d,2f2e", "3=4a3b"], log=log.append)
    score, _ = play(script, player=player)
    assert score.wins == 1
    said = [line.split()[1] for line in log if line.startswith(("> go ponder", "> ponderhit", "> stop"))]
    assert said[:3] == ["go", "ponderhit", "go"]
    assert "stop" in said


def test_secrets(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "password"
    path.write_text("moonlight\nmore\n", encoding="utf-8")
    path.chmod(0o644)
    heard = Heard()
    assert clients.read_secret(path, "X", "the password", "--password-file", heard).reveal() == "moonlight"
    assert os.name != "posix" or heard.notes == [f"other users can read the password in {path}; chmod 600 {path}"]
    monkeypatch.setenv("X", "star")
    clients.read_secret(path, "X", "the password", "--password-file")
    assert "X" not in os.environ
    monkeypatch.setenv("X", "sun")
    secret = clients.read_secret(None, "X", "the password", "--password-file")
    assert (secret.reveal(), repr(secret), "X" in os.environ) == ("sun", "Secret(*****)", False)
    with pytest.raises(clients.SecretError, match="give --password-file FILE, or set X"):
        clients.read_secret(None, "X", "the password", "--password-file")
    path.write_text("two words\n", encoding="utf-8")
    with pytest.raises(clients.SecretError) as refused:
        clients.read_secret(path, "X", "the password", "--password-file")
    assert "two" not in str(refused.value)


def test_unlimited_and_tiny_times() -> None:
    def script(time: CsaTime) -> Script:
        async def run(server: Scripted) -> None:
            await server.login()
            await server.propose(time=time)
            await server.echo()
            server.send("#RESIGN", "#WIN")

        return run

    for time in (CsaTime(), CsaTime(1000, unit_ms=1), CsaTime(0, 100, unit_ms=100)):
        score, _ = play(script(time), player=in_process(Chooser("7g7f")))
        assert score.wins == 1


class Failing(Chooser):
    """Breaks down when the first game begins."""

    games = 0

    def new_game(self) -> None:
        self.games += 1
        if self.games == 2:  # the first call is that before the login
            raise ValueError("I am tired")


def test_an_engine_that_dies_between_games_is_started_again() -> None:
    score, heard = play(opening("#RESIGN", "#WIN"), player=in_process(Failing("7g7f", "2g2f")))
    assert score.wins == 1
    assert [note for note in heard.notes if "I am tired" in note]


def test_an_empty_line_keeps_a_silent_connection_open() -> None:
    async def script(server: Scripted) -> None:
        assert await server.line() == "LOGOUT"
        assert server.empty >= 2
        server.send("LOGOUT:completed")

    async def run() -> None:
        async with scripted_server(script) as port, Inbox(await connect("127.0.0.1", port, 10), 0.05) as inbox:
            await asyncio.sleep(0.4)
            inbox.connection.send("LOGOUT")
            item = await inbox.take(10)
            assert item is not None
            assert item[0] == "LOGOUT:completed"

    asyncio.run(run())


def test_a_server_that_is_silent_is_given_up() -> None:
    async def script(server: Scripted) -> None:
        await server.line()

    async def run() -> None:
        async with scripted_server(script) as port, Inbox(await connect("127.0.0.1", port, 10), 60) as inbox:
            with pytest.raises(clients.ConnectionLostError, match="says nothing"):
                await inbox.take(0.1)
            inbox.wake()
            assert await inbox.take(10) is None

    asyncio.run(run())
