"""What listeners write about a run."""

import json
from datetime import datetime
from pathlib import Path

import pytest

from fukayomi import fan_out
from fukayomi.selfplay import (
    GameSummary,
    JsonLines,
    LogLines,
    SelfplayProgress,
    SelfplaySettings,
    TensorBoard,
    generate,
)
from fukayomi.selfplay.reports import final_line, progress_line

SHORT = SelfplaySettings(playouts=4, max_move=24, out_max_move=True, chunk_games=4)


def state() -> SelfplayProgress:
    progress = SelfplayProgress(elapsed_s=100.0, done=0.25)
    for number in range(4):
        progress.add(
            GameSummary(
                number=number, winner=(None, "black", "white", "white")[number], reason="mate", plies=100,
                opening_plies=0, random_plies=4, positions=90, searches=95, playouts=950, evaluations=900,
                is_played_out=False, is_wrong_resignation=False, opponent="" if number == 3 else "black",
                opponent_name="" if number == 3 else "engine",
            ),
            is_new=True,
        )  # fmt: skip
    return progress


def test_what_remains_goes_by_the_games_of_this_process() -> None:
    """After a resume: 60 of 100 games were there, and 10 took a minute."""
    state = SelfplayProgress(games=70, new_games=10, done=0.7, begun=0.6, elapsed_s=60)
    assert state.remaining_s == pytest.approx(180)
    assert state.games_per_hour == pytest.approx(600)


def test_the_log_lines_are_those_of_dlshogi() -> None:
    assert progress_line(state()) == (
        "Progress:25.00%, nodes:360, nodes/sec:3.60, games:4, draw:1, nyugyoku:0, ply/game:100.00, "
        "playouts/node:10.00 gpu id:0, usi_games:3, usi_win:1, usi_draw:1, Elapsed:100[s], Remaining:300[s]"
    )
    assert final_line(state()) == (
        "Made 360 teacher nodes in 100 seconds. games:4, draws:1, ply/game:100.0000, usi_games:3, usi_win:1, "
        "usi_draw:1, usi_winrate:50.00%"
    )


def test_lines_have_date_and_level() -> None:
    lines: list[str] = []
    log = LogLines(lines.append, 0.0, lambda: datetime(2021, 8, 19, 13, 21, 29, 823_000))
    log.state(state())
    log.note("something")
    log.ended()
    assert lines[0].startswith("[2021-08-19 13:21:29.823] [info] Progress:")
    assert lines[1] == "[2021-08-19 13:21:29.823] [warning] something"
    assert lines[2].startswith("[2021-08-19 13:21:29.823] [info] Made 360 teacher nodes")


def test_json_lines_and_curves_follow_a_run(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    listeners = fan_out(JsonLines(path), TensorBoard(tmp_path / "curves"))
    result = generate(SHORT, "<hash>", tmp_path / "games", games=6, listener=listeners)
    lines = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    kinds = [next(iter(line)) for line in lines]
    assert kinds[0] == "run"
    assert kinds.count("game") == 6
    assert kinds.count("chunk") == 2
    assert lines[-1]["state"]["positions"] == result.progress.positions
    assert list((tmp_path / "curves").iterdir())
