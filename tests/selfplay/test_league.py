"""The league: engines and networks that play a share of the games."""

import hashlib
import sys
from collections import Counter
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from toy_network import write_network

from fukayomi._native import OUTSIDE, decode_hcpe3
from fukayomi.arena.game.time_control import TimeControl
from fukayomi.loop.ingest import validate_chunk
from fukayomi.selfplay import (
    GameSummary,
    League,
    LeagueEngine,
    LeagueError,
    LeagueNetwork,
    LeagueSettings,
    SelfplayListener,
    SelfplayResult,
    SelfplaySettings,
    find_chunks,
    generate,
    read_chunk,
)
from fukayomi.selfplay.league import ATTEMPTS, MOST_RESTARTS

SHORT = SelfplaySettings(playouts=4, max_move=24, out_max_move=True, chunk_games=4)
OPPONENT_BYTE = 35
HELPERS = Path(__file__).parents[1] / "helpers"


def engine(name: str, *words: str, **settings: object) -> LeagueEngine:
    command = (sys.executable, str(HELPERS / "random_engine.py"), "seed=1", *words)
    return LeagueEngine.model_validate({"name": name, "command": command, **settings})


def league(*engines: LeagueEngine, share: float = 1.0) -> League:
    return League(LeagueSettings(share=share, clock=TimeControl(nodes=(10,)), engines=engines), seed=5)


class Notes(SelfplayListener):
    def __init__(self) -> None:
        self.notes: list[str] = []

    def note(self, text: str) -> None:
        self.notes.append(text)


def test_a_share_of_the_games_is_played_by_engines(tmp_path: Path) -> None:
    with league(engine("a"), engine("b", weight=3, processes=2), share=0.5) as opponents:
        result = generate(SHORT, "<hash>", tmp_path, games=40, opponents=opponents)
        names = Counter(opponents.name(number) for number in range(40))
        sides = [opponents.players(number) for number in range(40)]
    assert result.finished
    assert {name: counts[0] for name, counts in result.progress.opponents.items()} == {"a": names["a"], "b": names["b"]}
    assert 8 <= names[""] <= 32
    assert names["a"] < names["b"]
    networks = [[player.network for player in pair] for pair in sides]
    outside = [pair.index(OUTSIDE) for pair in networks if OUTSIDE in pair]
    assert set(outside) == {0, 1}
    for path in find_chunks(tmp_path):
        validate_chunk(path)
        assert read_chunk(path).info.settings["league"]["share"] == 0.5


def test_the_embedded_network_can_be_an_opponent(tmp_path: Path) -> None:
    (tmp_path / "league.toml").write_text('[[network]]\nname = "own"\nfile = "embedded"\n', encoding="utf-8")
    settings = LeagueSettings.read(tmp_path / "league.toml").model_copy(update={"share": 1.0})
    with League(settings, device="native", precision="fp32", threads=1, batch_size=4) as opponents:
        result = generate(SHORT.model_copy(update={"max_move": 10}), "<hash>", tmp_path, games=2, opponents=opponents)
    assert result.progress.opponents["own"][0] == 2


def test_sidecars_have_the_results_against_each_opponent(tmp_path: Path) -> None:
    with league(engine("a", "moves=3"), engine("b"), share=0.7) as opponents:
        first = generate(SHORT, "<hash>", tmp_path, games=16, opponents=opponents)
        again = generate(SHORT, "<hash>", tmp_path, games=16, opponents=opponents)  # reads the chunks
    infos = [read_chunk(path).info for path in find_chunks(tmp_path)]
    totals = {
        name: [sum(info.opponents.get(name, (0, 0, 0))[which] for info in infos) for which in range(3)]
        for name in ("a", "b")
    }
    expected = {
        name: [wins, draws, games - wins - draws] for name, (games, wins, draws) in first.progress.opponents.items()
    }
    assert totals == expected
    assert totals["a"][0] > 0
    assert again.progress.opponents == first.progress.opponents


