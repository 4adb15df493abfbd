"""The state of a run and its page, of a small real run."""

import html
import json
import re
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import learn_run
import pytest
from typer.testing import CliRunner, Result

from fukayomi.cli.main import make_app
from fukayomi.loop import LoopError, read_status, write_report
from fukayomi.loop.ingest import Manifest
from fukayomi.loop.journal import Gated, Journal
from fukayomi.loop.run import RunFolder


def learn(command: str, *arguments: object, code: int = 0) -> Result:
    """``fukayomi learn COMMAND``."""
    words = ["learn", command]
    result = CliRunner().invoke(make_app(words), [*words, *map(str, arguments)])
    assert result.exit_code == code, result.output
    return result


def test_the_status_says_what_was_done(small_run: Path) -> None:
    status = read_status(small_run)

    assert (status.is_running, status.now, status.generation, status.generations) == (False, None, 2, 2)
    assert status.network == "network-0002"
    assert status.games == sum(row.games or 0 for row in status.history)
    assert [row.generation for row in status.history] == [0, 1, 2]
    assert {player.name for player in status.ratings} == {"network-0000", "network-0001", "network-0002"}
    assert status.history[0].rating == 0
    assert status.games_an_hour
    assert status.samples_a_second
    assert len(status.to_polars()) == 3


def test_the_status_of_a_run_that_is_cut_off_names_the_step(small_run: Path, tmp_path: Path) -> None:
    folder = tmp_path / "run"
    shutil.copytree(small_run, folder)
    (folder / "live.json").write_text('{"generation": 3, "step": "train", "since": 0, "stage": "training", "done": 1}')
    lines = (folder / "journal.jsonl").read_text().splitlines(keepends=True)
    (folder / "journal.jsonl").write_text("".join(lines[:2]))

    with RunFolder(folder).lock():
        status = read_status(folder)

    assert status.is_running
    assert status.now
    assert (status.now.generation, status.now.step, status.now.done, status.now.total) == (3, "train", 1, None)
    assert status.generation == 0
    assert not read_status(folder).is_running


def test_a_step_that_was_resumed_has_no_rate(small_run: Path, tmp_path: Path) -> None:
    """Its time in the log is that since it was resumed, and the games are all."""
    shutil.copytree(small_run, tmp_path / "run")
    with (tmp_path / "run" / "log.jsonl").open("a") as log:
        log.write('{"time": 1.0, "generation": 2, "step": "selfplay", "began": true}\n')

    status = read_status(tmp_path / "run")

    assert (status.games_an_hour, status.positions_an_hour) == (None, None)
    assert status.samples_a_second == read_status(small_run).samples_a_second
    assert [row.seconds for row in status.history] == [row.seconds for row in read_status(small_run).history]


def test_a_fleet_plays_while_the_learner_does_other_things(small_run: Path, tmp_path: Path) -> None:
    """Its games are rated by the time since those of the generation before, and not by what the learner waited."""
    folder = tmp_path / "run"
    shutil.copytree(small_run, folder)
    with (folder / "run.toml").open("a") as settings:
        settings.write("\n[fleet]\n")
    (folder / "log.jsonl").write_text(
        "".join(
            f'{{"time": {time}, "generation": {generation}, "step": "{step}", {rest}}}\n'
            for time, generation, step, rest in (
                (1000.0, 1, "selfplay", '"began": true'),
                (2000.0, 1, "selfplay", '"seconds": 1000.0'),
                (5500.0, 1, "train", '"seconds": 3500.0'),
                (5500.0, 2, "selfplay", '"began": true'),
                (5600.0, 2, "selfplay", '"seconds": 100.0'),
            )
        )
    )
    games = Journal(folder).played[-1].games
    assert read_status(folder).games_an_hour == games  # in 3600 s

    with (folder / "log.jsonl").open("a") as log:
        log.write('{"time": 1.0, "generation": 1, "step": "train", "began": true}\n' * 2)
    assert read_status(folder).games_an_hour is None  # a pause of unknown length


def test_a_run_whose_training_files_are_gone_has_a_status(small_run: Path, tmp_path: Path) -> None:
    shutil.copytree(small_run, tmp_path / "run")
    text = (tmp_path / "run" / "run.toml").read_text().replace("test = []", 'test = ["/nowhere/test.hcpe"]')
    (tmp_path / "run" / "run.toml").write_text(text)

    assert read_status(tmp_path / "run").generation == 2
    assert "/nowhere/test.hcpe" in write_report(tmp_path / "run").read_text(encoding="utf-8")
    with pytest.raises(LoopError, match=r"learner, test: /nowhere/test\.hcpe: no such file"):
        learn_run.learn(None, tmp_path / "run")


def test_the_commands_print_the_status(small_run: Path) -> None:
    text, document = learn("status", small_run), learn("status", small_run, "--json")

    assert "2 of 2 generations done" in text.stdout
    assert "network that plays: network-0002, in fp32\n" in text.stdout
    assert json.loads(document.stdout)["network"] == "network-0002"


