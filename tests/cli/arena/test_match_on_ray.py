"""``fukayomi match --ray``: the same match, its games played by processes of a Ray cluster.

Every command runs in a process of its own, as ray warns of much and stays in the process that imported it.
"""

import json
import os
import shlex
import signal
import socket
import subprocess
import sys
import time
import uuid
from pathlib import Path

import pytest
from places import HELPERS
from ray_cluster import ENVIRONMENT, START_S, Cluster, cluster, needs_ray, processes, wait_until
from test_match import OPENINGS, assert_whole, engine, run, wait_for_games

from fukayomi.arena.results.sources import read_games

__all__ = ["cluster"]  # the fixture

HOSTILE = HELPERS / "hostile_engine.py"


@pytest.fixture
def basics(tmp_path: Path) -> list[str]:
    path = tmp_path / "openings.sfen"
    path.write_text(OPENINGS, encoding="utf-8")
    return ["--clock", "nodes=1", "--max-plies", "12", "--openings", str(path), "--out", str(tmp_path / "out")]


def start(*arguments: object) -> "subprocess.Popen[str]":
    command = [sys.executable, "-m", "fukayomi", "match", *map(str, arguments)]
    return subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True, env=ENVIRONMENT
    )


def finish(*arguments: object) -> tuple[int, str, str]:
    with start(*arguments) as process:
        printed, said = process.communicate(timeout=START_S)
        return process.returncode, printed, said


def engines_of(match: "subprocess.Popen[str]", mark: str) -> list[int]:
    """The match has the mark of its engines in its command line, too."""
    return [pid for pid in processes(mark) if pid != match.pid]


def parent(pid: int) -> int:
    text = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8")
    return int(text.rpartition(")")[2].split()[1])


def hostile(name: str, mode: str, mark: str) -> list[str]:
    command = [sys.executable, "-S", "-E", str(HOSTILE), mode, "7g7f", mark]
    return ["--engine", f"{name}={shlex.join(command)}"]


# ------------------------------------------------------------------------------------------------------ the same match


@needs_ray
def test_a_match_moves_to_a_cluster_and_back(tmp_path: Path, basics: list[str], cluster: Cluster) -> None:
    out = tmp_path / "out"
    three = [*engine("a"), *engine("b", "moves=2"), *engine("c"), *basics]
    assert run(*three, "--games", 2)[0] == 0
    before = assert_whole(out, 2)
    code, printed, said = finish(*three, "--games", 10, "--ray", cluster.address, "--json", "--log")
    assert (code, "Traceback" in said) == (0, False), said
    assert "2 games have been played, 8 are left" in said
    found = json.loads(printed)
    assert (found["games"], found["unplayed"], found["failures"]) == (10, 0, [])
    played = assert_whole(out, 10)
    assert played[:2] == before
    assert {path.name for path in (out / "logs").iterdir()} == {f"{number:06}.log" for number in range(3, 11)}
    log = (out / "logs" / "000010.log").read_text(encoding="utf-8")
    for name in {played[9].black, played[9].white}:
        assert f" {name} > usinewgame\n" in log
        assert f" {name} < bestmove " in log
    assert run(*three, "--games", 12)[0] == 0
    assert assert_whole(out, 12)[:10] == played


@needs_ray
def test_an_engine_that_dies_loses_under_its_own_name(tmp_path: Path, basics: list[str], cluster: Cluster) -> None:
    """And the cluster is reached from outside."""
    arguments = [*engine("a"), *engine("mortal", "dies=12"), *engine("c"), "--games", 18, *basics]
    code, printed, said = finish(*arguments, "--ray", cluster.address, "--concurrency", 1, "--json")
    assert code == 1, said
    found = json.loads(printed)
    (failure,) = found["failures"]
    assert (failure["engine"], failure["kind"]) == ("mortal", "crash")
    assert "I am tired" in failure["detail"]
    assert found["left_out"] == ["mortal"]
    assert "games were left out because mortal failed" in said
    both = [game for game in read_games([tmp_path / "out"]) if {game.black, game.white} == {"a", "c"}]
    assert len(both) == 6, "those who can play do"


# -------------------------------------------------------------------------------------------------- how it may be ended


