"""Does a network learn from positions where it is wrong? Mined positions beside random ones of the same games.

    .venv/bin/python studies/disagreements.py games/ --base leaves.hcpe3 --openings balanced.sfen --out out/wrong

The network searches positions of --games games with --few and with --many nodes; what they disagree about is played on
(`fukayomi positions disagree`). Three networks then learn on from it for the same number of steps: from --base alone,
from --base and games that begin at the mined start positions (mined), and from --base and games that begin at as many
positions of the same games at the same plies (random). The games of the held-out positions take no part.

Each network searches the held-out positions with 2 to --most nodes (`fukayomi.disagreement.solve`), and those that its
games began from, and plays --match games against the first one from --openings, with the bounds -20 and 0 of Elo. The
nodes from which on each position has the right move are in `nodes_to_move`. The figures are printed as tables, and
stand in OUT/disagreements.json. Run the same command again to resume.
"""

import argparse
import random
import sys
from itertools import islice
from pathlib import Path
from typing import Any

from trained_arms import train_arm
from work_folder import Measurement, StoppedError

from fukayomi._native import encode_hcp
from fukayomi.arena.game.openings import read_openings
from fukayomi.arena.results.sources import read_game_records
from fukayomi.disagreement import Disagreement, DisagreementSettings, find_disagreements, read_disagreements, solve
from fukayomi.disagreement.games import is_usable
from fukayomi.disagreement.starts import is_held_out
from fukayomi.engine import Network
from fukayomi.engine.evaluators.backends.machine import usable_cpus
from fukayomi.engine.network import find_network
from fukayomi.files.atomic import replace_file
from fukayomi.learning import Dataset, export_network, load_network
from fukayomi.learning.training.configuration import LearningSettings
from fukayomi.listener import ProgressPrinter
from fukayomi.selfplay import SelfplaySettings, find_chunks, generate, play_networks
from fukayomi.selfplay.openings import Openings
from fukayomi.settings import build
from fukayomi.shogi import Position
from fukayomi.shogi.record import Record

BASE, MINED, RANDOM = "base", "mined", "random"
ARMS = (BASE, MINED, RANDOM)
SOLVED, MATCHES = "solved", "matches"
HELD_OUT, LEARNT = "held-out", "learnt"


