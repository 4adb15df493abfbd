"""Analyses of games on the page: jobs, their progress and stop, documents and files that were made before."""

import json
import threading
import zipfile
from pathlib import Path
from typing import Any

import pytest
from patience import until
from places import ROOT
from web_client import ask, open_socket, receive, send
from websockets.exceptions import ConnectionClosed

from fukayomi import analyse
from fukayomi.engine.analysis.game_analysis import GameAnalysis
from fukayomi.web import WebServer, WebSettings
from fukayomi.web.search.analyses import MOST_JOBS

MOVES = ("7g7f", "3c3d", "2g2f", "8c8d", "2f2e", "8d8e")
LINE = "startpos moves " + " ".join(MOVES)
OWN_THREADS = {"fukayomi-web-jobs", "fukayomi-web-live", "fukayomi-web-network"}
SMALL = {"nodes": 20, "multipv": 2}


def record_of(moves: tuple[str, ...] = MOVES) -> dict[str, Any]:
    nodes = [{"id": 0}, *({"id": n, "parent": n - 1, "usi": usi} for n, usi in enumerate(moves, 1))]
    return {"names": ["甲", "乙"], "nodes": nodes}


def begin(server: WebServer, **question: Any) -> int:
    asked = {"kind": "analyse-game", "record": record_of(), "limits": SMALL} | question
    answer = ask(server, "POST", "/api/jobs", asked)
    assert answer.status == 202, answer.body
    return answer.json["id"]


def job(server: WebServer, number: int) -> dict[str, Any]:
    return ask(server, "GET", f"/api/jobs/{number}").json


def finished(server: WebServer, number: int) -> dict[str, Any]:
    until(lambda: job(server, number)["state"] not in ("waiting", "running"))
    return job(server, number)


def test_job_makes_the_document_of_the_command(serve) -> None:
    server = serve()  # what others have searched would be in the cache, and searches find more there than alone
    with open_socket(server) as socket:
        number = begin(server)
        messages: list[dict[str, Any]] = []
        until(lambda: (messages.append(receive(socket, "job")), messages[-1]["state"] == "done")[1])
    assert {message["id"] for message in messages} == {number}
    assert [message["done"] for message in messages] == sorted(message["done"] for message in messages)
    assert (messages[-1]["done"], messages[-1]["total"]) == (7, 7)
    found = finished(server, number)
    expected = analyse(GameAnalysis.from_dict(found["result"]).record, nodes=20, multipv=2, network="<hash>")
    assert found["result"] == json.loads(json.dumps(expected.to_dict()))


def test_job_stops_keeps_what_it_has_and_another_goes_on(serve) -> None:
    server = serve()
    number = begin(server, limits={"nodes": 10_000_000})
    until(lambda: job(server, number)["state"] == "running")
    assert ask(server, "DELETE", f"/api/jobs/{number}").status == 200
    stopped = finished(server, number)
    assert stopped["state"] == "stopped"
    done = begin(server)
    whole = finished(server, done)["result"]
    again = begin(server, known=done)
    assert finished(server, again)["result"] == whole
    other = begin(server, known=done, record=record_of(("2g2f",)))  # another game: nothing is taken from it
    assert finished(server, other)["result"]["total_moves"] == 1


def test_jobs_wait_for_each_other_and_may_be_stopped_before_they_run(serve) -> None:
    server = serve()
    first = begin(server, limits={"nodes": 10_000_000})
    waiting = [begin(server) for _ in range(MOST_JOBS - 1)]
    refused = ask(server, "POST", "/api/jobs", {"kind": "analyse-game", "record": record_of()})
    assert refused.status == 429
    for number in waiting[1:]:
        assert ask(server, "DELETE", f"/api/jobs/{number}").status == 200
        assert job(server, number)["state"] == "stopped"
    ask(server, "DELETE", f"/api/jobs/{first}")
    assert finished(server, waiting[0])["state"] == "done"


def test_server_that_ends_ends_its_jobs_and_searches(serve) -> None:
    before = {thread.name for thread in threading.enumerate()}  # those of the server that all tests share
    server = serve()
    begin(server, limits={"nodes": 10_000_000})
    with open_socket(server) as socket:
        send(socket, type="analyse", id=1, limit=None)
        receive(socket, "report")
        server.__exit__()
        with pytest.raises(ConnectionClosed):
            receive(socket, "end")
    assert not [thread for thread in threading.enumerate() if thread.name in OWN_THREADS - before]


@pytest.mark.parametrize(
    ("question", "status"),
    [
        ({"kind": "other"}, 400), ({"limits": {"nodes": 0}}, 400), ({"limits": {"multipv": 99}}, 400),
        ({"record": {"nodes": [{"id": 0}, {"id": 1, "parent": 0, "usi": "7g7e"}]}}, 400),
        ({"record": {"start": "4k4/9/4P4/9/9/9/9/9/9 b G 1"}}, 400), ({"record": 5}, 400),
    ],
)  # fmt: skip
def test_jobs_that_cannot_be_done_are_refused(server: WebServer, question: dict[str, Any], status: int) -> None:
    answer = ask(server, "POST", "/api/jobs", {"kind": "analyse-game", "record": record_of()} | question)
    assert answer.status == status
    assert answer.error


