"""A table of hostile conversations with a CSA server, each from a seed, with the result for the honest side."""

import asyncio
import contextlib
import random
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from csa_peers import Peer, honest_game

from fukayomi.clients.csa.text import csa_text
from fukayomi.shogi import Position

Act = Callable[[Peer, random.Random], Awaitable[None]]
FOUL, ILLEGAL, TIME_UP = ["#ILLEGAL_ACTION", "#WIN"], ["#ILLEGAL_MOVE", "#WIN"], ["#TIME_UP", "#WIN"]
REJECTED = ["REJECT"]
HONEST = ["#RESIGN", "#WIN"]
"""Two honest players meet beside the hostile client, which does not even log in."""


@dataclass(frozen=True)
class Conversation:
    """A hostile conversation."""

    seed: int
    stage: str
    """``login``, ``proposal``, ``turn`` (the hostile client is to move) or ``wait`` (the honest one is)."""
    name: str
    act: Act
    expected: list[str]
    """The last lines of the honest side."""
    plies: int
    """Moves before the act."""


def _says(*lines: str) -> Act:
    async def act(peer: Peer, _: random.Random) -> None:
        peer.send(*lines)

    return act


def _sends(make: Callable[[random.Random], bytes]) -> Act:
    async def act(peer: Peer, chooser: random.Random) -> None:
        with contextlib.suppress(ConnectionError):
            peer.send_raw(make(chooser))

    return act


async def _leaves(peer: Peer, _: random.Random) -> None:
    peer.writer.close()


async def _resets(peer: Peer, _: random.Random) -> None:
    peer.reset()


async def _half_line_and_leaves(peer: Peer, _: random.Random) -> None:
    peer.send_raw(b"+77")
    await peer.writer.drain()
    peer.writer.close()


async def _moves_twice(peer: Peer, chooser: random.Random) -> None:
    moves = peer.position.legal_moves
    peer.send(csa_text(peer.position, chooser.choice(moves)), csa_text(peer.position, chooser.choice(moves)))


async def _moves_with_a_long_comment(peer: Peer, chooser: random.Random) -> None:
    move = csa_text(peer.position, chooser.choice(peer.position.legal_moves))
    peer.send(f"{move},'* 30 {'x' * 6000}")


async def _moves_with_odd_comment_and_leaves(peer: Peer, chooser: random.Random) -> None:
    move = csa_text(peer.position, chooser.choice(peer.position.legal_moves))
    peer.send(f"{move},{chooser.choice(['*', '* 99999999999999', '* 5 -0000XX', '** 1 +7776FU', ';'])}")
    await peer.until("+", "-")
    peer.writer.close()


async def _takes_the_opponents_piece(peer: Peer, _: random.Random) -> None:
    other = "-" if peer.sign == "+" else "+"
    peer.send(f"{other}7776FU" if other == "+" else f"{other}3334FU")


async def _impossible_move(peer: Peer, chooser: random.Random) -> None:
    text = chooser.choice(["5951OU", "0055FU", "9999FU", "0000XX", "7776TO", "8822UM", "1234QQ", "5958KI", "2868GI"])
    peer.send(peer.sign + text)


def _flood_of(line: bytes) -> Act:
    async def act(peer: Peer, _: random.Random) -> None:
        with contextlib.suppress(ConnectionError):
            for _round in range(40):
                peer.send_raw(line * 200)
                await peer.writer.drain()

    return act


async def _silence(peer: Peer, _: random.Random) -> None:
    pass


def _garbage(chooser: random.Random) -> bytes:
    return bytes(chooser.choice(b"ABCxyz0189 %#'*:,;") for _ in range(chooser.randrange(5, 60))).lstrip(b" %#") + b"!\n"


def _not_utf_8(chooser: random.Random) -> bytes:
    return b"\xff\xfe\x80" + chooser.randbytes(20).replace(b"\n", b"") + b"\n"


def _endless(chooser: random.Random) -> bytes:
    return bytes([chooser.choice(b"A+7%")]) * chooser.choice([5000, 70_000, 300_000])


