"""The league of a run: who plays, what is recorded, and what the status and the page say of it."""

import json
import sys
from itertools import pairwise
from pathlib import Path

import learn_run
import numpy as np
import pytest

from fukayomi._native import decode_hcpe3
from fukayomi.loop import LoopError, learn, read_status, write_report
from fukayomi.loop.generation import league_settings
from fukayomi.loop.ingest import Manifest, RejectedError, validate_chunk
from fukayomi.loop.journal import Games, Gated, Ingested, Journal, KeptNetwork, Played, Started, Trained
from fukayomi.loop.run import Run, RunFolder
from fukayomi.selfplay import find_chunks, read_chunk
from fukayomi.selfplay.chunk import sidecar_of
from fukayomi.tabular import counted

ENGINE = Path(__file__).parents[1] / "helpers" / "random_engine.py"
SHORT: dict[str, object] = {"generations": 1, "gate": {"mode": "off"}, "strength": {"games": 0}}


def engine(*words: str) -> dict[str, object]:
    """A league in which an engine plays all games."""
    command = [sys.executable, str(ENGINE), *words]
    return {"share": 1, "clock": "nodes=10", "engine": [{"name": "gps", "command": command}]}


def test_games_against_an_engine_are_accepted_counted_and_shown(tmp_path: Path) -> None:
    folder = tmp_path / "run"

    learn_run.run(folder, **SHORT, league=engine("moves=9"))

    (played,) = Journal(folder).all(Played)
    wins, draws, losses = played.opponents["gps"]
    assert (wins + draws + losses, list(played.opponents)) == (4, ["gps"])
    assert wins > 0  # it resigns
    manifest = Manifest(folder)
    assert (len(manifest.chunks()), manifest.quarantined) == (2, {})
    for path in find_chunks(folder / "games"):
        assert read_chunk(path).info.settings["league"]["engines"][0]["name"] == "gps"
    (row,) = read_status(folder).league
    assert (row.generation, row.opponent, row.wins, row.draws, row.losses) == (1, "gps", wins, draws, losses)
    assert row.win_rate == pytest.approx(wins / (wins + losses))
    assert 0 <= row.low <= row.win_rate <= row.high <= 1
    assert "[[league.engine]]" in write_report(folder).read_text()


def test_games_of_the_league_in_files_of_their_own_are_learnt_from(tmp_path: Path) -> None:
    folder = tmp_path / "run"

    learn_run.run(folder, **SHORT, league=engine("moves=9") | {"split_opponent": True})

    (played,) = Journal(folder).all(Played)
    assert played.chunks == tuple(f"local-00000{number}{part}" for number in (1, 2) for part in ("", "_opp"))
    assert (played.games, sum(played.opponents["gps"])) == (4, 4)
    manifest = Manifest(folder)
    assert [chunk.games for chunk in manifest.chunks() if chunk.games] == [2, 2]
    assert manifest.quarantined == {}


def test_earlier_networks_play_on_all_devices(tmp_path: Path) -> None:
    folder, changes = tmp_path / "run", {"generator": {"devices": 2}, "league": {"share": 1, "past": 1}}

    learn_run.run(folder, **SHORT | changes | {"generations": 2})

    manifest = Manifest(folder)
    assert (len(manifest.chunks()), manifest.quarantined) == (4, {})
    (of_networks,) = {len(read_chunk(folder / each.path).info.opponents) for each in manifest.chunks()[2:]}
    assert of_networks == 1


def check_claims_are_counted_again(chunk: Path) -> None:
    """Ingest rejects a chunk whose sidecar claims more wins than there are, or other results."""
    sidecar = sidecar_of(chunk)
    honest = json.loads(sidecar.read_text(encoding="utf-8"))
    wins, draws, losses = honest["opponents"]["main"]
    there = f"there are {counted(wins, 'win')}, {counted(draws, 'draw')} and {counted(losses, 'loss', 'losses')}"
    for wrong in ([wins + 9, draws, losses], [wins + losses + 1, draws, losses - losses]):
        sidecar.write_text(json.dumps(honest | {"opponents": {"main": wrong}}), encoding="utf-8")
        with pytest.raises(RejectedError, match=f"{counted(wrong[0], 'win')}, .* against opponents, but {there}"):
            validate_chunk(chunk)
    sidecar.write_text(json.dumps(honest | {"opponents": {"main": [wins, draws, 0], "old": [0, 0, losses]}}))
    validate_chunk(chunk)
    sidecar.write_text(json.dumps(honest), encoding="utf-8")


