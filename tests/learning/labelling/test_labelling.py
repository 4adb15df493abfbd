"""What is labelled, with what, and in which order."""

from pathlib import Path

import numpy as np
import pytest
from game_samples import random_games
from labelling_runs import best_score, candidates, engine, expected, position_of, read
from verb_runs import as_bytes, make_games

from fukayomi.data import Games, average, check_data, convert_data, read_rows, write_data
from fukayomi.data.formats.table import as_rows
from fukayomi.engine import Network
from fukayomi.learning import Dataset, LabelError, LabelSettings, label_positions
from fukayomi.shogi import Position

QUICK = LabelSettings(nodes=1, multipv=3)


def check_labels(games: Games, chosen: np.ndarray, multipv: int = 3) -> None:
    """The labels of the chosen moves are those of the engine; the others have none."""
    for hcp, evaluation, found, is_chosen in zip(games.hcps, games.evals, candidates(games), chosen, strict=True):
        if is_chosen:
            shares = expected(hcp, multipv)
            assert found.keys() == shares.keys()
            assert all(abs(found[move] - visits) <= 1 for move, visits in shares.items())
            assert evaluation == best_score(hcp)
        else:
            assert not found


@pytest.mark.parametrize("suffix", ["hcpe", "psv", "avg", "hcp", "sfen"])
def test_single_positions_become_games_of_one_move(tmp_path: Path, suffix: str) -> None:
    rows = as_rows(make_games(6, 3, 8))
    if suffix in ("hcp", "sfen"):
        write_data(tmp_path / f"in.{suffix}", rows)
    else:
        (tmp_path / "in.psv").write_bytes(as_bytes(make_games(6, 3, 8), "psv"))
        write_data(tmp_path / "in.hcpe", rows)
    if suffix == "avg":
        average(tmp_path / "in.hcpe", tmp_path / "in.avg")
        given = np.concatenate(list(read_rows(tmp_path / "in.avg")))
    else:
        given = rows.records
    out = tmp_path / "out.hcpe3"
    summary = label_positions(tmp_path / f"in.{suffix}", out, engine(), QUICK, workers=2)
    games = read(out)
    assert np.array_equal(games.hcps, given["hcp"])
    check_labels(games, np.ones(len(given), np.bool_))
    assert games.moves.tolist() == games.candidate_moves[games.candidates[:-1].astype(int)].tolist()
    has_results = suffix not in ("hcp", "sfen")
    assert games.results.tolist() == ((given["gameResult"] & 3).tolist() if has_results else [0] * len(given))
    assert summary.found == {
        "labels": len(given), "unlabelled": 0, "without_result": 0 if has_results else len(given),
    }  # fmt: skip
    assert (summary.read, summary.kept, summary.resumed) == (len(given), len(given), False)
    assert [path.name for path in tmp_path.glob(".*")] == []


@pytest.mark.parametrize("plies", ["searched", "all"])
def test_games_stay_whole(tmp_path: Path, plies: str) -> None:
    given = random_games(8, 5, 10)
    (tmp_path / "in.hcpe3").write_bytes(given.write())
    summary = label_positions(
        tmp_path / "in.hcpe3",
        tmp_path / "out.hcpe3",
        engine(),
        LabelSettings(nodes=1, multipv=3, plies=plies),
        workers=2,
    )
    chosen = given.candidate_counts() > 0 if plies == "searched" else np.ones(len(given.moves), np.bool_)
    kept = np.bincount(given.game_of_ply(), chosen, len(given)) > 0
    expected_games = given.select(kept)
    games = read(tmp_path / "out.hcpe3")
    for name in ("starts", "results", "opponents", "plies", "moves", "hcps"):
        assert np.array_equal(getattr(games, name), getattr(expected_games, name)), name
    of_kept = chosen[np.repeat(kept, given.lengths())]
    check_labels(games, of_kept)
    assert np.array_equal(games.evals[~of_kept], expected_games.evals[~of_kept])
    assert (summary.read, summary.found["labels"]) == (chosen.sum(), chosen.sum())


def test_records_are_games_too(tmp_path: Path) -> None:
    given = make_games(6, 3, 8)
    (tmp_path / "in.csa").write_bytes(as_bytes(given, "csa"))
    convert_data(tmp_path / "in.csa", tmp_path / "in.hcpe3")
    label_positions(tmp_path / "in.csa", tmp_path / "csa.hcpe3", engine(), QUICK)
    label_positions(tmp_path / "in.hcpe3", tmp_path / "hcpe3.hcpe3", engine(), QUICK)
    assert (tmp_path / "csa.hcpe3").read_bytes() == (tmp_path / "hcpe3.hcpe3").read_bytes()


