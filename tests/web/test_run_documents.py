"""Runs and matches as documents: what folders are, what they come to, and that a running process does not matter."""

import json
import os
import threading
from pathlib import Path
from typing import Any

import match_samples
import pytest
import run_samples

from fukayomi.arena import rate
from fukayomi.arena.match.state import read_state
from fukayomi.arena.match.summary import summarize_state
from fukayomi.selfplay.chunk import read_chunk_info
from fukayomi.web.runs import folders
from fukayomi.web.runs.folders import Folders, Kind, find
from fukayomi.web.runs.keeping import Document, Keeper
from fukayomi.web.runs.learning import LearningReader, learning_stamp
from fukayomi.web.runs.matches import games_page, league_document, match_document, match_stamp, read_game
from fukayomi.web.runs.selfplay import GameReader, SidecarReader, selfplay_document
from fukayomi.web.runs.training import read_curves, training_document, training_stamp


def plain(values: Any) -> Any:
    """A document as the page gets it."""
    return json.loads(Document.of(values).text)


# ------------------------------------------------------------------------------------------------------------- folders


def test_folders_are_what_is_in_them(tmp_path: Path) -> None:
    root = tmp_path / "all"
    run_samples.training_run(root / "runs" / "a")
    run_samples.match(root / "matches" / "one", games=2)
    run_samples.match(root / "matches" / "two", games=2)
    run_samples.learning_run(root / "learn", generations=1)
    run_samples.selfplay(root / "own" / "games")
    (root / "empty").mkdir()
    (root / "runs" / "again").symlink_to(root)
    found = {each.name: each for each in find(root)}
    assert {name: each.kind for name, each in found.items()} == {
        "all": Kind.LEAGUE,
        "all/learn": Kind.LEARNING,
        "all/learn/games": Kind.SELFPLAY,
        "all/learn/learner": Kind.TRAINING,
        "all/learn/matches/strength-0001": Kind.MATCH,
        "all/matches/one": Kind.MATCH,
        "all/matches/two": Kind.MATCH,
        "all/own/games": Kind.SELFPLAY,
        "all/runs/a": Kind.TRAINING,
    }
    assert found["all"].parts == (root / "matches" / "one", root / "matches" / "two")
    assert {name for name, each in found.items() if each.parent == found["all/learn"].id} == {
        "all/learn/games", "all/learn/learner", "all/learn/matches/strength-0001",
    }  # fmt: skip
    assert len({each.id for each in found.values()}) == len(found)
    assert [each.id for each in find(root)] == [each.id for each in find(root)], "pages keep them over a restart"
    assert not any(str(tmp_path).encode() in each.id.encode() for each in found.values())


def test_what_is_looked_at_is_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for number in range(6):
        run_samples.training_run(tmp_path / str(number), steps=10)
    monkeypatch.setattr(folders, "MOST_FOUND", 4)
    assert len(find(tmp_path)) == 4
    monkeypatch.setattr(folders, "MOST_LOOKED_AT", 3)
    assert len(find(tmp_path)) == 2
    deep = tmp_path.joinpath(*"abcdefg")
    run_samples.training_run(deep)
    assert find(deep.parents[folders.DEPTH])[-1:] == []


