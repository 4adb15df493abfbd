"""``fukayomi lishogi play`` and ``upgrade`` as programs: what they print, their exit codes, Ctrl-C, secrets."""

import json
import os
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import command_runs
import pytest
from command_app import app
from lishogi_processes import ServerThread
from lishogi_server import TOKEN, LishogiServer, ServerGame, random_opponent
from patience import PATIENCE_S, until
from places import HELPERS
from typer.testing import CliRunner, Result

from fukayomi import BLACK, read_record

ENGINE = shlex.join([sys.executable, str(HELPERS / "random_engine.py")])
Start = Callable[..., "subprocess.Popen[str]"]


@pytest.fixture
def start() -> Iterator[Start]:
    """Starts ``fukayomi lishogi ARGUMENTS``; what still runs at the end is killed."""
    running: list[subprocess.Popen[str]] = []

    def begin(*arguments: object, token: str | None = TOKEN) -> "subprocess.Popen[str]":
        environment = {name: text for name, text in os.environ.items() if name != "FUKAYOMI_LISHOGI_TOKEN"}
        if token is not None:
            environment["FUKAYOMI_LISHOGI_TOKEN"] = token
        command = [sys.executable, "-m", "fukayomi", "lishogi", *map(str, arguments)]
        pipe = subprocess.PIPE
        running.append(subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe, text=True, env=environment))
        return running[-1]

    yield begin
    for process in running:
        process.kill()
        process.communicate()


@pytest.fixture
def site() -> Iterator[ServerThread]:
    with ServerThread(LishogiServer()) as thread:
        yield thread


def challenge(site: ServerThread, plies: int) -> ServerGame:
    """Challenge the bot when it is there."""
    until(lambda: site.server.events)
    return site.call(lambda: site.server.challenge(BLACK, random_opponent(1, plies), (60, 1, 0)))


def play(site: ServerThread, *more: object, engine: str = ENGINE) -> list[object]:
    return ["play", "--url", site.server.url, "--engine", engine, *more]


def events(text: str) -> list[dict[str, object]]:
    return [json.loads(line) for line in text.splitlines()]


def test_a_game_of_the_program(start: Start, site: ServerThread, tmp_path: Path) -> None:
    file = tmp_path / "token"
    file.write_text(f"{TOKEN}\n", encoding="utf-8")
    file.chmod(0o600)
    out, log = tmp_path / "games", tmp_path / "log"
    bot = start(*play(site, "--games", 1, "--out", out, "--log", log, "--token-file", file, "--json"), token=None)
    game = challenge(site, 9)
    if sys.platform.startswith("linux"):
        assert TOKEN not in Path(f"/proc/{bot.pid}/cmdline").read_text(encoding="utf-8")
    printed, said = bot.communicate(timeout=PATIENCE_S)
    assert bot.returncode == 0, said
    found = events(printed)
    assert [event["event"] for event in found if event["event"] not in ("moved", "note")] == [
        "waiting", "started", "ended",
    ]  # fmt: skip
    moved = [event["move"] for event in found if event["event"] == "moved"]
    (ended,) = (event for event in found if event["event"] == "ended")
    assert (ended["outcome"], ended["file"], moved) == ("win", str(out / f"{game.id}.csa"), game.moves)
    assert read_record(out / f"{game.id}.csa").usi_moves() == game.moves
    protocol = log.read_text(encoding="utf-8")
    assert f" lishogi > POST /api/challenge/{game.id}/accept\n" in protocol
    assert " usi > usinewgame\n" in protocol
    assert TOKEN not in printed + said + protocol
    code, rated, _ = command_runs.run("rate", out)
    assert (code, "ours" in rated, "Somebody" in rated) == (0, True, True)


def test_the_first_ctrl_c_leaves_after_the_game_and_the_second_resigns(start: Start, site: ServerThread) -> None:
    slow = f"{ENGINE} slow=0.2"
    bot = start(*play(site, "--json", engine=slow))
    game = challenge(site, 8)
    until(lambda: game.moves)
    bot.send_signal(signal.SIGTERM)
    _, said = bot.communicate(timeout=PATIENCE_S)
    assert (bot.returncode, game.status, len(game.moves)) == (0, "resign", 9)
    assert "leaving after the games in play; Ctrl-C again resigns" in said
    again = start(*play(site, "--json", engine=slow))
    game = challenge(site, 200)
    until(lambda: len(game.moves) > 2)
    again.send_signal(signal.SIGINT)
    time.sleep(1.2)  # two signals within a second are one press
    again.send_signal(signal.SIGINT)
    printed, _ = again.communicate(timeout=PATIENCE_S)
    assert (again.returncode, game.answers, game.winner) == (130, ["resign"], "gote")
    assert [event["outcome"] for event in events(printed) if event["event"] == "ended"] == ["loss"]


def test_errors_are_one_line_and_name_the_remedy(
    site: ServerThread, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "none"
    for arguments, token, said, code in (
        (play(site), None, "set FUKAYOMI_LISHOGI_TOKEN", 1),
        (play(site, "--token-file", file), None, "none: No such file", 1),
        (play(site), "wrong_one", "the server refuses /api/account (401): No such token: *****", 1),
        (["play", "--url", "http://lishogi.org"], "x", "--url", 2),
        (["play", "--url", "http://127.0.0.1:9", "--reconnects", 0, "--engine", ENGINE], "x", "127.0.0.1:9 failed", 1),
        (play(site, engine="no-such-engine"), TOKEN, "cannot start no-such-engine", 1),
        (play(site, "--option", "USI_Nothing=1"), TOKEN, "USI_Nothing", 1),
        (play(site, "--kind", "friendly"), TOKEN, "friendly", 2),
    ):
        monkeypatch.delenv("FUKAYOMI_LISHOGI_TOKEN", raising=False)
        if token is not None:
            monkeypatch.setenv("FUKAYOMI_LISHOGI_TOKEN", token)
        found, _, error = command_runs.run("lishogi", *arguments)
        assert said in error
        assert found == code, error


def test_an_account_becomes_a_bot_when_the_user_says_so(site: ServerThread, monkeypatch: pytest.MonkeyPatch) -> None:
    def upgrade(*words: str, typed: str = "") -> Result:
        monkeypatch.setenv("FUKAYOMI_LISHOGI_TOKEN", TOKEN)
        return CliRunner().invoke(
            app, ["lishogi", "upgrade", "--url", site.server.url, *words], input=typed, catch_exceptions=False
        )

    site.server.title = None
    monkeypatch.setenv("FUKAYOMI_LISHOGI_TOKEN", TOKEN)
    refused = command_runs.run("lishogi", *play(site))[2]
    assert "ours is not a bot account; fukayomi lishogi upgrade makes it one" in refused
    asked = upgrade(typed="n\n")
    assert "Make ours on" in asked.stdout
    assert (asked.exit_code, site.server.title) == (1, None)
    assert (upgrade().exit_code, site.server.title) == (1, None), "nobody answers"
    site.server.played_games = 3
    played = upgrade("--yes")
    assert "ours has played 3 games; a bot needs a new account" in played.stderr
    assert (played.exit_code, site.server.title) == (1, None)
    site.server.played_games = 0
    agreed = upgrade(typed="y\n")
    assert (agreed.exit_code, site.server.title) == (0, "BOT")
    assert "ours is a bot account now" in agreed.stdout
    again = upgrade("--yes")
    assert (again.stdout, again.exit_code) == ("ours is a bot account\n", 0)
