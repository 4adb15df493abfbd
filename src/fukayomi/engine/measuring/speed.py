"""The speed of a network on this computer, alone and in the search, and the signature of the search."""

import time
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from fukayomi._native import HashEvaluator, Search, SearchParams
from fukayomi.engine.engine import Engine
from fukayomi.engine.evaluators.protocol import PlaneSlot
from fukayomi.engine.evaluators.timing import filled_slot, run_batches
from fukayomi.engine.network import Network
from fukayomi.errors import InvalidValueError
from fukayomi.listener import SILENT, Listener
from fukayomi.shogi import Position
from fukayomi.tabular import Tabular

if TYPE_CHECKING:
    from fukayomi.engine.evaluators.protocol import Evaluator


SECONDS = 5.0
"""Duration of each measurement."""
WARM_UP_BATCHES = 2


@dataclass(frozen=True)
class SearchSpeed:
    """Speed of the search of one position."""

    position: str
    """Name of the position."""
    nodes: int
    """Positions searched: evaluated by the network, or found in its cache."""
    evaluations: int
    """Positions that the network evaluated."""
    seconds: float
    """Duration."""
    nodes_per_s: float
    """Nodes per second."""


@dataclass(frozen=True, repr=False)
class NetworkSpeed(Tabular):
    """Speed of a network; `measure_speed` returns it. As a table it has one row per position searched."""

    network: str
    """Name of the network."""
    identity: str
    """Hash of the network with precision and device."""
    batch_size: int
    """Positions per batch."""
    slots: int
    """Batches in flight at once."""
    evaluations_per_s: float
    """Positions per second of the network alone, in full batches."""
    searches: tuple[SearchSpeed, ...]
    """The searches, in the order of the positions."""

    def rows(self) -> Sequence[Mapping[str, Any]]:
        """One row per position searched."""
        return [vars(search) for search in self.searches]

    def __repr__(self) -> str:
        return f"<NetworkSpeed: {self.network}, {self.evaluations_per_s:.0f} evaluations/s>"


def measure_speed(
    network: Network,
    positions: Mapping[str, Position] | None = None,
    *,
    nodes: int | None = None,
    seconds: float = SECONDS,
    listener: Listener = SILENT,
) -> NetworkSpeed:
    """Measure evaluations per second of a network alone, and nodes per second of the search with it.

        >>> from fukayomi import Network, Position
        >>> from fukayomi.engine import measure_speed
        >>> with Network("<uniform>") as network:
        ...     speed = measure_speed(network, {"start": Position()}, nodes=500, seconds=0.1)
        >>> speed.searches[0].nodes, speed.evaluations_per_s > 0
        (500, True)

    Args:
        network: The network, with its batch size and its batches in flight.
        positions: The positions to search, by name. Each is searched with an empty tree. None: the start position.
        nodes: Nodes of each search; None: as many as the time allows.
        seconds: Duration of each measurement without `nodes`.
        listener: Told of the measurements done so far.

    Raises:
        EvaluatorError: The network failed.
        ValueError: There is no position, or one is mated.
    """
    positions = {"start": Position()} if positions is None else positions
    if not positions or any(position.is_mated() for position in positions.values()):
        raise InvalidValueError("only positions with a legal move can be searched")
    total = 1 + len(positions)
    listener.progress("measuring", 0, total)
    evaluations_per_s = _evaluations_per_s(network.evaluator, tuple(positions.values()), seconds)
    searches: list[SearchSpeed] = []
    for name, position in positions.items():
        listener.progress("measuring", 1 + len(searches), total)
        with Engine(network) as engine:
            time_ms = max(1, round(1000 * seconds)) if nodes is None else None
            progress = engine.search(position, nodes=nodes, time_ms=time_ms).progress
        nodes_per_s = progress.nodes / max(progress.seconds, 1e-9)
        searches.append(SearchSpeed(name, progress.nodes, progress.evaluations, progress.seconds, nodes_per_s))
    evaluator = network.evaluator
    return NetworkSpeed(
        network.name, network.identity, evaluator.batch_size, evaluator.slots, evaluations_per_s, tuple(searches)
    )


def _evaluations_per_s(evaluator: "Evaluator", positions: Sequence[Position], seconds: float) -> float:
    """Positions per second in full batches, with as many in flight as the evaluator takes."""
    size = evaluator.batch_size
    slots = [filled_slot(evaluator, size, positions) for _ in range(evaluator.slots)]
    for _ in range(WARM_UP_BATCHES):
        evaluator.run(slots[0], size)
    start = time.perf_counter()
    return run_batches(evaluator, slots, size, seconds) * size / (time.perf_counter() - start)