def test_an_exploiter_learns_from_its_own_moves_against_the_main_network(small_run: Path, tmp_path: Path) -> None:
    folder, main = tmp_path / "run", small_run / "networks" / "network-0002.onnx"
    selfplay = {"low_moves": 0.2, "train_random": True}
    league = {"share": 1, "network": [{"name": "main", "file": str(main)}]}

    learn_run.run(folder, **SHORT | {"generations": 2}, selfplay=selfplay, league=league)

    assert Manifest(folder).quarantined == {}
    for path in find_chunks(folder / "games"):
        games = decode_hcpe3(np.frombuffer(read_chunk(path).data, np.uint8), True)
        for game, (begin, end) in enumerate(pairwise(games.plies.tolist())):
            taught = np.diff(games.candidates)[begin:end] > 0
            opponent = int(games.opponents[game])  # 1: Black, 2: White
            assert opponent in (1, 2)
            assert not taught[opponent - 1 :: 2].any()
            assert taught[2 - opponent :: 2].any()
    check_claims_are_counted_again(find_chunks(folder / "games")[0])
    rows = read_status(folder).league
    assert [(row.generation, row.opponent, row.wins + row.draws + row.losses) for row in rows] == [
        (1, "main", 4),
        (2, "main", 4),
    ]
    later = league_settings(Run(learn_run.small(league=league), folder))
    assert later
    assert (later.networks[0].name, later.networks[0].games) == ("main", 8)


def test_the_embedded_network_is_an_opponent_by_its_name(tmp_path: Path) -> None:
    league = {"share": 1, "network": [{"name": "main", "file": "embedded"}]}
    changes = {"generations": 1, "gate": {"mode": "off"}, "strength": {"games": 0}}
    assert learn(learn_run.small(league=league, **changes), tmp_path / "run").finished
    assert sum(Journal(tmp_path / "run").league[1]["main"]) == 4


def test_a_network_of_the_league_that_is_not_there_is_named(tmp_path: Path) -> None:
    league = {"network": [{"name": "main", "file": str(tmp_path / "no.onnx")}]}

    with pytest.raises(LoopError, match=r"league, network, main, file: no file .*no\.onnx"):
        learn(learn_run.small(**SHORT, league=league), tmp_path / "run")


def test_a_program_that_does_not_exist_is_named(tmp_path: Path) -> None:
    league = {"engine": [{"name": "gps", "command": ["no-such-engine"]}]}

    with pytest.raises(LoopError, match="league: engine gps: program no-such-engine not found"):
        learn(learn_run.small(**SHORT, league=league), tmp_path / "run")


def test_the_newest_earlier_networks_are_opponents_and_hard_ones_are_drawn_more_often(
    small_run: Path, tmp_path: Path
) -> None:
    """A journal of three generations whose games were against the networks before."""
    folder = RunFolder(small_run)
    kept = Journal(small_run).networks
    run = Run(learn_run.small(generations=4, league={"past": 2}), small_run)
    run.journal = journal = Journal(tmp_path)
    results = [{}, {"network-0000": (0, 1, 3)}, {"network-0000": (0, 0, 4), "network-0001": (7, 2, 0)}]
    journal.entries += [Started(network=kept[0])]
    for number, opponents in enumerate(results, 1):
        network = kept[number] if number < 3 else KeptNetwork(generation=3, file="x", sha256="0" * 64, steps=1)
        journal.entries += [
            Played(
                generation=number, network="0" * 64, chunks=(), games=4, positions=1, plies=1, results={},
                opponents=opponents, wrong_resignations=(0, 0),
            ),
            Trained(
                generation=number, steps=1, budget=0, seen_positions=1, window=1, network=network, fresh=None,
                test=None, losses=None, paid=(),
            ),
            Gated(generation=number, pairs=(), llr=None, decision="none", passed=None, kept=number != 3),
        ]  # fmt: skip

    league = league_settings(run)

    assert league
    found = {network.name: (network.games, network.wins, network.file) for network in league.networks}
    assert found == {
        "network-0000": (8, 0.5, folder.network(0)), "network-0001": (9, 8.0, folder.network(1)),
    }  # fmt: skip
    chances = league.chances()
    assert chances["network-0000"] == pytest.approx(0.85 / (0.85 + 2 / 11))
    run.settings = learn_run.small(league={"past": 1})
    one = league_settings(run)
    assert one
    assert one.names == ["network-0001"]


def test_games_in_quarantine_do_not_count_against_the_league(small_run: Path, tmp_path: Path) -> None:
    """A journal whose workers said more than ingest accepted."""
    journal = Journal(tmp_path)
    journal.entries += [
        Started(network=Journal(small_run).networks[0]),
        Played(
            generation=1, network="0" * 64, chunks=(), games=4, positions=1, plies=1, results={},
            opponents={"main": (900, 0, 0), "made-up": (1, 0, 0)}, wrong_resignations=(0, 0),
        ),
    ]  # fmt: skip
    assert journal.results_against("main") == (900, 0, 0)

    accepted = Games(games=4, positions=1, plies=1, results={}, wrong_resignations=(0, 0))
    journal.entries.append(
        Ingested(
            generation=1, chunks=1, positions=1, quarantined=1, played=accepted, opponents={"main": (3, 1, 0)}
        )
    )  # fmt: skip

    assert journal.results_against("main") == (3, 1, 0)
    assert journal.league == {1: {"main": (3, 1, 0)}}


def test_a_first_generation_has_no_earlier_network(small_run: Path, tmp_path: Path) -> None:
    run = Run(learn_run.small(league={"past": 2}), small_run)
    run.journal = Journal(tmp_path)
    run.journal.entries += [Started(network=Journal(small_run).networks[0])]

    assert league_settings(run) is None