def test_games_of_the_league_can_go_to_files_of_their_own(tmp_path: Path) -> None:
    """The other files have the games that they have without it."""

    def play(folder: str, *, games: int, split_opponent: bool) -> SelfplayResult:
        settings = LeagueSettings(
            share=0.5, clock=TimeControl(nodes=(10,)), engines=(engine("a"),), split_opponent=split_opponent
        )
        with League(settings, seed=5) as opponents:
            return generate(SHORT, "<hash>", tmp_path / folder, games=games, opponents=opponents)

    whole = play("whole", games=12, split_opponent=False)
    first = play("split", games=8, split_opponent=True)
    split = play("split", games=12, split_opponent=True)
    assert (first.finished, split.finished) == (True, True)
    for name in ("games", "kept", "positions", "plies", "opponents", "draws"):
        assert getattr(split.progress, name) == getattr(whole.progress, name), name
    own, others = Counter[bytes](), Counter[bytes]()
    for path in find_chunks(tmp_path / "split"):
        chunk = validate_chunk(path)
        is_other = path.stem.endswith("_opp")
        assert chunk.info.part == ("with_opponents" if is_other else "without_opponents")
        assert bool(chunk.info.opponents) == is_other
        assert chunk.info.numbers == 4
        (others if is_other else own).update(games_of(path))
    assert all(game[OPPONENT_BYTE] for game in others)
    assert not any(game[OPPONENT_BYTE] for game in own)
    assert others.total() == split.progress.opponents["a"][0]
    every = [game for path in find_chunks(tmp_path / "whole") for game in games_of(path)]
    assert own == Counter(game for game in every if not game[OPPONENT_BYTE])


def games_of(path: Path) -> list[bytes]:
    """The games of a chunk, each with its bytes."""
    data = read_chunk(path).data
    offsets = [*decode_hcpe3(np.frombuffer(data, np.uint8), True).offsets.tolist(), len(data)]
    return [data[begin:end] for begin, end in pairwise(offsets)]


def test_slow_engines_hold_nobody_up(tmp_path: Path) -> None:
    """The games of the networks are over while an engine thinks about its first moves."""
    finished: list[int] = []

    class Order(SelfplayListener):
        def game(self, game: GameSummary) -> None:
            finished.append(game.number)

    with league(engine("slow", "slow=0.1"), share=0.2) as opponents:
        generate(SHORT, "<hash>", tmp_path, games=16, parallel=16, opponents=opponents, listener=Order())
        slow = [number for number in range(16) if opponents.name(number)]
    assert 0 < len(slow) < 16
    assert set(finished[-len(slow) :]) == set(slow)


def test_an_engine_that_dies_is_started_again(tmp_path: Path) -> None:
    with league(engine("mortal", "dies=7")) as opponents:
        result = generate(SHORT, "<hash>", tmp_path, games=4, opponents=opponents)
    assert result.finished
    assert result.progress.opponents["mortal"][0] == 4


def test_an_engine_that_hangs_is_started_again_and_named(tmp_path: Path) -> None:
    notes = Notes()
    hanging = LeagueSettings(
        share=1, clock=TimeControl(nodes=(10,)), stall_ms=300, engines=(engine("hanging", "hangs=7"),)
    )
    with League(hanging, seed=5) as opponents:
        result = generate(SHORT, "<hash>", tmp_path, games=1, opponents=opponents, listener=notes)
    assert result.finished
    first = [note for note in notes.notes if note.startswith("engine hanging is started again (game ")]
    assert "did not send bestmove in time" in first[0]
    assert "stall_ms" not in opponents.settings  # games do not depend on it


def test_an_engine_that_always_dies_ends_the_run(tmp_path: Path) -> None:
    notes = Notes()
    with (
        league(engine("dead", "dies=1")) as opponents,
        pytest.raises(LeagueError, match=r"engine dead failed . times in a row.*run the same command"),
    ):
        generate(SHORT, "<hash>", tmp_path, games=20, opponents=opponents, listener=notes)
    assert sum("failed in game" in note for note in notes.notes) == 5


def test_an_engine_that_never_starts_ends_the_run_at_once(tmp_path: Path) -> None:
    notes = Notes()
    broken = LeagueEngine(name="broken", command=(sys.executable, "-c", "raise SystemExit('no memory')"))
    with (
        league(broken) as opponents,
        pytest.raises(LeagueError, match=r"engine broken cannot be started.*run the same command"),
    ):
        generate(SHORT, "<hash>", tmp_path, games=20, opponents=opponents, listener=notes)
    (note,) = [note for note in notes.notes if "failed in game" in note]
    assert "no memory" in note


def test_an_engine_that_does_not_declare_its_options_ends_the_run_at_once(tmp_path: Path) -> None:
    notes = Notes()
    with (
        league(engine("odd", options={"Styl": "wild"})) as opponents,
        pytest.raises(LeagueError, match="odd cannot be used"),
    ):
        generate(SHORT, "<hash>", tmp_path, games=20, opponents=opponents, listener=notes)
    assert any("engine odd: declares no option 'Styl'; did you mean Style" in note for note in notes.notes)
    with league(engine("odd", options={"Styl": "wild"}, undeclared_options=True)) as opponents:
        assert generate(SHORT, "<hash>", tmp_path / "meant", games=4, opponents=opponents).finished
        assert "undeclared_options" not in opponents.settings["engines"][0]