POSITIONS = (
    # Openings, and handicaps.
    "startpos",
    "startpos moves 7g7f 3c3d",
    "sfen lnsgkgsn1/1r5b1/ppppppppp/9/9/9/PPPPPPPPP/1B5R1/LNSGKGSNL w - 1",
    "sfen lnsgkgsnl/9/ppppppppp/9/9/9/PPPPPPPPP/1B5R1/LNSGKGSNL w - 1",
    # Games between computers at 10, 18, 24 ... 140 plies.
    "sfen lnsg2snl/1r2k1gb1/p1ppppppp/1p7/7R1/9/PPPPPPP1P/1B7/LNSGKGSNL b P 11",
    "sfen ln1g3nl/1r2k1gs1/p1sppp1pp/2p3p2/1p6B/2P4PP/PP1PPPP2/2K5R/LNSG1GSNL b b 19",
    "sfen lnsg2+R1l/3k4r/ppppp4/5p2p/6p2/2P6/PP1PPPPnP/9/LNSGKGSNL b BGS2Pb 25",
    "sfen lns1kgsn1/2g2r3/ppp2b2l/7Rp/2P3p2/3+B5/PPNPPPP1P/1S2G4/L2GK1SNL b 4Pp 31",
    "sfen kng5l/ls2gr3/ppppp2pp/5P3/3P5/P1P2p3/1P2P1+RPP/1BGKS4/LN5NL w BNPg2sp 46",
    "sfen ln1g5/1ks1g4/ppp2pnP1/3ps1rp1/P3p4/2P6/1P1PPP2+b/1BS1G1PR1/LNKG5 b L2Psnlp 53",
    "sfen l+R1G4l/4g4/p1kspp3/2p3p2/1P1p4p/2P6/PSNPP+rP1P/2GK5/L4G1NL b S2NP2bs3p 61",
    "sfen l5knl/r1s1Spr2/p1np+B2pp/2p4g1/bp3N3/2PS5/PPNPP3P/2GK2S2/L4G2L b G5p 67",
    "sfen ln5nl/1r4gk1/3p1g1s1/p1s1ppppp/1p1P5/P1p5P/1P1GPPP2/2S4R1/LNG1K1SNL b BPbp 73",
    "sfen lr5nl/3g2gk1/p1n3sp1/2s1ppp1p/P2p3P1/1bP1PPP1P/3GSSN2/2G2K3/LN5RL b B2P2p 79",
    "sfen l4gs+Bl/7p1/p3B2kp/5Sps1/7g1/3PP1N2/P2GKPP1P/5G3/L+rP4NL b R2N3Ps4p 85",
    "sfen lr4g2/3gkg3/3spsP1l/p1pp1pb+Rp/1n2N1S2/P1PP1P3/1PK1PB2P/1G7/LN6L b N3Psp 91",
    "sfen l1r4nl/4S1gk1/p1P1p1s2/2GP3pp/3g1pp2/PP1p5/2G1PPS1P/1B1S1R3/LNK4NL w N2Pb2p 96",
    "sfen 1n2gk3/3s1g1p1/2p1pp1sp/3N5/S2pBP1Nl/2P1L1P1L/LP1PP4/r1GRK1+p2/1+p3G3 b 2Pbsn2p 101",
    "sfen lr7/3gkg2B/4p1p1p/p2p1p1p1/1p7/P1p+B2s1P/SP1GPP3/1G2+s4/LK1r3NL b SNP2nl3p 107",
    "sfen 7k1/l1s1+L1g2/1bpp1pbp1/p5psP/1P3r2p/PpPS2PN1/3PGP3/2GK2S2/L6RL b G3NP2p 111",
    "sfen lr5nl/9/2G2+SSpk/pn2p1p2/1pP2N2p/P2P2PP1/2SKP3P/1GG1G4/+r7L w N3P2bsl2p 116",
    "sfen r6nl/3g1kg2/N1ps4P/P2pp1g2/5ps1p/1PK1SPp2/4P4/5G1p1/4B2RL b BSNL2Pnl4p 121",
    "sfen l2R2pkl/3p2g2/2p4p1/p2bpp+B1p/1s3N1P1/2P1P1P1P/P4P3/4G1K2/Lr3G1sL b G2S3N2Pp 127",
    "sfen 5Ggnl/2+R3nk1/p3+Pp1pp/6p2/2Gp5/1P4P2/PS+b2PN1P/KR5P1/L1s5L b BSN3Pgsl2p 133",
    "sfen l2n4l/1g2n2k1/p1P+B1p2p/4p4/4sNP2/9/PP1PPSp1P/KSp3B2/L4G3 b 2R2GS2Pnl3p 141",
    # Many drops.
    "sfen l6nl/5+P1gk/2np1S3/p1p4Pp/3P2Sp1/1PPb2P1P/P5GS1/R8/LN4bKL w RGgsn5p 1",
    # Mates in one, three, five and seven.
    "sfen 8l/G1+L6/1+R1g2n1p/ppsp2p2/2k2p2P/PP1P2P2/2S1RP3/4P4/LKN1B2NL b P4pn2s2gb 1",
    "sfen l3k2nl/4g1gb1/1+S1pspp+P1/p1p6/3n4p/2PPR1P2/P2bPP2P/5GS2/LN1K4L w R2Pgsn2p 50",
    "sfen lnG4nl/5k3/p1p+R1g1p1/1p1p3sp/5N3/2P1p1p2/PP1GP3P/1SG2+p1+b1/LN1K4L w Srbs4p 60",
    "sfen ln+P3s+Pl/2+R1Gsk2/p3pp1g1/4r1ppp/1NS6/6P2/PP1+bPPS1P/3+p1K3/LG3G1NL w Nb3p 72",
    "sfen ln1s3nl/1+S4+B2/p1p1k2pp/3p2P2/7P1/P1Pnpp1R1/1P1P+lP2P/2G1G4/L1SKP2N+b b R2GPsp 73",
    "sfen 4p2+P1/2g1+N4/2n6/1Rpb1pp1p/4P4/k1P1SPP2/1G1SB4/1S2KG1P1/6+r2 w PLS6p3l2ng 1",
    # Repetition: one that has come, others that may.
    "startpos moves 2h3h 8b7b 3h2h 7b8b",
    "startpos moves 2h3h 8b7b 3h2h 7b8b 2h3h 8b7b 3h2h 7b8b 2h3h 8b7b",
    "sfen 8k/9/9/9/9/9/9/9/K8 b Rr2b4g4s4n4l18p 1 moves R*1h 1a2a 1h2h 2a1a 2h1h 1a2a 1h2h 2a1a",
    "sfen 4k4/9/9/9/9/9/9/9/4K4 b RBGSNLPrbgsnlp 1 moves 5i5h 5a5b 5h5i 5b5a",
    # Declaration wins: one move before, or nearly so.
    "sfen 1K7/GGGGSSSS+N/9/N8/9/9/9/9/k8 b 2R2B11P 1",
    "sfen K1r6/GGGGSSSS+N/N8/9/9/9/9/9/k8 b R2B11P 1",
    "sfen +R+R+B+B5/4K4/+P+P+P+P+P+P+P+P1/9/9/9/9/9/4k4 w - 1",
    "sfen +R+R+B+B5/4K4/+P+P+P+P+P+P+P2/4P4/9/9/9/9/4k4 b GSNL2g3s3n3l9p 1",
)
"""Arguments of USI's `position` command."""
NODES = 1000
"""Nodes for each position."""
BATCH = 8
MEMORY_MB = 16


