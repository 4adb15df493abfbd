"""What the server answers about runs and matches."""

import json
from pathlib import Path
from typing import Any

import pytest
import run_samples
from web_client import Answer, ask

from fukayomi.web import WebServer


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Runs and matches of each kind."""
    root = tmp_path / "shown"
    run_samples.training_run(root / "a")
    run_samples.match(root / "m1", games=6)
    run_samples.match(root / "m2", games=6)
    run_samples.learning_run(root / "learn", generations=1)
    return root


def ids(server: WebServer) -> dict[str, str]:
    return {each["name"]: each["id"] for each in ask(server, "GET", "/api/runs").json["runs"]}


def test_each_kind_has_a_document(serve, folder: Path) -> None:
    server: WebServer = serve(files=(folder,))
    named = ids(server)

    def get(path: str) -> Any:
        answer = ask(server, "GET", path)
        assert answer.status == 200, answer.body
        assert str(folder.parent).encode() not in answer.body, "no paths"
        return answer.json

    assert get(f"/api/runs/{named['shown/a']}")["last_step"] == 400
    assert get(f"/api/runs/{named['shown/learn']}")["generation"] == 1
    assert get(f"/api/runs/{named['shown/learn/games']}")["games"] == 6
    assert get(f"/api/matches/{named['shown/m1']}")["games"] == 6
    played = get(f"/api/runs/{named['shown/learn/games']}/games")["games"]
    (record,) = get(f"/api/runs/{named['shown/learn/games']}/games/{played[-1]['number']}")["games"]
    assert (played[-1]["number"], len(record["main"])) == (1, played[-1]["plies"] + 1)
    assert ask(server, "GET", f"/api/runs/{named['shown/learn/games']}/games/7").status == 404
    league = get(f"/api/matches/{named['shown']}")
    assert (league["kind"], league["games"]) == ("league", 12)
    assert [each["id"] for each in league["members"]] == [named["shown/m1"], named["shown/m2"]]
    games = get(f"/api/matches/{named['shown/m2']}/games")["games"]
    (record,) = get(f"/api/matches/{named['shown/m2']}/games/{games[0]['number']}")["games"]
    assert record["names"] == [games[0]["black"], games[0]["white"]]
    assert len(record["main"]) == games[0]["plies"] + 1


def test_a_document_that_a_page_has_is_not_sent_again(serve, folder: Path) -> None:
    server: WebServer = serve(files=(folder,))
    path = f"/api/runs/{ids(server)['shown/a']}"
    first = ask(server, "GET", path).json
    assert ask(server, "GET", f"{path}?known={first['version']}").json == {"version": first["version"], "same": True}
    run_samples.train_on(folder / "a", 410, 420)
    second = ask(server, "GET", f"{path}?known={first['version']}").json
    assert second.get("last_step") == 420 or second["same"], "it was read a moment ago"


def test_curves_are_smoothed_as_the_reader_wants(serve, folder: Path) -> None:
    server: WebServer = serve(files=(folder,))
    path = f"/api/runs/{ids(server)['shown/a']}"
    assert ask(server, "GET", path).json["smooth"] == 8
    document = ask(server, "GET", f"{path}?smooth=0&x=log").json
    assert "smooth" not in document["curves"]["policy_loss"]["train"]
    for wrong in ("-1", "nan", "x", ""):
        answer = ask(server, "GET", f"{path}?smooth={wrong}")
        assert (answer.status, answer.error) == (400, "smooth is a number of steps, 0 or more")


def test_ids_are_ids_and_no_paths(serve, folder: Path) -> None:
    server: WebServer = serve(files=(folder,))
    named = ids(server)
    wrong = [
        "/api/runs/nothing",
        f"/api/runs/{named['shown/m1']}",
        f"/api/matches/{named['shown/a']}",
        f"/api/matches/{named['shown']}/games",
        f"/api/matches/{named['shown/m1']}/games/99",
        f"/api/matches/{named['shown/m1']}/games/{10**30}",
        "/api/runs/..%2f..%2fetc",
        f"/api/runs/{str(folder / 'a').replace('/', '%2f')}",
    ]
    for path in wrong:
        assert ask(server, "GET", path).status == 404, path
    for before in ("-1", "x", "9" * 40):
        assert ask(server, "GET", f"/api/matches/{named['shown/m1']}/games?before={before}").status == 400


@pytest.mark.parametrize(
    ("file", "content", "message"),
    [
        ("log.jsonl", b'{"train": 3}\n{}\n', "shown/bad/log.jsonl, line 1: "),
        ("match.db", b"not a database at all, but long enough" * 40, "shown/bad/match.db"),
        ("run.toml", b"generations = [", "shown/bad/run.toml"),
    ],
)
def test_what_is_damaged_says_so_without_its_path(
    serve, tmp_path: Path, file: str, content: bytes, message: str
) -> None:
    bad = tmp_path / "shown" / "bad"
    bad.mkdir(parents=True)
    (bad / file).write_bytes(content)
    server: WebServer = serve(files=(tmp_path / "shown",))
    (found,) = ask(server, "GET", "/api/runs").json["runs"]
    group = "matches" if found["kind"] == "match" else "runs"
    answer: Answer = ask(server, "GET", f"/api/{group}/{found['id']}")
    assert answer.status == 200
    assert message in answer.json["error"]
    assert str(tmp_path) not in json.dumps(answer.json)


def test_a_server_without_folders_has_no_runs(server: WebServer) -> None:
    assert ask(server, "GET", "/api/runs").json["runs"] == []


@pytest.mark.parametrize("path", ["/api/runs", "/api/runs/x", "/api/matches/x", "/api/matches/x/games/1"])
def test_runs_are_guarded(server: WebServer, path: str) -> None:
    assert ask(server, "GET", path, cookie=None).status == 403
    assert ask(server, "GET", path, host="evil.example").status == 403
