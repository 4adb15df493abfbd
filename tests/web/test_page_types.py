"""The types of what server and page say to each other: the server's answers are of them, and the file is up to date."""

import importlib.util
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import run_samples
from patience import until
from places import ROOT
from web_client import ask, open_socket, receive, send

from fukayomi.web import WebServer


@pytest.fixture(scope="module")
def tool() -> ModuleType:
    spec = importlib.util.spec_from_file_location("page_types", ROOT / "tools" / "generate" / "page_types.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_file_is_up_to_date(tool: ModuleType) -> None:
    assert tool.FILE.read_text(encoding="utf-8") == tool.declarations(), "run python tools/generate/page_types.py"


def test_faults_are_found(tool: ModuleType) -> None:
    faults = list(tool.faults({"a": [1, None], "b": "c"}, dict[str, list[int]]))
    assert faults == [".a[1] is None", ".b is str"]
    assert list(tool.faults({"id": 1, "name": None, "kind": "x"}, tool.ServedFile)) == [".name is None", ".kind is 'x'"]
    assert ".version is missing" in list(tool.faults({}, tool.RunList))


def test_positions_records_and_the_state(tool: ModuleType, server: WebServer) -> None:
    record = b"position startpos moves 7g7f 3c3d"
    assert list(tool.faults(ask(server, "GET", "/api/state").json, tool.ServerState)) == []
    facts = ask(server, "POST", "/api/position", {"moves": ["7g7f"]}).json
    assert list(tool.faults(facts, tool.Facts)) == []
    assert list(tool.faults(ask(server, "POST", "/api/records?name=", record).json, tool.OpenedGames)) == []
    worth = {"moves": ["7g7f"], "beside": {}, "together": ["8h", "2h"]}
    assert list(tool.faults(ask(server, "POST", "/api/worth", worth).json, tool.WorthAnswer)) == []


def test_play(tool: ModuleType, server: WebServer) -> None:
    state = ask(server, "POST", "/api/play", {"nodes": 1, "main_ms": 60_000}).json
    at = f"/api/play/{state['id']}"
    assert list(tool.faults(ask(server, "POST", f"{at}/hint", {}).json, tool.PlayHint)) == []
    assert list(tool.faults(ask(server, "POST", "/api/mate", {}).json, tool.MateAnswer)) == []
    moved = ask(server, "POST", f"{at}/move", {"usi": "7g7f", "ply": 0}).json
    ended = ask(server, "POST", f"{at}/resign", {}).json
    for each in (state, moved, ended):
        assert list(tool.faults(each, tool.PlayMessage)) == []
    assert list(tool.faults(ask(server, "GET", f"{at}/record").json, tool.GameRecord)) == []
    for each in ask(server, "GET", "/api/strength").json["measured"]:
        assert list(tool.faults(each, tool.Measured)) == []
    ask(server, "DELETE", at)


def test_a_book(tool: ModuleType, serve: Any, tmp_path: Path) -> None:
    server = serve(book=tmp_path / "book.db")
    added = ask(server, "POST", "/api/book/add", {"usi": "7g7f"}).json
    assert list(tool.faults(added, tool.BookAdded)) == []
    assert list(tool.faults(ask(server, "POST", "/api/book", {}).json, tool.BookAnswer)) == []


def test_live_analysis_and_jobs(tool: ModuleType, server: WebServer) -> None:
    opened = ask(server, "POST", "/api/records?name=", b"position startpos moves 7g7f 3c3d").json
    with open_socket(server) as socket:
        send(socket, type="analyse", id=1, limit={"nodes": 200})
        assert list(tool.faults(receive(socket, "state"), tool.StateMessage)) == []
        assert list(tool.faults(receive(socket, "report"), tool.ReportMessage)) == []
        assert list(tool.faults(receive(socket, "end"), tool.EndMessage)) == []
    question = {"kind": "analyse-game", "record": opened["games"][0], "limits": {"nodes": 20}}
    number = ask(server, "POST", "/api/jobs", question).json["id"]
    until(lambda: ask(server, "GET", f"/api/jobs/{number}").json["state"] == "done")
    assert list(tool.faults(ask(server, "GET", f"/api/jobs/{number}").json, tool.JobDocument)) == []


def test_runs_and_matches(tool: ModuleType, serve: Any, tmp_path: Path) -> None:
    run_samples.training_run(tmp_path / "a")
    run_samples.match(tmp_path / "m1", games=6)
    run_samples.match(tmp_path / "m2", games=6)
    run_samples.learning_run(tmp_path / "learn", generations=1)
    (tmp_path / "bad").mkdir()
    (tmp_path / "bad" / "log.jsonl").write_text("no JSON\n")
    server: WebServer = serve(files=(tmp_path,))
    listed = ask(server, "GET", "/api/runs").json
    assert list(tool.faults(listed, tool.RunList)) == []
    kinds = {"training": tool.TrainingDocument, "learning": tool.LearningDocument, "selfplay": tool.SelfplayDocument}
    seen: set[str] = set()
    for each in listed["runs"]:
        of = "matches" if each["kind"] in ("match", "league") else "runs"
        found = ask(server, "GET", f"/api/{of}/{each['id']}").json
        kind = tool.DamagedDocument if "error" in found else kinds.get(each["kind"], tool.MatchDocument)
        assert list(tool.faults(found, kind)) == [], each["name"]
        seen.add("damaged" if "error" in found else each["kind"])
        if each["kind"] in ("match", "selfplay"):
            assert list(tool.faults(ask(server, "GET", f"/api/{of}/{each['id']}/games").json, tool.GamePage)) == []
    assert seen == {"training", "learning", "selfplay", "match", "league", "damaged"}
