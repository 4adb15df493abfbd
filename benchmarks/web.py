"""The page: how soon it is there and answers while the engine searches, and what it costs the search.

    python benchmarks/web.py [--json] [--seconds 5] [--rounds 4] [--moves 100] [--watchers 20] [--model FILE]

* ``ready_ms``: from the request of the page until its script has drawn it, by the page's own clock, in Debian's
  Chromium with an empty cache; null without it.
* ``move_p95_ms``: a move on the board (POST /api/position after 60 plies) while the engine searches; 95th percentile.
* ``first_report_ms``: from the request of an analysis of a new position to its first report; median.
* ``search_loss``: share of evaluations per second that the search loses to the server and a page that watches, beside
  the same search without a server, in turn.
* ``watched_loss``: the same with ``--watchers`` pages.
"""

import argparse
import http.client
import json
import shutil
import statistics
import threading
import time
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from websockets.exceptions import ConnectionClosed
from websockets.sync.client import ClientConnection, connect

from fukayomi.engine.control import Control, Limits
from fukayomi.engine.search import Searcher
from fukayomi.shogi import Position
from fukayomi.web import WebServer, WebSettings

MULTIPV = 10


def game(plies: int) -> list[str]:
    """A game: always the move in the middle of the legal ones."""
    position, moves = Position(), list[str]()
    while len(moves) < plies and position.legal_move_count > 0:
        legal = position.legal_moves
        moves.append(legal[len(legal) // 2].usi())
        position.push_usi(moves[-1])
    return moves


def open_socket(server: WebServer) -> ClientConnection:
    """A socket as the page has it."""
    headers = {"Cookie": server.cookie, "Origin": server.origin}
    return connect(f"{server.origin.replace('http', 'ws', 1)}/ws", additional_headers=headers, proxy=None)


def analyse(socket: ClientConnection, number: int, moves: list[str]) -> None:
    """Ask for a search without limit."""
    question = {"type": "analyse", "id": number, "moves": moves, "multipv": MULTIPV, "limit": None}
    socket.send(json.dumps(question))


def report_of(socket: ClientConnection, number: int) -> dict[str, Any]:
    """The next report of a search."""
    while True:
        message = json.loads(socket.recv(timeout=600))
        if message["type"] == "report" and message["id"] == number:
            return message


def ready_ms(server: WebServer) -> float | None:
    """Time until the page is drawn; the median of five."""
    chromium = shutil.which("chromium")
    if chromium is None:
        return None
    from playwright.sync_api import sync_playwright

    times: list[float] = []
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium)
        for _ in range(5):
            page = browser.new_page()
            page.goto(server.address, wait_until="commit")
            page.wait_for_selector("html[data-ready]", state="attached")
            times.append(page.evaluate("performance.getEntriesByName('ready')[0].startTime"))
            page.close()
        browser.close()
    return statistics.median(times)


def move_p95_ms(server: WebServer, moves: list[str], count: int) -> float:
    """Time of the answer to a move, while the engine searches."""
    headers = {"Cookie": server.cookie, "Origin": server.origin}
    times: list[float] = []
    connection = http.client.HTTPConnection("127.0.0.1", server.port)
    with open_socket(server) as socket:
        analyse(socket, 1, moves)
        report_of(socket, 1)
        for n in range(count):
            body = json.dumps({"moves": moves[: len(moves) - n % 7]})
            began = time.perf_counter()
            connection.request("POST", "/api/position", body, headers)
            answer = connection.getresponse().read()
            times.append(1000 * (time.perf_counter() - began))
            assert b'"legal"' in answer
    connection.close()
    return statistics.quantiles(times, n=20)[-1]


def first_report_ms(server: WebServer, moves: list[str]) -> float:
    """Time from the request of a new position to its first report, while the one before is searched."""
    times: list[float] = []
    with open_socket(server) as socket:
        for number in range(min(20, len(moves))):
            began = time.perf_counter()
            analyse(socket, number, moves[:number])
            report_of(socket, number)
            times.append(1000 * (time.perf_counter() - began))
    return statistics.median(times)


def alone(server: WebServer, moves: list[str], seconds: float) -> float:
    """Nodes per second of a search without a page."""
    network, usi = server.state.network.wait(), server.state.network.usi
    position = Position()
    for usi_move in moves:
        position.push_usi(usi_move)
    searcher = Searcher(network.pool, usi.search_params(), memory_mb=usi.hash_mb)
    result = searcher.search(position, Control(Limits(time_ms=round(1000 * seconds))), mates=usi.mate_options())
    return result.progress.nodes / result.progress.seconds


def watched(server: WebServer, moves: list[str], seconds: float, pages: int) -> float:
    """Nodes per second of the same search while so many pages watch."""
    with ExitStack() as opened:
        sockets = [opened.enter_context(open_socket(server)) for _ in range(pages)]
        for socket in sockets:
            analyse(socket, 1, moves)
        readers = [threading.Thread(target=_read, args=(socket,), daemon=True) for socket in sockets[1:]]
        for reader in readers:
            reader.start()
        message = report_of(sockets[0], 1)
        while message["time_ms"] < 1000 * seconds:
            message = report_of(sockets[0], 1)
    return 1000 * message["nodes"] / message["time_ms"]


def _read(socket: ClientConnection) -> None:
    try:
        while True:
            socket.recv()
    except ConnectionClosed:
        return


def loss(measure: Callable[[list[str], int], float], alone: Callable[[list[str]], float], rounds: int) -> float:
    """Median of the lost shares over rounds, each with a position of its own, which no search has seen before."""
    shares: list[float] = []
    for number in range(rounds):
        before, after = [*game(2 * number + 1)], [*game(2 * number + 2)]
        shares.append(1 - measure(before, number) / alone(after))
    return statistics.median(shares)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=5)
    parser.add_argument("--rounds", type=int, default=4)
    parser.add_argument("--moves", type=int, default=100)
    parser.add_argument("--watchers", type=int, default=20)
    parser.add_argument("--model", type=Path, default=Path("<5x64>"))
    parser.add_argument("--evaluator", default="", help=argparse.SUPPRESS)
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    arguments = parser.parse_args()
    seconds = arguments.seconds
    options = (("Eval_Cache", "0"),)  # what one search knows must not help the next
    settings = WebSettings(model=arguments.model, evaluator=arguments.evaluator, options=options, port=0)
    with WebServer(settings) as server:
        server.state.network.wait()

        def measured(pages: int) -> float:
            return loss(
                lambda moves, _: watched(server, moves, seconds, pages),
                lambda moves: alone(server, moves, seconds),
                arguments.rounds,
            )

        report = {
            "ready_ms": ready_ms(server),
            "move_p95_ms": move_p95_ms(server, game(60), arguments.moves),
            "first_report_ms": first_report_ms(server, game(20)),
            "search_loss": measured(1),
            "watched_loss": measured(arguments.watchers),
        }
    if arguments.json:
        print(json.dumps(report))
        return
    for name, value in report.items():
        print(f"{name:16} {'-' if value is None else f'{value:.3g}'}")


if __name__ == "__main__":
    main()