def test_lines_of_usi_are_games_or_openings(tmp_path: Path) -> None:
    lines = tmp_path / "openings.sfen"
    lines.write_text("startpos moves 7g7f 3c3d\nstartpos moves 2g2f 8c8d 2f2e\n")
    with pytest.raises(ValueError, match="no move has a score or visits"):
        label_positions(lines, tmp_path / "no.hcpe3", engine(), QUICK)
    assert [path.name for path in tmp_path.iterdir()] == ["openings.sfen"]
    summary = label_positions(lines, tmp_path / "all.hcpe3", engine(), LabelSettings(nodes=1, multipv=3, plies="all"))
    assert (summary.read, summary.kept, summary.found["without_result"]) == (5, 2, 5)
    summary = label_positions(lines, tmp_path / "last.hcpe3", engine(), LabelSettings(nodes=1, multipv=3, plies="last"))
    assert (summary.read, summary.kept, summary.found["without_result"]) == (2, 2, 2)
    games = read(tmp_path / "last.hcpe3")
    wanted = [Position.from_usi(f"startpos moves {moves}") for moves in ("7g7f 3c3d", "2g2f 8c8d 2f2e")]
    board = lambda position: position.sfen().rsplit(" ", 1)[0]  # noqa: E731
    assert [board(position_of(hcp)) for hcp in games.hcps] == [board(position) for position in wanted]
    check_labels(games, np.ones(2, np.bool_))


def test_the_order_is_that_of_the_input(tmp_path: Path) -> None:
    write_data(tmp_path / "in.hcpe", as_rows(make_games(8, 3, 8)))
    outputs = []
    for workers in (1, 4):
        out = tmp_path / f"{workers}.hcpe3"
        label_positions(tmp_path / "in.hcpe", out, engine("slow=0.02"), QUICK, workers=workers)
        outputs.append(out.read_bytes())
    assert outputs[0] == outputs[1]


def test_one_line_is_one_move(tmp_path: Path) -> None:
    write_data(tmp_path / "in.hcpe", as_rows(make_games(3, 3, 8)))
    label_positions(tmp_path / "in.hcpe", tmp_path / "out.hcpe3", engine(), LabelSettings(nodes=1, multipv=1))
    games = read(tmp_path / "out.hcpe3")
    assert np.array_equal(games.candidate_moves, games.moves)
    assert set(games.candidate_visits.tolist()) == {65535}


def test_numbers_of_numpy_are_as_good_as_others(tmp_path: Path) -> None:
    write_data(tmp_path / "in.hcpe", as_rows(make_games(3, 3, 8)))
    settings = LabelSettings(nodes=np.int64(1), multipv=np.uint8(3), temperature=np.float32(0.5))
    assert settings == LabelSettings(nodes=1, multipv=3, temperature=0.5)
    label_positions(tmp_path / "in.hcpe", tmp_path / "out.hcpe3", engine(), settings)
    with pytest.raises(LabelError, match="integer"):
        LabelSettings(nodes=1.5)  # type: ignore[arg-type]


def test_an_engine_that_knows_byoyomi_alone_labels_too(tmp_path: Path) -> None:
    write_data(tmp_path / "in.hcpe", as_rows(make_games(3, 3, 8)))
    with pytest.raises(LabelError, match="unknown option in go movetime 100"):
        label_positions(tmp_path / "in.hcpe", tmp_path / "a.hcpe3", engine("only=byoyomi"), LabelSettings(time_ms=100))
    settings = LabelSettings(byoyomi_ms=100, multipv=3)
    label_positions(tmp_path / "in.hcpe", tmp_path / "out.hcpe3", engine("only=byoyomi"), settings)
    games = read(tmp_path / "out.hcpe3")
    check_labels(games, np.ones(len(games.moves), bool))
    for wrong in ({"nodes": 5}, {"time_ms": 5}):
        with pytest.raises(LabelError, match="neither nodes nor time beside it"):
            LabelSettings(byoyomi_ms=100, **wrong)
    with Network() as network, pytest.raises(LabelError, match="byoyomi is for USI engines"):
        label_positions(tmp_path / "in.hcpe", tmp_path / "b.hcpe3", network, settings)


@pytest.mark.parametrize(("temperature", "scale"), [(0.02, 756.0864962951762), (0.5, 300.0), (0.002, 756.0)])
def test_temperature_and_scale_make_the_shares(tmp_path: Path, temperature: float, scale: float) -> None:
    write_data(tmp_path / "in.hcpe", as_rows(make_games(2, 3, 8)))
    settings = LabelSettings(nodes=1, multipv=5, temperature=temperature, eval_scale=scale)
    label_positions(tmp_path / "in.hcpe", tmp_path / "out.hcpe3", engine(), settings)
    games = read(tmp_path / "out.hcpe3")
    for hcp, found in zip(games.hcps, candidates(games), strict=True):
        for (move, visits), share in zip(found.items(), expected(hcp, 5, temperature, scale).items(), strict=True):
            assert (move, visits) == (share[0], pytest.approx(share[1], abs=1))