def test_job_that_is_not_there(server: WebServer) -> None:
    assert ask(server, "GET", "/api/jobs/999999").status == 404
    assert ask(server, "DELETE", "/api/jobs/999999").status == 404


def test_job_fails_where_the_network_does(serve, tmp_path: Path) -> None:
    server = serve(evaluator="", model=tmp_path / "missing.onnx")
    found = finished(server, begin(server))
    assert (found["state"], found["result"]) == ("failed", None)
    assert "missing.onnx" in found["text"]


@pytest.fixture(scope="module")
def analysis(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of an analysis, as the command writes it."""
    folder = tmp_path_factory.mktemp("made") / "game-analysis"
    source = folder.with_name("game.usi")
    source.write_text(LINE)
    analyse(source, nodes=20, network="<hash>").save(folder)
    return folder


@pytest.mark.parametrize("name", ["", "analysis.json", "analysis.html"])
def test_analysis_made_earlier_is_opened(serve, analysis: Path, name: str) -> None:
    server = serve(files=(analysis / name,))
    [file] = ask(server, "GET", "/api/state").json["files"]
    assert (file["id"], file["kind"], file["name"]) == (1, "analysis", name or analysis.name)
    found = ask(server, "GET", "/api/files/1").json
    assert found["analysis"] == json.loads((analysis / "analysis.json").read_text())
    assert [node["usi"] for node in found["games"][0]["nodes"][1:]] == list(MOVES)


def test_document_that_is_sent_is_opened_and_a_damaged_one_refused(server: WebServer, analysis: Path) -> None:
    text = (analysis / "analysis.json").read_text()
    found = ask(server, "POST", "/api/records?name=a.json", text.encode()).json
    assert found["analysis"] == json.loads(text)
    damaged = json.loads(text) | {"mistakes": [77]}
    answer = ask(server, "POST", "/api/records?name=a.json", damaged)
    assert (answer.status, "mistakes" in answer.error) == (400, True)


def test_page_of_an_analysis_is_enough(serve, analysis: Path, tmp_path: Path) -> None:
    alone = tmp_path / "from a friend.html"
    alone.write_bytes((analysis / "analysis.html").read_bytes())
    server = serve(files=(alone,))
    [file] = ask(server, "GET", "/api/state").json["files"]
    assert (file["kind"], file["name"]) == ("analysis", "from a friend.html")
    document = json.loads((analysis / "analysis.json").read_text())
    for found in (
        ask(server, "GET", "/api/files/1").json,
        ask(server, "POST", "/api/records?name=a.html", alone.read_bytes()).json,
    ):
        assert found["analysis"] == document
        assert [node["usi"] for node in found["games"][0]["nodes"][1:]] == list(MOVES)


def test_page_without_an_analysis_is_refused_with_a_remedy(serve, tmp_path: Path) -> None:
    page = tmp_path / "index.html"
    page.write_text("<!doctype html><title>7g7f</title>")
    server = serve(files=(page,))
    for answer in (
        ask(server, "GET", "/api/files/1"),
        ask(server, "POST", "/api/records?name=index.html", page.read_bytes()),
    ):
        assert answer.status == 400
        assert answer.error.startswith("index.html: a page without an analysis in it: open the analysis.json")


def test_files_of_the_command_line(serve, tmp_path: Path) -> None:
    single, archive, folder, empty = (tmp_path / name for name in ("<b>.usi", "games.zip", "games", "empty"))
    single.write_text(LINE)
    with zipfile.ZipFile(archive, "w") as packed:
        packed.writestr("a/one.usi", LINE)
        packed.writestr("two.csa", (ROOT / "examples" / "game.csa").read_bytes())
        packed.writestr("three.kif", "手合割：平手\n   1 ７六金(77)\n")
    folder.mkdir()
    (folder / "x.usi").write_text("startpos moves 2g2f")
    empty.mkdir()
    (tmp_path / "train").mkdir()
    (tmp_path / "train" / "log.jsonl").touch()
    server = serve(files=(single, archive, folder, empty, tmp_path / "train"))
    files = ask(server, "GET", "/api/state").json["files"]
    assert [(file["name"], file["kind"]) for file in files[:2]] == [("<b>.usi", "record"), ("games.zip", "record")]
    assert str(tmp_path) not in json.dumps(files)
    [game] = ask(server, "GET", "/api/files/1").json["games"]
    assert game["name"] == "<b>.usi"
    found = ask(server, "GET", "/api/files/2")
    assert [len(game["main"]) > 1 for game in found.json["games"]] == [True, True]
    assert len(found.json["problems"]) == 1
    assert str(tmp_path) not in found.body.decode()
    assert [game["name"] for game in ask(server, "GET", "/api/files/3").json["games"]] == ["x.usi"]
    assert [file["kind"] for file in files] == ["record"] * 4 + ["runs"]
    for number in (4, 5):
        nothing = ask(server, "GET", f"/api/files/{number}")
        assert nothing.status == 400
        assert str(tmp_path) not in nothing.body.decode()
    assert {run["name"] for run in ask(server, "GET", "/api/runs").json["runs"]} == {
        "train"
    }  # not what is beside files


def test_missing_file_is_said_at_the_start(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="no such file or folder"):
        WebServer(WebSettings(files=(tmp_path / "missing.kif",)))