class Study(Measurement):
    """The files of the study, each made once.

    Args:
        options: The command line.
    """

    def __init__(self, options: argparse.Namespace) -> None:
        super().__init__(options, "disagreements.json", ("data", SOLVED, MATCHES))

    @property
    def mined(self) -> Path:
        """Folder of the disagreements."""
        return self.folder / "positions"

    def records(self) -> list[Record]:
        """The games."""
        return list(islice(read_game_records(self.options.games_in), self.options.games))

    def held_out(self) -> list[Disagreement]:
        """The positions that are held out."""
        found = read_disagreements(self.mined)
        return [each for each in found if is_held_out(each, self.options.held_out, 0)]

    def learnt(self) -> list[Disagreement]:
        """The positions that games began from."""
        held = {each.line for each in self.held_out()}
        return [each for each in read_disagreements(self.mined) if each.line not in held]

    def mine(self) -> dict[str, Any]:
        """Find the disagreements."""
        options = self.options
        players = {
            name: {"network": options.network, "clock": f"nodes={nodes}"}
            for name, nodes in (("a", options.few), ("b", options.many))
        }
        names = ("gap", "confirm", "pairs", "per_game", "held_out")
        settings = build(
            DisagreementSettings, players, {name: getattr(options, name) for name in names} | {"most": options.judged}
        )
        found = find_disagreements(self.records(), self.mined, settings, listener=ProgressPrinter(sys.stderr))
        if not found.starts:
            sys.exit("no position has a verdict: give more games, or more --pairs")
        counts = {name: getattr(found, name) for name in ("searched", "differing", "starts", "held_out")}
        return counts | {"verdicts": found.rows(), "scales": found.scales}

    def draw(self) -> dict[str, int]:
        """Positions of the same games at the same plies as the mined start positions: as many, by chance."""
        chance = random.Random(self.options.seed)
        starts = read_openings(self.mined / "starts.sfen")
        held = {each.game for each in self.held_out()}
        records = [record for record in self.records() if record.name not in held]
        chance.shuffle(records)
        drawn: list[bytes] = []
        plies = [len(start.moves) for start in starts]
        for number, record in enumerate(records):
            if len(drawn) == len(plies):
                break
            position = position_after(record, plies[len(drawn)])
            if position is not None and is_usable(position):
                drawn.append(encode_hcp(position))
            elif number == len(records) - 1:
                sys.exit(f"there are too few games for {len(plies)} positions; give more")
        replace_file(self.folder / f"{RANDOM}.hcp", b"".join(drawn))
        replace_file(self.folder / f"{MINED}.hcp", (self.mined / "starts.hcp").read_bytes())
        return {"positions": len(drawn)}

    def play(self, arm: str) -> dict[str, Any]:
        """Games that begin at the start positions of an arm."""
        options = self.options
        result = generate(
            SelfplaySettings(playouts=options.playouts), options.network, self.folder / arm,
            positions=options.positions, seed=options.seed, openings=Openings.read([str(self.folder / f"{arm}.hcp")]),
        )  # fmt: skip
        if not result.finished:
            raise StoppedError
        return {"positions": options.positions}

    def train(self, arm: str) -> Path:
        """A network that has learned on, as the file that plays."""
        options = self.options
        files: list[Path | str] = [options.base, *(find_chunks(self.folder / arm) if arm != BASE else [])]
        out = self.folder / f"{arm}{find_network(options.network).suffix}"
        if not out.exists():
            network = load_network(options.network)
            training = {name: getattr(options, name) for name in ("steps", "batch", "lr", "seed")}
            training |= {"warmup": options.steps // 10, "val_lambda": 1.0}  # --base may have no results
            settings = build(LearningSettings, {"network": network.config.as_dict(), "training": training}).training
            checkpoint = train_arm(
                network.config, Dataset(*files), self.folder / f"{arm}-run", settings, "cpu", usable_cpus(), network
            )
            export_network(load_network(checkpoint), out)
        return out

    def solve(self, network: str | Path) -> dict[str, Any]:
        """How a network searches the positions that are held out, and those that games began from."""
        nodes = [2**power for power in range(1, self.options.most.bit_length()) if 2**power <= self.options.most]
        parts = {HELD_OUT: self.held_out(), LEARNT: self.learnt()}
        result: dict[str, Any] = {}
        with Network(network, cache_mb=0, device="native") as opened:
            for part, found in parts.items():
                if not any(each.right for each in found):
                    sys.exit(f"no {part} position has a verdict: give more games, or more --pairs")
                solved = solve(found, opened, nodes=nodes)
                print(f"{Path(network).name}, {part} positions\n{solved}\n", flush=True)
                result[part] = {
                    "positions": len(solved), "rows": solved.rows(), "nodes_to_move": solved.nodes_to_move,
                }  # fmt: skip
        return result

    def match(self, arm: str) -> dict[str, Any]:
        """Games of an arm against the network that it comes from."""
        options = self.options
        with Network(self.train(arm), device="native") as one, Network(options.network, device="native") as other:
            result = play_networks(
                {arm: one, "before": other}, games=options.match, playouts=options.playouts, openings=options.openings,
                folder=self.folder / f"{arm}-match", seed=options.seed, sprt={"elo0": -20, "elo1": 0},
            )  # fmt: skip
        if not result.is_complete:
            raise StoppedError
        print(f"{result}\n{result.sprt}\n", flush=True)
        return {"rows": result.rows(), "sprt": str(result.sprt)}

    def run(self) -> None:
        """All of it."""
        self.note("data", "mining", self.mine)
        self.note("data", RANDOM, self.draw)
        for arm in (MINED, RANDOM):
            self.note("data", f"{arm} games", lambda arm=arm: self.play(arm))
        self.note(SOLVED, "before", lambda: self.solve(self.options.network))
        for arm in ARMS:
            self.note(SOLVED, arm, lambda arm=arm: self.solve(self.train(arm)))
            self.note(MATCHES, arm, lambda arm=arm: self.match(arm))


def position_after(record: Record, plies: int) -> Position | None:
    """The position of a game after some moves; None if it is over before, or lacks a king."""
    if len(record.moves) <= plies:
        return None
    position = Position.from_sfen(record.initial_sfen, allow_missing_king=True)
    for played in record.moves[:plies]:
        position.push(played.move)
    return position


def main(words: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("games_in", metavar="GAMES", type=Path, nargs="+", help="records: files, folders, archives")
    parser.add_argument("--base", type=Path, required=True, metavar="FILE.hcpe3", help="what all networks learn from")
    parser.add_argument("--openings", required=True, help="balanced openings of the matches")
    parser.add_argument("--out", type=Path, required=True, metavar="DIR")
    parser.add_argument("--network", default="<sparse>", help="network that is mined (default: <sparse>)")
    parser.add_argument("--games", type=int, default=5000, help="games to look at (default: 5000)")
    parser.add_argument("--few", type=int, default=16, help="nodes of the short searches (default: 16)")
    parser.add_argument("--many", type=int, default=512, help="nodes of the long searches (default: 512)")
    parser.add_argument("--gap", type=float, default=0.7, help="least difference in logits (default: 0.7)")
    parser.add_argument("--confirm", type=int, default=8, help="factor of the confirmation (default: 8)")
    parser.add_argument("--judged", type=int, default=250, help="most disagreements that are judged (default: 250)")
    parser.add_argument("--pairs", type=int, default=8, help="pairs of games from each position (default: 8)")
    parser.add_argument("--per-game", type=int, default=10, help="positions of each game (default: 10)")
    parser.add_argument("--held-out", type=float, default=0.5, help="share of the games to measure by (default: 0.5)")
    parser.add_argument("--playouts", type=int, default=200, help="nodes of a move in games (default: 200)")
    parser.add_argument("--positions", type=int, default=300_000, help="positions of each arm's games")
    parser.add_argument("--steps", type=int, default=500, help="steps of training (default: 500)")
    parser.add_argument("--batch", type=int, default=4096, help="positions of a step (default: 4096)")
    parser.add_argument("--lr", type=float, default=0.0002, help="learning rate (default: 0.0002)")
    parser.add_argument("--most", type=int, default=4096, help="nodes up to which positions are searched")
    parser.add_argument("--match", type=int, default=2000, help="most games of each match (default: 2000)")
    parser.add_argument("--seed", type=int, default=0)
    try:
        Study(parser.parse_args(words)).run()
    except (KeyboardInterrupt, StoppedError):
        sys.exit("stopped; run the same command again to resume")


if __name__ == "__main__":
    main()