def test_training_reads_the_labels(tmp_path: Path) -> None:
    write_data(tmp_path / "in.hcpe", as_rows(make_games(3, 3, 8)))
    label_positions(tmp_path / "in.hcpe", tmp_path / "out.hcpe3", engine(), QUICK)
    games, data = read(tmp_path / "out.hcpe3"), Dataset(tmp_path / "out.hcpe3")
    assert len(data) == len(games)
    shares = expected(games.hcps[0], 3)
    policy = {move.usi(): weight for move, weight in data[0].policy.items()}
    assert policy == pytest.approx({move: visits / 65535 for move, visits in shares.items()}, abs=1e-4)


MATE_IN_ONE = "4k4/9/4P4/9/9/9/9/9/4K4 b G 1"
MATED = "4k4/4G4/4P4/9/9/9/9/9/4K4 w - 1"


def test_a_mate_is_the_only_candidate_and_wins(tmp_path: Path) -> None:
    (tmp_path / "in.sfen").write_text(f"{MATED}\n{MATE_IN_ONE}\n")
    summary = label_positions(tmp_path / "in.sfen", tmp_path / "out.hcpe3", engine("mates=1"), QUICK)
    games = read(tmp_path / "out.hcpe3")
    assert candidates(games) == [{"G*5b": 65535}]
    assert (games.evals.tolist(), games.results.tolist()) == ([30_000], [1])
    assert summary.found == {"labels": 1, "unlabelled": 1, "without_result": 2}
    assert check_data(tmp_path / "out.hcpe3").errors == 0


def test_our_own_search_gives_its_visits(tmp_path: Path) -> None:
    write_data(tmp_path / "in.hcpe", as_rows(make_games(4, 3, 8)))
    with Network("<hash>") as network:
        label_positions(tmp_path / "in.hcpe", tmp_path / "all.hcpe3", network, LabelSettings(nodes=40), workers=3)
        label_positions(tmp_path / "in.hcpe", tmp_path / "two.hcpe3", network, LabelSettings(nodes=40, multipv=2))
    games = read(tmp_path / "all.hcpe3")
    rows = as_rows(make_games(4, 3, 8)).records
    assert np.array_equal(games.hcps, rows["hcp"])
    for move, found in zip(games.moves.tolist(), candidates(games), strict=True):
        assert 30 <= sum(found.values()) <= 40
        assert list(found.values()) == sorted(found.values(), reverse=True)
        assert min(found.values()) >= 1
        assert found
        assert move
    assert check_data(tmp_path / "all.hcpe3").errors == 0
    assert max(map(len, candidates(read(tmp_path / "two.hcpe3")))) == 2


def test_our_own_search_finds_a_mate(tmp_path: Path) -> None:
    (tmp_path / "in.sfen").write_text(f"{MATE_IN_ONE}\n")
    with Network("<hash>") as network:
        label_positions(tmp_path / "in.sfen", tmp_path / "out.hcpe3", network, LabelSettings(nodes=200))
    games = read(tmp_path / "out.hcpe3")
    assert [list(found) for found in candidates(games)] == [["G*5b"]]
    assert (games.evals.tolist(), games.results.tolist()) == ([30_000], [1])


def test_what_cannot_be_labelled_is_refused(tmp_path: Path) -> None:
    write_data(tmp_path / "in.hcpe", as_rows(make_games(2, 3, 8)))
    with pytest.raises(LabelError, match="nodes, time or byoyomi"):
        LabelSettings()
    with pytest.raises(LabelError, match="temperature: Input should be greater than 0, not 0"):
        LabelSettings(nodes=1, temperature=0)
    with pytest.raises(LabelError, match="nodes: Input should be greater than or equal to 1, not 0"):
        LabelSettings(nodes=0)
    with pytest.raises(LabelError, match="only records have a last position"):
        label_positions(tmp_path / "in.hcpe", tmp_path / "o.hcpe3", engine(), LabelSettings(nodes=1, plies="last"))
    with pytest.raises(ValueError, match=r"the output is hcpe3; name it \*.hcpe3"):
        label_positions(tmp_path / "in.hcpe", tmp_path / "o.hcpe", engine(), QUICK)
    with pytest.raises(LabelError, match="workers must be 1 or more"):
        label_positions(tmp_path / "in.hcpe", tmp_path / "o.hcpe3", engine(), QUICK, workers=0)
    assert [path.name for path in tmp_path.iterdir()] == ["in.hcpe"]


def test_damage_is_found_before_the_first_search(tmp_path: Path) -> None:
    rows = np.array(as_rows(make_games(3, 3, 8)).records)
    rows["hcp"][5] = 0xFF
    (tmp_path / "in.hcpe").write_bytes(rows.tobytes())
    with pytest.raises(ValueError, match=r"in\.hcpe, record 5"):
        label_positions(tmp_path / "in.hcpe", tmp_path / "out.hcpe3", engine(f"log={tmp_path / 'log'}"), QUICK)
    assert [path.name for path in tmp_path.iterdir()] == ["in.hcpe"]
