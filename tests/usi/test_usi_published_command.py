"""The command line that dlshogi's author measures with runs with this engine in dlshogi's place.

TadaoYamaoka, 棋力計測の戦型分類, January 2023. Changed are paths, the third engine, and what makes it long:
--games 1000, --draw 320 and Const_Playout:50000.
"""

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from engine_talk import Start, strings
from patience import PATIENCE_S
from places import HELPERS

from fukayomi import read_record
from fukayomi.usi.text import Go

OPTIONS = (
    "Const_Playout:{playouts},Random_Ply:32,Random_Cutoff:25,Random_Cutoff_Drop:1,PV_Mate_Search_Threads:1,C_init:127,"
    "C_base:27126,C_fpu_reduction:31,C_init_root:112,C_base_root:33311,Softmax_Temperature:140,Draw_Ply:320,"
    "UCT_NodeLimit:50000000,OwnBook:false,PV_Interval:0,DNN_Model:{model},UCT_Threads:2"
)
COMMAND = (
    "-u -m cshogi.cli {engine} {engine} {third} --name1 pre33 --name2 pre39 --name3 suisho5-16thx5000 --options1 "
    f"{OPTIONS} --options2 {OPTIONS} --options3 NodesLimit:250000000,FV_SCALE:24,USI_Hash:10240,Threads:16,"
    "PvInterval:9999,ResignValue:10000,MaxMovesToDraw:320,NetworkDelay2:0 --opening-moves 100 --draw {draw} "
    "--games {games} --pgn {folder}/20230109_pre33_vs_pre39_po50k.pgn "
    "--csa {folder}/csa-20230109-pre33vspre39-rnd/po50k"
)


def write_program(path: Path, *command: str) -> Path:
    """A program without arguments, as cshogi.cli starts it."""
    python_path = os.pathsep.join(str(Path(entry).absolute()) for entry in sys.path if entry)
    path.write_text(f'#!/bin/sh\nPYTHONPATH="{python_path}" exec {shlex.join((sys.executable, *command))}\n')
    path.chmod(0o755)
    return path


def test_a_league_of_three_engines(tmp_path: Path) -> None:
    pytest.importorskip("cshogi")
    engine = write_program(tmp_path / "usi.sh", "-m", "fukayomi", "usi")
    third = write_program(tmp_path / "third.sh", str(HELPERS / "random_engine.py"))
    words = COMMAND.format(
        engine=engine, third=third, folder=tmp_path, model="<hash>", playouts=100, games=2, draw=8
    ).split()
    done = subprocess.run((sys.executable, *words), capture_output=True, text=True, timeout=600, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "2 of 2 games finished." in done.stdout
    assert done.stdout.count("まで8手で持将棋") == 6, done.stdout
    assert not re.search("反則|切れ負け|Traceback", done.stdout + done.stderr)
    games = (tmp_path / "20230109_pre33_vs_pre39_po50k.pgn").read_text().split('[Event "?"]')[1:]
    assert len(games) == 6
    moves = [game.partition("\n\n")[2] for game in games if "pre33" in game and "pre39" in game]
    assert len(set(moves)) == 2, "the moves are random"
    # cshogi names the files by the second, so that quick games may overwrite each other.
    records = [
        read_record(path) for path in (tmp_path / "csa-20230109-pre33vspre39-rnd" / "po50k").glob("pre*pre39*.csa")
    ]
    assert records
    assert all(move.score_cp is not None for record in records for move in record.moves)


def test_every_option_of_the_command_is_taken(start: Start) -> None:
    client = start()
    for pair in OPTIONS.format(model="<hash>", playouts=50_000).split(","):
        client.set_option(*pair.split(":"))
    assert strings(client) == []
    client.position()
    info = client.go(Go(), PATIENCE_S).best_info
    assert info is not None
    assert info.nodes == 50_000