@dataclass(frozen=True, slots=True)
class SignatureRow:
    """Work of a search on one position."""

    position: str
    """The position, as USI writes it."""
    nodes: int
    """Nodes: fewer than asked for where the result is proven."""
    playouts: int
    """Nodes and visits of proven results."""
    best: str
    """The best move, and what is proven of it."""
    visits: int
    """Its visits."""

    def text(self) -> str:
        """The row as a line."""
        return f"{self.nodes:5} {self.playouts:5} {self.visits:5}  {self.best:13} {self.position}"


@dataclass(frozen=True, slots=True)
class Signature:
    """The rows of all positions."""

    rows: tuple[SignatureRow, ...]

    def __str__(self) -> str:
        """One line: a checksum of the rows, and the sums of their counts."""
        checksum = zlib.crc32("\n".join(row.text() for row in self.rows).encode())
        nodes, playouts = sum(row.nodes for row in self.rows), sum(row.playouts for row in self.rows)
        return f"signature {checksum:08x}: {len(self.rows)} positions, {nodes} nodes, {playouts} playouts"


def search_signature() -> Signature:
    """Search the 40 positions; takes a fraction of a second.

    The signature is what the search does with them, to the last visit. A change that is meant to alter nothing but the
    speed leaves it as it is. It is the same on every computer: the hash evaluator stands for a network, one thread
    searches, and nothing depends on time or memory.
    """
    evaluator, slot = HashEvaluator(), PlaneSlot.zeros(BATCH)
    return Signature(tuple(_row(position, evaluator, slot) for position in POSITIONS))


def _row(position: str, evaluator: HashEvaluator, slot: PlaneSlot) -> SignatureRow:
    search = Search(SearchParams(), MEMORY_MB)
    search.set_position(Position.from_usi(position))
    batch = search.new_batch(BATCH)
    while (left := NODES - search.nodes) > 0:
        limit = min(BATCH, left)
        n = search.gather(batch, slot.input, 0, limit)
        if n == 0:
            break  # the result is proven
        evaluator.run(slot.input, n, slot.logits, slot.values)
        search.apply(batch, slot.logits, slot.values)
    best = search.lines(1)[0]
    mate = "" if best.mate is None else f" mate {best.mate}"
    return SignatureRow(position, search.nodes, search.playouts, best.move.usi() + mate, best.visits)