def test_new_folders_are_found_and_removed_ones_forgotten(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(folders, "LEAST_PAUSE_S", 0.0)
    monkeypatch.setattr(folders, "SHARE", 1e9)
    here = Folders([tmp_path, tmp_path / "gone"])
    assert here.all() == []
    run = run_samples.training_run(tmp_path / "a", steps=10)
    (found,) = here.all()
    assert here.get(found.id) == found
    assert here.get(str(run)) is None
    run.rename(tmp_path.with_name("elsewhere"))
    assert here.get(found.id) is None


# ------------------------------------------------------------------------------------------------------------- keeping


def test_a_document_is_made_again_only_when_its_files_have_changed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("fukayomi.web.runs.keeping.time.thread_time", lambda: 0.0)  # making one costs nothing
    keeper, made = Keeper[int](most=2), []

    def make() -> int:
        made.append(1)
        return len(made)

    assert [keeper.get("a", stamp, make) for stamp in ((1,), (1,), (2,))] == [1, 1, 2]
    keeper.get("b", (1,), make)
    keeper.get("c", (1,), make)
    assert keeper.get("a", (2,), make) == 5, "the longest unused was dropped"


def test_several_pages_make_a_document_once() -> None:
    keeper, made = Keeper[int](), []

    def make() -> int:
        made.append(1)
        return len(made)

    threads = [threading.Thread(target=keeper.get, args=("a", (1,), make)) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert made == [1]


def test_what_takes_long_is_not_made_all_the_time(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [0.0]
    for clock in ("monotonic", "thread_time"):
        monkeypatch.setattr(f"fukayomi.web.runs.keeping.time.{clock}", lambda: now[0])
    keeper, made = Keeper[float](), []

    def make() -> float:
        now[0] += 1.0
        made.append(now[0])
        return now[0]

    assert keeper.get("a", (1,), make) == 1.0
    now[0] = 5.0
    assert keeper.get("a", (2,), make) == 1.0, "it took a second, so the next one is due after five"
    now[0] = 6.0
    assert keeper.get("a", (3,), make) == 7.0


def test_numbers_that_are_not_finite_are_null() -> None:
    assert plain({"a": [float("nan"), 1.0, float("-inf")], 3: ("x", None)}) == {
        "a": [None, 1.0, None],
        "3": ["x", None],
    }


# ------------------------------------------------------------------------------------------------------------ training


def test_a_training_run_grows(tmp_path: Path) -> None:
    run = run_samples.training_run(tmp_path / "run", steps=100)
    before = training_stamp(run)
    document = plain(training_document(run, read_curves(run), smooth=0))
    assert (document["last_step"], document["steps"], document["batch"]) == (100, 1000, 64)
    points = document["curves"]["policy_loss"]["train"]
    assert points["step"] == list(range(10, 101, 10))
    assert points["value"][-1] == 2.5
    assert "smooth" not in points
    assert document["curves"]["policy_accuracy"]["test"]["step"] == [100]
    assert document["seconds"]["value"][-1] == 25
    speed = document["curves"]["positions_a_second"]["train"]
    assert (speed["step"], set(speed["value"])) == (list(range(20, 101, 10)), {64 * 4})
    assert document["settings"]["training.lr"] == "0.01"
    assert document["settings"]["train"] == "games.hcpe", "no paths"
    run_samples.train_on(run, 110, 150)
    with (run / "log.jsonl").open("a") as log:
        log.write('{"train": {"step": 160, "policy')
    assert training_stamp(run) != before
    assert plain(training_document(run, read_curves(run)))["last_step"] == 150


def test_the_speed_is_in_steps_where_the_batch_is_not_known_and_has_no_gaps_of_time(tmp_path: Path) -> None:
    run = run_samples.training_run(tmp_path / "run", steps=20)
    (run / "config.toml").unlink()
    with (run / "times.jsonl").open("a") as times:
        times.write('{"step": 30, "seconds": 5}\n{"step": 40, "seconds": 6}\n')
    curves = plain(training_document(run, read_curves(run), smooth=0))["curves"]
    assert curves["steps_a_second"]["train"] == {"step": [20, 40], "value": [4, 10]}


def test_a_run_that_has_only_begun_has_no_curves(tmp_path: Path) -> None:
    run = run_samples.training_run(tmp_path / "run", steps=0)
    document = plain(training_document(run, read_curves(run)))
    assert (document["last_step"], document["curves"]) == (0, {})


@pytest.mark.parametrize("log_x", [False, True])
def test_a_long_curve_keeps_its_extremes(tmp_path: Path, log_x: bool) -> None:
    run = run_samples.training_run(tmp_path / "run", steps=0)
    with (run / "log.jsonl").open("a") as log:
        for step in range(1, 5001):
            value = {777: 99.0, 4321: None}.get(step, 1.0)
            log.write(json.dumps({"train": {"step": step, "policy_loss": value, "learning_rate": 0.1}}) + "\n")
    curves = plain(training_document(run, read_curves(run), smooth=10, log_x=log_x))["curves"]
    points = curves["policy_loss"]["train"]
    assert len(points["step"]) <= 602
    assert dict(zip(points["step"], points["value"], strict=True))[777] == 99.0
    assert max(value or 0 for value in points["smooth"]["value"]) < 20
    assert "smooth" not in curves["learning_rate"]["train"]
    assert sum(step < 100 for step in points["step"]) > (50 if log_x else 5)


# ------------------------------------------------------------------------------------------------------------- matches


def test_a_match_is_read_while_it_is_played(tmp_path: Path) -> None:
    settings = match_samples.settings_of("a", "b", "c", games=30)
    match = run_samples.SampleMatch(tmp_path / "match", settings).play(6)
    before, first = match_stamp(match.folder), plain(match_document(match.folder))
    assert (first["playing"], first["games"], first["scheduled"]) == (True, 6, 30)
    match.play(3)
    assert match_stamp(match.folder) != before
    assert plain(match_document(match.folder))["games"] == 9
    match.close()
    assert not plain(match_document(tmp_path / "match"))["playing"]


def test_the_numbers_of_a_match_are_those_of_the_commands(tmp_path: Path) -> None:
    folder = run_samples.match(tmp_path / "match", "a", "b", "c", games=24, favourite="b")
    document, summary = plain(match_document(folder)), plain(summarize_state(read_state(folder)))
    for name in ("players", "pairs", "first_mover", "terminations"):
        assert document[name] == summary[name]
    ratings = rate(folder, scale=200.2419)
    assert [player["name"] for player in document["ratings"]["players"]] == [player.name for player in ratings.players]
    assert document["ratings"]["players"][0]["rating"] == pytest.approx(ratings.players[0].rating)
    assert document["strategies"]["games"] == 24
    assert sum(row["games"] for row in document["strategies"]["rows"]) <= 24
    text = json.dumps(document)
    assert str(tmp_path) not in text
    assert '"command"' not in text


def test_the_sequential_test_stands_between_its_bounds(tmp_path: Path) -> None:
    fields = {"games": 40, "favourite": "new", "sprt": {"elo0": 0, "elo1": 60, "model": "logistic"}}
    sprt = plain(match_document(run_samples.match(tmp_path / "match", "new", "old", **fields)))["sprt"]
    assert (sprt["first"], sprt["second"], sprt["model"]) == ("new", "old", "logistic")
    assert (sprt["elo0"], sprt["elo1"]) == (0, 60)
    assert sprt["lower"] < 0 < sprt["upper"]
    assert sum(sprt["pairs"]) == 20
    assert sprt["elo"]["low"] < sprt["elo"]["elo"] < sprt["elo"]["high"]
    assert sprt["llr"] > 0


def test_forfeits_and_times_of_a_match_and_of_several(tmp_path: Path) -> None:
    folders = []
    for name in ("one", "two"):
        settings = match_samples.settings_of("a", "b", games=12)
        folders.append(run_samples.SampleMatch(tmp_path / name, settings).play(12, loser="b").close())
    one, both = plain(match_document(folders[0])), plain(league_document(folders))
    for document, games in ((one, 6), (both, 12)):
        a, b = document["players"]
        assert (a["forfeits"]["time_up"], b["forfeits"]["time_up"]) == (0, games)
        assert b["rests_on_forfeits"]
        assert b["without_forfeits"]["games"] == games
        assert a["time"]["count"] + b["time"]["count"] == 81 * games
        assert a["overhead"]["mean_ms"] == 3


def test_a_match_without_games_has_a_document(tmp_path: Path) -> None:
    match = run_samples.SampleMatch(tmp_path / "match", match_samples.settings_of("a", "b"))
    document = plain(match_document(match.folder))
    assert (document["games"], document["ratings"], document["strategies"]) == (0, None, None)
    match.close()


def test_the_matches_of_a_league_count_together(tmp_path: Path) -> None:
    one = run_samples.match(tmp_path / "one", "a", "b", games=8)
    two = run_samples.match(tmp_path / "two", "b", "c", games=8)
    (tmp_path / "damaged").mkdir()
    (tmp_path / "damaged" / "match.db").write_bytes(b"x" * 5000)
    document = plain(league_document([one, two, tmp_path / "damaged"]))
    assert (document["matches"], document["damaged"], document["games"]) == (2, 1, 16)
    assert {player["name"]: player["games"] for player in document["players"]} == {"a": 8, "b": 16, "c": 8}
    assert [sum(pair["pentanomial"]) for pair in document["pairs"]] == [4, 4], "pairs of two matches are not mixed up"
    assert plain(league_document([]))["games"] == 0


def test_the_games_of_a_match_come_by_the_page(tmp_path: Path) -> None:
    folder = run_samples.match(tmp_path / "match", games=130)
    first = plain(games_page(folder))
    second = plain(games_page(folder, first["games"][-1]["number"]))
    numbers = [game["number"] for game in first["games"] + second["games"]]
    assert (numbers, first["more"], second["more"]) == (list(range(130, 0, -1)), True, False)
    assert (first["games"][0]["plies"], first["games"][0]["termination"]) == (40, "max_plies")
    record = read_game(folder, 130)
    assert record is not None
    assert len(record.moves) == 40
    assert read_game(folder, 131) is None


# ---------------------------------------------------------------------------------------------- self-play and learning


def test_the_chunks_of_a_folder_add_up(tmp_path: Path) -> None:
    folder, reader = run_samples.selfplay(tmp_path / "games"), SidecarReader()
    document = plain(selfplay_document(*reader.all(folder)))
    assert (document["chunks"], document["games"], document["damaged"]) == (3, 6, 0)
    infos = [read_chunk_info(path) for path in sorted(folder.glob("*.json"))]
    assert document["plies_a_game"] == pytest.approx(sum(info.plies for info in infos) / 6)
    assert document["black_wins"] + document["white_wins"] + document["draws"] == 6
    (opponent,) = document["opponents"]
    assert (opponent["wins"], opponent["losses"], opponent["win_rate"]) == (3, 3, 0.5)
    assert [point["games_before"] for point in document["points"]] == [0, 2, 4]
    assert document["points"][1]["time"] == 1_750_000_120
    (folder / "w1-000002.json").write_text("{}")
    assert plain(selfplay_document(*reader.all(folder)))["games"] == 6, "a chunk never changes"
    assert plain(selfplay_document(*SidecarReader().all(folder)))["damaged"] == 1


def test_the_games_of_all_chunks_are_numbered_from_the_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder, reader = run_samples.selfplay(tmp_path / "games"), GameReader()
    chunks, _ = SidecarReader().all(folder)
    page = plain(reader.page(chunks))
    assert [game["number"] for game in page["games"]] == [6, 5, 4, 3, 2, 1]
    assert (page["games"][0]["date"], page["games"][-1]["date"]) == (1_750_000_180, 1_750_000_060)
    for game in page["games"]:
        record = reader.record(chunks, game["number"])
        assert record is not None
        assert record.name == f"w1-{(game['number'] + 1) // 2:06} #{2 - game['number'] % 2}"
        assert (len(record), record.result, record.termination) == (game["plies"], game["result"], game["termination"])
        assert (record.black_name, record.white_name) == (game["black"], game["white"])
    assert [reader.record(chunks, number) for number in (0, 7)] == [None, None]
    monkeypatch.setattr("fukayomi.web.runs.selfplay.GAMES_A_PAGE", 2)
    page = plain(reader.page(chunks, 4))
    assert ([game["number"] for game in page["games"]], page["more"]) == ([3, 2], True)
    (folder / "w1-000002.hcpe3").unlink()  # as by hand, while the page is open
    assert [game["number"] for game in plain(GameReader().page(chunks, 5))["games"]] == [2, 1]


def test_a_learning_run_has_its_ratings_over_time(tmp_path: Path) -> None:
    folder, reader = run_samples.learning_run(tmp_path / "run"), LearningReader()
    document = plain(reader.document(folder))
    assert (document["generation"], document["generations"], document["is_running"]) == (3, 9, False)
    history = document["history"]
    ratings = [row["rating"] for row in history]
    assert ratings[0] == 0
    assert ratings == sorted(ratings)
    assert all(row["error"] for row in history[1:])
    assert document["kept"] == [0, 1, 2, 3]
    assert document["series"]["plies"] == [[1, 91], [2, 92], [3, 93]]
    assert document["series"]["endings"]["draws"] == [[1, 0.1], [2, 0.1], [3, 0.1]]
    assert document["league"][0]["opponent"] == "random"
    assert "folder" not in document
    assert str(tmp_path) not in json.dumps(document)
    before = learning_stamp(folder)
    os.utime(folder / "journal.jsonl", ns=(1, 1))
    assert learning_stamp(folder) != before


def test_ratings_of_a_learning_run_are_kept_until_there_are_games(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, reader, rated = run_samples.learning_run(tmp_path / "run", generations=1), LearningReader(), []
    monkeypatch.setattr("fukayomi.loop.matches.rate_networks", lambda folder: rated.append(folder))
    for _ in range(3):
        reader.document(folder)
    assert len(rated) == 1