@needs_ray
def test_what_a_lost_worker_played_is_played_again(tmp_path: Path, basics: list[str], cluster: Cluster) -> None:
    mark = f"mark={uuid.uuid4().hex}"
    go_on = tmp_path / "go on"
    arguments = [*engine("a", f"waits={go_on}", mark), *engine("b", mark), "--games", 12, *basics, "--json"]
    with start(*arguments, "--ray", cluster.address) as process:
        wait_for_games(process, 1)
        os.kill(parent(engines_of(process, mark)[0]), signal.SIGKILL)
        go_on.touch()
        printed, said = process.communicate(timeout=START_S)
        assert process.returncode == 0, said
    assert "was lost and is played again" in said
    assert f"on node {socket.gethostname()} (" in said
    assert json.loads(printed)["failures"] == [], "no engine is to blame"
    assert_whole(tmp_path / "out", 12)
    wait_until(lambda: not processes(mark))


@needs_ray
def test_ctrl_c_leaves_no_engine_on_the_nodes(tmp_path: Path, basics: list[str], cluster: Cluster) -> None:
    mark = f"mark={uuid.uuid4().hex}"
    arguments = [*engine("a", "slow=0.1", mark), *engine("b", mark), "--games", 500, *basics, "--json"]
    with start(*arguments, "--ray", cluster.address) as process:
        wait_for_games(process, 1)
        assert engines_of(process, mark)
        process.send_signal(signal.SIGINT)
        printed, said = process.communicate(timeout=START_S)
        assert process.returncode == 130, said
        assert not engines_of(process, mark)
    found = json.loads(printed)
    assert found["interrupted"]
    assert found["failures"] == [], "nobody lost a game by it"
    assert "Run the same command again to resume" in said
    assert "Traceback" not in said
    numbers = {game.name for game in read_games([tmp_path / "out"])}
    assert len(numbers) == found["games"] == 500 - found["unplayed"]
    assert {path.name for path in (tmp_path / "out" / "games").glob("*.csa")} == {f"{int(n):06}.csa" for n in numbers}


@needs_ray
def test_a_kill_of_the_match_ends_its_engines(basics: list[str], cluster: Cluster) -> None:
    """Even one that does not hear that its input has ended."""
    mark = f"mark={uuid.uuid4().hex}"
    arguments = [*hostile("a", "mute-go", mark), *hostile("b", "mute-go", mark), "--games", 4, *basics]
    with start(*arguments, "--ray", cluster.address) as process:
        wait_until(lambda: len(engines_of(process, mark)) == 4)
        process.kill()
        process.communicate(timeout=START_S)
    wait_until(lambda: not processes(mark))


@needs_ray
@pytest.mark.soak
def test_a_game_that_is_always_lost_ends_the_match(tmp_path: Path, basics: list[str], cluster: Cluster) -> None:
    mark = f"mark={uuid.uuid4().hex}"
    arguments = [*engine("a", "slow=2", mark), *engine("b", mark), "--games", 1, *basics]
    with start(*arguments, "--ray", cluster.address) as process:
        while process.poll() is None:
            if engines := engines_of(process, mark):
                os.kill(parent(engines[0]), signal.SIGKILL)
                wait_until(lambda: not set(engines) & set(engines_of(process, mark)))
            time.sleep(0.1)
        _, said = process.communicate(timeout=START_S)
    assert process.returncode == 1, said
    assert "error: game 1 on node " in said
    assert "was lost 4 times" in said
    assert not list((tmp_path / "out").glob("games/*"))
    wait_until(lambda: not processes(mark))


# ------------------------------------------------------------------------------------------------------ what is missing


@needs_ray
def test_a_program_that_a_node_lacks_is_named_with_the_node(basics: list[str], cluster: Cluster) -> None:
    arguments = [*engine("a"), "--engine", "b=/no/such/engine", "--games", 4, *basics]
    code, printed, said = finish(*arguments, "--ray", cluster.address)
    assert (code, printed) == (1, "")
    last = said.splitlines()[-1]  # on a busy machine it also says that it waits for the cluster
    assert last.startswith(f"error: node {socket.gethostname()} (")
    assert last.endswith("): engine b: program /no/such/engine not found")


@needs_ray
def test_a_cluster_that_cannot_be_reached_is_said_at_once(tmp_path: Path, basics: list[str]) -> None:
    code, printed, said = finish(*engine("a"), *engine("b"), "--games", 2, *basics, "--ray", "ray://127.0.0.1:1")
    assert (code, printed) == (1, "")
    assert said.startswith("error: no Ray cluster answers at ray://127.0.0.1:1: ")
    assert said.count("\n") == 1
    assert not (tmp_path / "out").exists()


def test_without_ray_it_says_what_to_install(basics: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    for name in ("fukayomi.arena.match.ray_workers", "fukayomi.cluster"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    code, printed, said = run(*engine("a"), *engine("b"), "--games", 2, *basics, "--ray", "auto")
    assert (code, printed) == (1, "")
    assert said == 'error: this command needs ray: pip install "fukayomi[ray]"\n'