def test_a_game_in_which_an_engine_fails_is_played_again(tmp_path: Path) -> None:
    notes, deaths = Notes(), tmp_path / "deaths"
    with league(engine("mortal", f"deaths={deaths}", f"times={ATTEMPTS}")) as opponents:
        result = generate(SHORT, "<hash>", tmp_path / "games", games=2, parallel=1, opponents=opponents, listener=notes)
    assert result.finished
    assert result.progress.opponents["mortal"][0] == 2
    (note,) = [note for note in notes.notes if "failed in game" in note]
    assert note.startswith("engine mortal failed in game 0; it begins again: ")


def test_the_network_plays_a_game_alone_in_which_an_engine_always_fails(tmp_path: Path) -> None:
    notes = Notes()
    with league(engine("dead", "dies=1")) as opponents:
        result = generate(SHORT, "<hash>", tmp_path, games=1, opponents=opponents, listener=notes)
    assert result.finished
    assert result.progress.opponents == {}
    assert [note.split(": ")[0] for note in notes.notes if "failed in game" in note] == [
        *["engine dead failed in game 0; it begins again"] * MOST_RESTARTS,
        "engine dead failed in game 0; the network plays it alone",
    ]
    (chunk,) = find_chunks(tmp_path)
    assert validate_chunk(chunk).info.opponents == {}


def test_an_engine_may_resign(tmp_path: Path) -> None:
    with league(engine("polite", "moves=3")) as opponents:
        result = generate(SHORT, "<hash>", tmp_path, games=4, opponents=opponents)
    games, wins, draws = result.progress.opponents["polite"]
    assert result.progress.reasons == {"resignation": 4}
    assert (games, wins, draws) == (4, 4, 0)


def test_earlier_networks_are_drawn_by_how_hard_they_are(tmp_path: Path) -> None:
    files = [tmp_path / f"{name}.onnx" for name in ("hard", "easy")]
    for file in files:
        write_network(file)
    networks = (
        LeagueNetwork(name="hard", file=files[0], games=98, wins=9),
        LeagueNetwork(name="easy", file=files[1], games=98, wins=89),
    )
    settings = LeagueSettings(share=1, networks=networks)
    assert settings.chances() == pytest.approx({"hard": 0.9, "easy": 0.1})
    assert settings.model_copy(update={"hardness": 0.0}).chances() == pytest.approx({"hard": 0.5, "easy": 0.5})
    with League(settings, seed=1, device="cpu", devices=2) as opponents:
        assert [len(network.evaluators) for network in opponents.networks] == [2, 2]
        hashes = [hashlib.sha256(file.read_bytes()).hexdigest() for file in files]
        assert [network["sha256"] for network in opponents.settings["networks"]] == hashes
        drawn = Counter(opponents.name(number) for number in range(1000))
        assert 850 < drawn["hard"] < 950
        result = generate(SHORT, files[0], tmp_path / "games", games=6, opponents=opponents, device="cpu")
    assert result.finished
    assert sum(counts[0] for counts in result.progress.opponents.values()) == 6
    for path in find_chunks(tmp_path / "games"):
        validate_chunk(path)


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("share = 0.5", "the league has no opponent"),
        ("share = 2\n[[engine]]\nname = 'a'\ncommand = 'a'", "share: "),
        ("[[engine]]\nname = 'a'\ncommand = 'a'\nspeed = 3", "speed"),
        ("[[engine]]\nname = 'a'\ncommand = 'a'\n[[network]]\nname = 'a'\nfile = 'b'", "the same name"),
        ("[[network]]\nname = 'a'", "network.a.file is missing"),
        ("clock = 'main=10m'\n[[engine]]\nname = 'a'\ncommand = 'a'", "not the same for every move"),
        ("memory_mb = 100\n[[engine]]\nname = 'a'\ncommand = 'a'\nprocesses = 4\nmemory_mb = 64", "256 MiB"),
    ],
)
def test_a_bad_file_is_refused_with_the_reason(tmp_path: Path, text: str, complaint: str) -> None:
    path = tmp_path / "league.toml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(LeagueError, match=r"league\.toml") as caught:
        LeagueSettings.read(path)
    assert complaint in str(caught.value)


def test_a_missing_program_is_named() -> None:
    with pytest.raises(LeagueError, match="engine x: program no-such-engine not found"):
        League(LeagueSettings(engines=(LeagueEngine(name="x", command=("no-such-engine",)),)))