def test_the_page_is_one_file_with_curves_tables_and_the_score_of_the_gate(small_run: Path, tmp_path: Path) -> None:
    page = tmp_path / "page.html"

    result = learn("report", small_run, "-o", page)

    text = page.read_text(encoding="utf-8")
    assert result.stdout == f"written: {page}\n"
    assert text.count("data:image/svg+xml") == 2
    assert not re.search(r'(src|href)="http', text)
    assert "network-0002" in text
    assert "samples_per_position" in text
    assert f"LLR {Journal(small_run).all(Gated)[-1].llr:.2f}" in text


def test_a_run_without_a_generation_has_a_page(small_run: Path, tmp_path: Path) -> None:
    shutil.copy(small_run / "run.toml", tmp_path)

    assert "data:image" not in write_report(tmp_path).read_text()


def test_other_folders_are_refused(tmp_path: Path) -> None:
    with pytest.raises(LoopError, match=r"not the folder of a learning run: there is no run\.toml"):
        read_status(tmp_path)


def test_the_status_has_the_score_of_the_gate(small_run: Path) -> None:
    newest = Journal(small_run).all(Gated)[-1]

    row = read_status(small_run).history[-1]

    assert (row.gate_games, row.gate_score, row.gate_llr) == (newest.games, newest.score, newest.llr)
    text = f"{newest.score:.1%} in {newest.games} games, LLR {newest.llr:.2f}"
    assert f"gate, generation 2: {row.gate}, {text}" in learn("status", small_run).output


def test_status_and_page_name_workers_that_differ_excluded_chunks_and_matches_that_cannot_be_read(
    small_run: Path, tmp_path: Path
) -> None:
    folder = tmp_path / "run"
    shutil.copytree(small_run, folder)
    flag = "worker w2 differs in length (80, others 120): z = -5.0"
    path = Journal(folder).path
    path.write_text(path.read_text(encoding="utf-8").replace('"flags":[]', f'"flags":["{flag}"]'), encoding="utf-8")
    Manifest(folder).exclude_chunk("games/local-000002.hcpe3", "a <bad> disk")
    database = folder / "matches" / "gate-0001" / "match.db"
    database.write_bytes(database.read_bytes()[:100])

    status, shown = read_status(folder), learn("status", folder).stdout
    page = write_report(folder).read_text(encoding="utf-8")

    assert [(found.generation, found.text) for found in status.flags] == [(1, flag), (2, flag)]
    assert f"generation 2: {flag}" in shown
    assert flag in page
    assert "nothing is learned from games/local-000002.hcpe3: a <bad> disk" in shown
    assert "games/local-000002.hcpe3 (a &lt;bad&gt; disk)" in page
    (note,) = status.notes
    assert note.startswith(f"{database} is damaged: ")
    assert note in shown
    assert note in html.unescape(page)


def test_a_worker_is_excluded_and_admitted(small_run: Path, tmp_path: Path) -> None:
    folder = tmp_path / "run"
    shutil.copytree(small_run, folder)
    chunks = len(Manifest(folder).chunks())

    excluded = learn("exclude", folder, "local", "--reason", "an <old> network")

    assert f"excluded: local; the run learns from 0 of {chunks} chunks" in excluded.output
    assert Manifest(folder).chunks() == []
    assert read_status(folder).excluded == {"local": "an <old> network"}
    assert "nothing is learned from worker local: an <old> network" in learn("status", folder).output
    assert "an &lt;old&gt; network" in write_report(folder).read_text(encoding="utf-8")
    assert f"{chunks} of {chunks} chunks" in learn("admit", folder, "local").output
    assert read_status(folder).excluded == {}


def test_status_and_page_say_what_rating_0_is_without_the_first_network(small_run: Path, tmp_path: Path) -> None:
    folder = tmp_path / "run"
    shutil.copytree(small_run, folder)
    for path in (folder / "matches").glob("*/match.db"):
        with closing(sqlite3.connect(path)) as database, database:
            for side in ("black", "white"):
                database.execute(f"UPDATE games SET {side} = 'anchor <1>' WHERE {side} = 'network-0000'")

    status = read_status(folder)

    said = "network-0000 has played no game that counts: rating 0 is the mean of all players"
    assert status.notes == (said,)
    assert sum(player.rating for player in status.ratings) == pytest.approx(0, abs=1e-6)
    assert [player.name for player in status.anchors] == ["anchor <1>"]
    text = learn("status", folder).stdout
    assert said in text
    assert f"rating of anchor <1>: {status.anchors[0].bound}{status.anchors[0].rating:.0f}" in text
    assert said in write_report(folder).read_text(encoding="utf-8")
    assert read_status(small_run).notes == ()


def test_a_worker_that_cannot_be_excluded_or_admitted_is_an_error(small_run: Path, tmp_path: Path) -> None:
    folder = tmp_path / "run"
    shutil.copytree(small_run, folder)

    assert "delivered nothing so far; workers: local" in learn("exclude", folder, "w9").output
    assert "local is not excluded; excluded: w9" in learn("admit", folder, "local", code=1).output
    assert "worker" in learn("exclude", folder, "../w9", code=1).output
    assert "ValidationError" not in learn("exclude", folder, "../w9", code=1).output
    learn("exclude", tmp_path / "nothing", "w9", code=1)
    assert not (tmp_path / "nothing").exists()
