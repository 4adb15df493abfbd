"""The public functions of fukayomi.arena: every form of games, the options that matter, and what they refuse."""

from pathlib import Path

import pandas
import polars
import pytest
from command_runs import write_pgn

from fukayomi import Move, Position, Record, RecordedMove, Result, Termination, arena
from fukayomi.arena.positions.balanced import EVEN_OPENINGS
from fukayomi.listener import Listener

GAMES = [("new", "old", "1-0")] * 5 + [("old", "new", "1-0")] * 2 + [("old", "new", "1/2-1/2")] * 2
FOURTH = ["7g7f", "3c3d", "2g2f", "4c4d", "3i4h", "8b4b"]


class Follower(Listener):
    """Keeps what it hears."""

    def __init__(self) -> None:
        self.notes: list[str] = []
        self.stages: set[str] = set()

    def progress(self, stage: str, done: int, total: int | None) -> None:
        self.stages.add(stage)

    def note(self, text: str) -> None:
        self.notes.append(text)


def record(black: str, white: str, result: Result, moves: list[str] | None = None) -> Record:
    return Record(
        black_name=black, white_name=white, result=result, termination=Termination.RESIGN,
        moves=[RecordedMove(Move.from_usi(move)) for move in moves or FOURTH],
    )  # fmt: skip


@pytest.mark.parametrize("form", ["path", "paths", "records", "points", "results", "polars", "pandas"])
def test_games_in_any_form_give_the_same_ratings(form: str, tmp_path: Path) -> None:
    path = write_pgn(tmp_path / "games.pgn", GAMES)
    points = {"1-0": 1, "0-1": 0, "1/2-1/2": 0.5}
    results = {"1-0": Result.BLACK_WIN, "0-1": Result.WHITE_WIN, "1/2-1/2": Result.DRAW}
    columns = {name: [game[i] for game in GAMES] for i, name in enumerate(("black", "white", "result"))}
    forms = {
        "path": str(path),
        "paths": [path],
        "records": [record(black, white, results[result]) for black, white, result in GAMES],
        "points": [(black, white, points[result]) for black, white, result in GAMES],
        "results": [(black, white, results[result]) for black, white, result in GAMES],
        "polars": polars.DataFrame(columns),
        "pandas": pandas.DataFrame(columns),
    }
    expected = arena.rate(GAMES, simulations=50)
    found = arena.rate(forms[form], simulations=50)
    assert found.players == expected.players
    assert (found["new"].points, found["old"].points) == (6, 3)
    with pytest.raises(KeyError, match="nobody"):
        _ = found["nobody"]


@pytest.mark.parametrize(
    ("games", "message"),
    [
        ([("a", "b", "2-0")], "invalid result '2-0'"),
        ([("a", "b")], r"\('a', 'b'\) is not a game"),
        ([5], "5 is not a game"),
        ([("a", "b", "*")], "no games to rate: 1 not decided by play left out"),
        ([], "no games to rate"),
        ("nowhere.pgn", "nowhere.pgn"),
    ],
    ids=["result", "pair", "number", "unknown", "none", "missing"],
)
def test_what_is_not_a_game_is_refused(games: object, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        arena.rate(games)


def test_a_listener_hears_of_simulations_and_of_what_is_left_out(tmp_path: Path) -> None:
    (tmp_path / "noise.txt").write_text("noise\n")
    listener = Follower()
    arena.rate([*GAMES, ("new", "old", "*"), tmp_path / "noise.txt", write_pgn(tmp_path / "a.pgn", GAMES)],
               listener=listener)  # fmt: skip
    assert listener.stages == {"simulating"}
    assert len(listener.notes) == 2
    assert "noise.txt" in listener.notes[0]
    assert listener.notes[1] == "1 game not decided by play left out"


def test_options_of_ratings() -> None:
    found = arena.rate(GAMES, anchors={"old": 1000}, first_mover_advantage=0.0, bayes=True, simulations=0)
    assert found["old"].rating == pytest.approx(1000)
    assert found["new"].rating > 1000
    rows = found.rows()
    assert [row["player"] for row in rows] == ["new", "old"]
    assert rows[0]["bayes"] is not None
    assert found.to_polars()["points"].to_list() == [6.0, 3.0]
    assert [row["player"] for row in arena.rate(GAMES, hidden=["old"], simulations=0).rows()] == ["new"]


def test_a_sequential_test_of_games_or_counts() -> None:
    by_games = arena.sprt(GAMES, players=("new", "old"), elo1=50)
    by_counts = arena.sprt(wins=5, draws=2, losses=2, elo1=50)
    assert by_games.counts == by_counts.counts == (2, 2, 5)
    assert by_games.llr == by_counts.llr
    assert by_games.head_to_head is not None
    (row,) = by_counts.rows()
    assert (row["decision"], row["games"]) == ("continue", 9)
    assert arena.sprt(pairs=[0, 0, 0, 0, 6000]).decision.value == "H1"
    assert arena.sprt(pairs=[0, 0, 0, 0, 6000]).sequential_elo is None


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({}, arena.CountsError, "give wins and losses"),
        ({"wins": 5}, arena.CountsError, "give wins and losses"),
        ({"wins": 1, "losses": 1, "pairs": [1, 2, 3, 4, 5]}, arena.CountsError, "give either"),
        ({"pairs": [1, 2, 3]}, arena.CountsError, "pairs are five counts"),
        ({"games": GAMES, "wins": 1}, arena.CountsError, "give either games or counts"),
        ({"games": GAMES, "players": ("new", "other")}, arena.PlayersError, "no game of 'other'"),
        ({"games": [*GAMES, ("a", "b", "1-0")]}, arena.PlayersError, "choose two players"),
        ({"wins": 1, "losses": 1, "elo0": 5, "elo1": 5}, arena.SprtError, "elo0 must be less"),
    ],
    ids=["nothing", "no losses", "both", "three pairs", "games and counts", "unknown", "several", "no test"],
)
def test_what_is_not_a_test_is_refused(arguments: dict[str, object], error: type[ValueError], message: str) -> None:
    with pytest.raises(error, match=message):
        arena.sprt(**arguments)  # pyright: ignore[reportArgumentType]
    assert error.__module__ == "fukayomi.arena"


