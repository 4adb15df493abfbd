"""Damaged files of every format for every command: an error that names the file, or a result; no leftovers."""

import gzip
import io
import lzma
import random
import re
import tarfile
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest
from command_runs import run
from format_files import write_all_formats
from verb_runs import make_games

from fukayomi.data.formats.games import record_from_game
from fukayomi.data.formats.kinds import DataFormat
from fukayomi.shogi.formats import write_csa, write_kif

VERBS: dict[str, tuple[str, ...]] = {
    "check": (), "check --good": ("--good", "OUT.same"), "stats": (), "print": ("--end", "1000"),
    "convert": ("-o", "OUT.hcpe3"), "convert rows": ("-o", "OUT.hcpe"), "convert records": ("-o", "OUT.csa"),
    "convert cache": ("-o", "OUT.cache"), "csa-to-hcpe": ("-o", "OUT.hcpe"),
    "uniq": ("-o", "OUT.hcpe", "--mode", "mean"), "uniq shares": ("-o", "OUT.avg", "--mode", "shares"),
    "average": ("-o", "OUT.avg"), "average --evalfix": ("-o", "OUT.avg", "--evalfix"),
    "shuffle": ("-o", "OUT.same"), "split": ("-o", "OUT.same", "-o", "OUT2.same"),
    "sample": ("-o", "OUT.same", "-n", "5"), "merge": ("-o", "OUT.same"),
    "filter": ("-o", "OUT.same", "--result", "black"),
    "fix-eval": ("-o", "OUT.same"),
}  # fmt: skip
# Damage may turn a file into one of another format, or a record into one without an end. These messages name no input.
REFUSAL = re.compile(
    r"out\.\w+: (the good part of|a cache is made of|the output is|positions alone)"
    r"|nothing is left to write|no position is left"
)
OF_RECORDS = ("csa", "kif", "zip", "tar", "gz", "xz")


@pytest.fixture(scope="module")
def samples(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    """A small file of each format, by its suffix."""
    folder = tmp_path_factory.mktemp("formats")
    files = {str(kind): path.read_bytes() for kind, path in write_all_formats(folder, 12).items()}
    del files[DataFormat.RECORDS]
    records = [record_from_game(game) for game in make_games(12, 1)]
    texts = [write_csa(record).encode() for record in records]
    files["csa"] = b"/\n".join(texts)
    files["kif"] = ("#KIF version=2.0 encoding=UTF-8\n" + write_kif(records[0])).encode()
    files["gz"], files["xz"] = gzip.compress(files["csa"]), lzma.compress(files["csa"])
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        for number, text in enumerate(texts):
            archive.writestr(f"棋譜/{number}.csa", text)
    files["zip"] = packed.getvalue()
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w", format=tarfile.PAX_FORMAT) as tar:
        for number, text in enumerate(texts):
            member = tarfile.TarInfo(f"棋譜/{number}.csa")
            member.size, member.mtime = len(text), 1.5
            tar.addfile(member, io.BytesIO(text))
    files["tar"] = packed.getvalue()
    return files


def flip(data: bytearray, rng: random.Random) -> None:
    for _ in range(rng.choice([1, 2, 9])):
        data[rng.randrange(len(data))] ^= 1 << rng.randrange(8)


def cut(data: bytearray, rng: random.Random) -> None:
    del data[rng.randrange(len(data)) :]


def fill(data: bytearray, rng: random.Random) -> None:
    at, size = rng.randrange(len(data)), rng.choice([1, 4, 8, 32, 200])
    value = rng.choice([0, 255])
    data[at : at + size] = bytes([value]) * len(data[at : at + size])


def fill_head(data: bytearray, rng: random.Random) -> None:
    at = rng.randrange(min(64, len(data)))
    data[at : at + 8] = rng.randbytes(len(data[at : at + 8]))


def insert(data: bytearray, rng: random.Random) -> None:
    at = rng.randrange(len(data) + 1)
    data[at:at] = rng.randbytes(rng.choice([1, 3, 38, 512]))


def repeat(data: bytearray, rng: random.Random) -> None:
    at = rng.randrange(len(data))
    data += data[at : at + rng.choice([38, 64, 1000])]


DAMAGES: tuple[Callable[[bytearray, random.Random], None], ...] = (flip, cut, fill, fill_head, insert, repeat)


def torture(folder: Path, samples: dict[str, bytes], verb: str, rounds: int, seed: int) -> None:
    rng = random.Random(f"{verb} {seed}")
    for number in range(rounds):
        suffix = sorted(samples)[number % len(samples)]
        data = bytearray(samples[suffix])
        damage = rng.choice(DAMAGES)
        damage(data, rng)
        place = folder / f"{number}"
        place.mkdir()
        path = place / f"damaged.{suffix}"
        path.write_bytes(data)
        same = "csa" if suffix in OF_RECORDS else suffix
        if verb == "check --good" and same == "csa":
            same = "hcpe3"
        options = [
            str(place / option.lower().replace("same", same)) if option.startswith("OUT") else option
            for option in VERBS[verb]
        ]
        case = f"{verb} {suffix} {damage.__name__} {place}"
        code, printed, said = run("data", verb.partition(" ")[0], path, *options)
        assert code in (0, 1, 2), case
        left = {each.name for each in place.iterdir()} - {path.name}
        assert not [name for name in left if name.startswith(".") or name.endswith(".tmp")], (case, left)
        if code == 0:
            assert left or verb in ("check", "stats", "print"), case
        elif not verb.startswith("check"):
            assert not left, (case, said)
        text = "".join((printed + said).split())
        if code == 1:
            assert "damaged." in text or REFUSAL.search(said), (case, printed, said)
            assert "Traceback" not in text, case
        else:
            path.unlink()


@pytest.mark.parametrize("verb", VERBS)
def test_damage_is_an_error_with_a_name_or_no_damage(tmp_path: Path, samples: dict[str, bytes], verb: str) -> None:
    torture(tmp_path, samples, verb, len(samples), 1)


@pytest.mark.soak
@pytest.mark.parametrize("verb", VERBS)
def test_much_damage_is_an_error_with_a_name_or_no_damage(
    tmp_path: Path, samples: dict[str, bytes], verb: str, record_property: Callable[[str, object], None]
) -> None:
    torture(tmp_path, samples, verb, 50 * len(samples), 2)
    record_property("damaged files", 50 * len(samples))