BREACHES: dict[str, Act] = {
    "garbage": _sends(_garbage),
    "bytes that are not UTF-8": _sends(_not_utf_8),
    "an endless line": _sends(_endless),
    "leaves": _leaves,
    "resets": _resets,
    "half a line, and leaves": _half_line_and_leaves,
    "LOGIN again": _says("LOGIN a b"),
    "empty lines, too many": _flood_of(b"\n"),
    "extended commands, too many": _flood_of(b"%%WHO\n"),
    "NULs": _sends(lambda _: b"\0\0\0\0\n"),
    "a server's words": _says("#WIN"),
    "another server's word": _says("%SENNICHITE"),
}
LOGIN: dict[str, Act] = {
    **BREACHES,
    "a move": _says("+7776FU"),
    "a name with a slash": _says("LOGIN ../../etc x-2-0,s"),
    "a name of a thousand letters": _says(f"LOGIN {'n' * 1000} x-2-0,s"),
    "no password": _says("LOGIN name"),
    "a game name with a newline": _says("LOGIN name a\tb,s"),
    "silence": _silence,
}
PROPOSAL: dict[str, Act] = {
    **BREACHES,
    "REJECT": _says("REJECT"),
    "a move before START": _says("+7776FU"),
    "AGREE to another game": _says("AGREE another"),
    "resigns before START": _says("%TORYO"),
    "LOGOUT": _says("LOGOUT"),
    "silence": _silence,
}
TURN: dict[str, tuple[Act, list[str]]] = {
    **{name: (act, FOUL) for name, act in BREACHES.items()},
    "an impossible move": (_impossible_move, ILLEGAL),
    "the opponent's piece": (_takes_the_opponents_piece, ILLEGAL),
    "half a move": (_says("+77"), ILLEGAL),
    "a declaration": (_says("%KACHI"), ILLEGAL),
    "two moves": (_moves_twice, FOUL),
    "a move with a long comment": (_moves_with_a_long_comment, FOUL),
    "an odd comment, and leaves": (_moves_with_odd_comment_and_leaves, FOUL),
    "moves, too many": (_flood_of(b"+0055OU\n"), ILLEGAL),
    "AGREE again": (_says("AGREE"), FOUL),
    "LOGOUT": (_says("LOGOUT"), FOUL),
    "offers to break off, and is silent": (_says("%CHUDAN"), TIME_UP),
    "half a line, and is silent": (_sends(lambda _: b"+77"), TIME_UP),
    "silence": (_silence, TIME_UP),
    "resigns": (_says("%TORYO"), HONEST),
}
WAIT: dict[str, tuple[Act, list[str]]] = {
    **{name: (act, FOUL) for name, act in BREACHES.items()},
    "a move": (_says("+7776FU"), FOUL),
    "a declaration": (_says("%KACHI"), FOUL),
    "LOGOUT": (_says("LOGOUT"), FOUL),
    "resigns": (_says("%TORYO"), HONEST),
}


def conversation(seed: int) -> Conversation:
    """The conversation of a seed; the table has one for each."""
    chooser = random.Random(seed)
    stage = chooser.choice(["login", "proposal", "turn", "turn", "turn", "wait"])
    plies = chooser.randrange(0, 9)
    if stage in ("login", "proposal"):
        table = LOGIN if stage == "login" else PROPOSAL
        name = chooser.choice(sorted(table))
        return Conversation(seed, stage, name, table[name], HONEST if stage == "login" else REJECTED, plies)
    acts = TURN if stage == "turn" else WAIT
    name = chooser.choice(sorted(acts))
    act, expected = acts[name]
    return Conversation(seed, stage, name, act, expected, plies)


async def hold(port: int, talk: Conversation) -> list[str]:
    """Hold a conversation; the last lines of the honest side (``REJECT``: the game was not begun)."""
    chooser = random.Random(talk.seed)
    game = f"c{talk.seed}-2-0"
    bad, good = f"bad{talk.seed}", f"good{talk.seed}"
    if talk.stage == "login":
        async with Peer(port) as peer:
            await talk.act(peer, chooser)
            first, second = await honest_game(port, [good, f"better{talk.seed}"], game)
            return first if first[-1] == "#WIN" else second
    async with Peer(port) as peer, Peer(port) as honest:
        names = [(peer, bad), (honest, good)]
        for each, name in names if talk.seed % 2 else names[::-1]:  # the first has the black pieces
            assert await each.login(name, game) == f"LOGIN:{name} OK"
        await asyncio.gather(peer.proposal(), honest.proposal())
        honest.send("AGREE")
        if talk.stage == "proposal":
            await talk.act(peer, chooser)
            return [(await honest.until("REJECT", "START"))[:6]]
        await peer.start()
        assert await honest.until("START:")
        return await _in_play(talk, peer, honest, chooser)


async def _in_play(talk: Conversation, peer: Peer, honest: Peer, chooser: random.Random) -> list[str]:
    honest.position = Position()
    playing = asyncio.create_task(
        honest.play(talk.seed) if talk.stage == "turn" else honest.play(talk.seed, talk.plies)
    )
    if talk.stage == "turn":
        ended = await peer.play(talk.seed + 1, talk.plies)
        assert not ended
        await talk.act(peer, chooser)
        return await playing
    follow = asyncio.create_task(peer.play(talk.seed + 1))
    ended = await playing  # the honest side is to move, and thinks
    assert not ended
    await talk.act(peer, chooser)
    lines = await honest.end()
    follow.cancel()
    with contextlib.suppress(asyncio.CancelledError, Exception):
        await follow
    return lines