def test_first_move_is_a_table() -> None:
    (row,) = arena.first_move(GAMES).rows()
    assert (row["first"], row["second"], row["games"]) == ("new", "old", 9)
    assert row["black_rate"] == pytest.approx(8 / 9)
    assert row["first_as_white"] == pytest.approx(1 / 4)


def test_strategies_of_a_game_in_any_form() -> None:
    position = Position()
    for move in FOURTH:
        position.push_usi(move)
    forms = [
        FOURTH, [Move.from_usi(move) for move in FOURTH], f"startpos moves {' '.join(FOURTH)}", position,
        record("a", "b", Result.DRAW),
    ]  # fmt: skip
    for form in forms:
        found = arena.classify_strategies(form)
        assert ("後手四間飛車", 6) in [(row["strategy"], row["ply"]) for row in found.rows()]


def test_strategies_of_many_games_and_their_plots(tmp_path: Path) -> None:
    games = [record("a", "b", Result.BLACK_WIN)] * 3 + [record("b", "a", Result.DRAW)]
    listener = Follower()
    counts = arena.count_strategies([*games, ("a", "b", "1-0")], by="engine", listener=listener)
    assert counts.games == 4
    assert listener.notes == [": no moves"]
    assert {row["group"] for row in counts.rows()} == {"a (先手)", "b (後手)", "b (先手)", "a (後手)"}
    (row,) = arena.count_strategies(games).rows()
    assert (row["strategy"], row["games"], row["black_rate"]) == ("後手四間飛車", 4, 0.75)
    figure = arena.plot_shares(counts.tables(top=2), tmp_path / "shares.svg")
    assert len(figure.axes) == 8, "a panel for each player and colour, with two axes over each other"
    assert (tmp_path / "shares.svg").read_bytes().startswith(b"<?xml")
    with pytest.raises(ValueError, match=r"shares.gif: expected a file name that ends in"):
        arena.plot_shares(counts.tables(), tmp_path / "shares.gif")
    with pytest.raises(ValueError, match="no row is named '矢倉'"):
        arena.plot_years(counts.tables(), ["矢倉"])


def test_balanced_positions_of_records() -> None:
    moves = ["7g7f", "3c3d", *["2h3h", "8b7b", "3h2h", "7b8b"] * 20]
    game = record("a", "b", Result.BLACK_WIN, moves)
    game.black_rating = game.white_rating = 3900.0
    for played in game.moves:
        played.score_cp = 20
    found = arena.balanced_positions([game, game], EVEN_OPENINGS)
    assert (found.games_read, len(found)) == (2, 1)
    (row,) = found.rows()
    assert row["plies"] == 36
    assert row["line"].startswith("startpos moves 7g7f 3c3d 2h3h")


def test_every_public_name_is_there() -> None:
    assert set(arena.__all__) <= set(dir(arena))
    for name in arena.__all__:
        assert getattr(arena, name) is not None
    with pytest.raises(AttributeError, match=r"module 'fukayomi\.arena' has no attribute 'ratings_of'"):
        _ = arena.ratings_of  # pyright: ignore
