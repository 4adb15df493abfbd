"""What each section of the tuner tries: products of ranges, of which what is valid and worth it is kept.

Ranges, rules and the configurations to begin with are those of KataGo's tuner (MIT licence) and, through it, CLBlast.
"""

import math
import random
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from fukayomi.engine.evaluators.backends.opencl.parameters import Registers, Tiled, Wmma

Configuration: TypeAlias = dict[str, int]
"""Values of parameters by name, in the order in which they are printed."""

WARP = 32

MOST_DRAWN = 50_000
"""Configurations that are drawn from larger products before invalid ones are left out."""


@dataclass(frozen=True, slots=True)
class Limits:
    """What a device can run."""

    group: int = 1024
    """Work-items of a work-group."""
    sides: tuple[int, ...] = (1024, 1024, 64)
    """The same along each dimension."""
    local: int = 32 * 1024
    """Bytes of local memory."""
    sums: int = 128
    """Numbers that a work-item sums up: more do not fit its registers, and take long to compile."""


@dataclass(frozen=True, slots=True)
class Space:
    """What a section tries."""

    reference: Configuration
    starts: Sequence[Configuration]
    """Tried first."""
    ranges: Mapping[str, Sequence[int]]
    full: Mapping[str, Sequence[int]]
    """Ranges of a full search, in place of those of the same name."""
    is_valid: Callable[[Configuration, Limits], bool]
    is_simple: Callable[[Configuration], bool] | None = None
    """What a search that is not full is confined to."""

    def configurations(self, limits: Limits, *, is_full: bool, seed: int) -> list[Configuration]:
        """The reference, the starts, and the others in random order, each once but the reference, which comes twice."""
        ranges = {name: self.full.get(name, values) if is_full else values for name, values in self.ranges.items()}
        drawing = random.Random(seed)
        total = math.prod(len(values) for values in ranges.values())
        drawn = drawing.sample(range(total), min(total, MOST_DRAWN))
        rest = [
            configuration
            for configuration in (_numbered(ranges, number) for number in drawn)
            if (is_full or self.is_simple is None or self.is_simple(configuration))
            and self.is_valid(configuration, limits)
        ]
        starts = [start for start in self.starts if self.is_valid(start, limits)]
        return [self.reference, *_distinct([self.reference, *starts, *rest])]


def _numbered(ranges: Mapping[str, Sequence[int]], number: int) -> Configuration:
    """One configuration of the product of the ranges."""
    found: Configuration = {}
    for name, values in ranges.items():
        number, place = divmod(number, len(values))
        found[name] = values[place]
    return found


def _distinct(configurations: Iterable[Configuration]) -> list[Configuration]:
    return list({tuple(each.items()): each for each in configurations}.values())


def is_valid_tiled(tiled: Tiled, limits: Limits, *, bytes_of_number: int = 4) -> bool:
    """True if ``gemm_tiled.cl`` can be compiled with this tile, and the device can run it."""
    values = tiled.defines()
    sizes = [values[name] for name in values if name not in ("STRM", "STRN", "SA", "SB", "PADA", "PADB")]
    flags = [values[name] for name in ("STRM", "STRN", "SA", "SB")]
    if min(sizes) < 1 or any(flag not in (0, 1) for flag in flags) or min(tiled.PADA, tiled.PADB) < 0:
        return False
    items = tiled.MDIMC * tiled.NDIMC
    wholes = (
        (tiled.KWG, tiled.KWI),
        (tiled.MWG, tiled.MDIMC * tiled.VWM),
        (tiled.NWG, tiled.NDIMC * tiled.VWN),
        (tiled.MWG, tiled.MDIMA * tiled.VWM),
        (tiled.NWG, tiled.NDIMB * tiled.VWN),
        (items, tiled.MDIMA),
        (items, tiled.NDIMB),
    )
    if any(number % divisor for number, divisor in wholes):
        return False
    if tiled.KWG % (items // tiled.MDIMA) or tiled.KWG % (items // tiled.NDIMB):
        return False
    local = tiled.KWG * (tiled.SA * (tiled.MWG + tiled.PADA) + tiled.SB * (tiled.NWG + tiled.PADB))
    sums = tiled.MWG // tiled.MDIMC * (tiled.NWG // tiled.NDIMC)
    return (
        sums <= limits.sums
        and local * bytes_of_number <= limits.local
        and is_group((tiled.MDIMC, tiled.NDIMC, 1), limits)
    )


def is_valid_wmma(wmma: Wmma, limits: Limits) -> bool:
    """True if ``gemm_wmma.cl`` can be compiled with this tile, and the device can run it."""
    values = wmma.defines()
    if any(values[name] < 1 for name in values if name not in ("SA", "SB")):
        return False
    if wmma.SA not in (0, 1) or wmma.SB not in (0, 1):
        return False
    if (wmma.MWARP, wmma.NWARP) not in ((8, 32), (16, 16), (32, 8)):
        return False
    if any((wmma.MWG % wmma.MWAVE, wmma.NWG % wmma.NWAVE, wmma.MWAVE % wmma.MWARP, wmma.NWAVE % wmma.NWARP)):
        return False
    if wmma.KWG % 16 or wmma.MWG % wmma.VWM or wmma.NWG % wmma.VWN or {wmma.VWM, wmma.VWN} - {2, 4, 8}:
        return False
    fragments = wmma.MWG // wmma.MWAVE * (wmma.NWG // wmma.NWAVE)
    local = wmma.KWG * (wmma.MWG + wmma.NWG) * 2 + wmma.workers // WARP * wmma.MWARP * wmma.NWARP * 4
    return fragments <= 16 and local <= limits.local and is_group((wmma.workers, 1, 1), limits)


def is_valid_registers(registers: Registers) -> bool:
    """True if ``gemm_registers.cl`` can be compiled with this block."""
    return 1 <= registers.rows <= 32 and registers.columns in (1, 3, 9) and registers.rows * registers.columns <= 48


def is_group(sizes: Sequence[int], limits: Limits) -> bool:
    """True if the device can run work-groups of these sizes."""
    product = 1
    for size, most in zip(sizes, limits.sides, strict=False):
        if not 1 <= size <= most:
            return False
        product *= size
    return product <= limits.group


def direct_tile(configuration: Configuration) -> Tiled:
    """The tile that xGemmDirect's parameters stand for; both matrices go through local memory."""
    c = configuration
    return Tiled(
        MWG=c["WGD"], NWG=c["WGD"], KWG=c["WGD"], MDIMC=c["MDIMCD"], NDIMC=c["NDIMCD"], MDIMA=c["MDIMAD"],
        NDIMB=c["NDIMBD"], KWI=c["KWID"], VWM=c["VWMD"], VWN=c["VWND"], STRM=0, STRN=0, SA=1, SB=1, PADA=c["PADA"],
        PADB=c["PADB"],
    )  # fmt: skip


def direct_configuration(tile: Tiled) -> Configuration:
    """xGemmDirect's parameters of a tile."""
    t = tile
    names = ["WGD", "MDIMCD", "NDIMCD", "MDIMAD", "NDIMBD", "KWID", "VWMD", "VWND", "PADA", "PADB"]
    values = (t.MWG, t.MDIMC, t.NDIMC, t.MDIMA, t.NDIMB, t.KWI, t.VWM, t.VWN, t.PADA, t.PADB)
    return dict(zip(names, values, strict=True))


GEMM_NAMES = ["MWG", "NWG", "KWG", "MDIMC", "NDIMC", "MDIMA", "NDIMB", "KWI", "VWM", "VWN", "STRM", "STRN", "SA", "SB"]


def gemm_configuration(tile: Tiled) -> Configuration:
    """xGemm's parameters of a tile."""
    return {name: getattr(tile, name) for name in GEMM_NAMES}


def _named(names: Sequence[str], *values: int) -> Configuration:
    return dict(zip(names, values, strict=True))


_DIRECT_NAMES = ["WGD", "MDIMCD", "NDIMCD", "MDIMAD", "NDIMBD", "KWID", "VWMD", "VWND", "PADA", "PADB"]
DIRECT = Space(
    reference=_named(_DIRECT_NAMES, 8, 1, 1, 1, 1, 1, 1, 1, 1, 1),
    starts=[
        _named(_DIRECT_NAMES, 8, 8, 8, 8, 8, 1, 1, 1, 1, 1),
        _named(_DIRECT_NAMES, 16, 8, 8, 8, 8, 1, 1, 1, 1, 1),
        _named(_DIRECT_NAMES, 32, 8, 8, 8, 8, 8, 2, 2, 1, 1),
    ],
    ranges={
        "WGD": (8, 16, 32), "MDIMCD": (8, 16, 32), "NDIMCD": (8, 16, 32), "MDIMAD": (8, 16, 32), "NDIMBD": (8, 16, 32),
        "KWID": (2, 8), "VWMD": (2, 4), "VWND": (2, 4), "PADA": (1,), "PADB": (1,),
    },
    full={"WGD": (8, 16, 32, 64), "KWID": (2, 8, 16), "VWMD": (1, 2, 4, 8), "VWND": (1, 2, 4, 8)},
    is_valid=lambda c, limits: is_valid_tiled(direct_tile(c), limits),
)  # fmt: skip
GEMM = Space(
    reference=_named(GEMM_NAMES, 8, 8, 8, 1, 1, 1, 1, 1, 1, 1, 0, 0, 0, 0),
    starts=[
        _named(GEMM_NAMES, 8, 8, 8, 8, 8, 8, 8, 1, 1, 1, 0, 0, 0, 0),
        _named(GEMM_NAMES, 16, 16, 16, 8, 8, 8, 8, 1, 1, 1, 0, 0, 0, 0),
        _named(GEMM_NAMES, 16, 16, 16, 8, 8, 8, 8, 2, 2, 2, 0, 0, 0, 0),
        _named(GEMM_NAMES, 32, 32, 16, 8, 8, 8, 8, 2, 4, 4, 0, 0, 1, 1),
        _named(GEMM_NAMES, 64, 64, 32, 16, 8, 16, 8, 2, 4, 4, 0, 0, 1, 1),
    ],
    ranges={
        "MWG": (16, 32, 64), "NWG": (16, 32, 64), "KWG": (16, 32), "MDIMC": (8, 16, 32), "NDIMC": (8, 16, 32),
        "MDIMA": (8, 16, 32), "NDIMB": (8, 16, 32), "KWI": (2,), "VWM": (2, 4), "VWN": (2, 4), "STRM": (0,),
        "STRN": (0,), "SA": (0, 1), "SB": (0, 1),
    },
    full={
        "MWG": (8, 16, 32, 64, 128), "NWG": (8, 16, 32, 64, 128), "KWG": (8, 16, 32), "KWI": (2, 8),
        "VWM": (1, 2, 4, 8), "VWN": (1, 2, 4, 8),
    },
    is_valid=lambda c, limits: is_valid_tiled(Tiled(**c), limits),
    is_simple=lambda c: (
        c["MWG"] == c["NWG"] and c["VWM"] == c["VWN"] and c["SA"] == c["SB"] and c["MDIMC"] == c["MDIMA"]
        and c["NDIMC"] == c["NDIMB"]
    ),
)  # fmt: skip
WMMA_NAMES = ["MWG", "NWG", "KWG", "MWAVE", "NWAVE", "MWARP", "NWARP", "VWM", "VWN", "SA", "SB"]
WMMA = Space(
    reference=_named(WMMA_NAMES, 16, 16, 16, 16, 16, 16, 16, 2, 2, 0, 0),
    starts=[
        _named(WMMA_NAMES, 32, 32, 32, 16, 16, 16, 16, 2, 2, 0, 0),
        _named(WMMA_NAMES, 64, 64, 32, 32, 32, 16, 16, 4, 4, 1, 1),
    ],
    ranges={
        "MWG": (16, 32, 64), "NWG": (16, 32, 64), "KWG": (16, 32, 64), "MWAVE": (8, 16, 32, 64),
        "NWAVE": (8, 16, 32, 64), "MWARP": (8, 16, 32), "NWARP": (8, 16, 32), "VWM": (2, 4), "VWN": (2, 4),
        "SA": (0, 1), "SB": (0, 1),
    },
    full={"MWG": (16, 32, 64, 128), "NWG": (16, 32, 64, 128), "VWM": (2, 4, 8), "VWN": (2, 4, 8)},
    is_valid=lambda c, limits: is_valid_wmma(Wmma(**c), limits),
    is_simple=lambda c: c["MWG"] == c["NWG"] and c["SA"] == c["SB"] and c["VWM"] == c["VWN"],
)  # fmt: skip
_POWERS = (1, 2, 4, 8, 16, 32, 64, 128)
TRANSFORM_NAMES = ("transLocalSize0", "transLocalSize1")
UNTRANSFORM_NAMES = ("untransLocalSize0", "untransLocalSize1", "untransLocalSize2")


def transform_group(configuration: Configuration) -> tuple[int, int, int]:
    """Work-group of the transform: boards, tiles, channels."""
    return configuration["transLocalSize0"], 1, configuration["transLocalSize1"]


def transform_configuration(group: tuple[int, int, int]) -> Configuration:
    """The configuration of a work-group of the transform."""
    return _named(TRANSFORM_NAMES, group[0], group[2])


def untransform_configuration(group: tuple[int, int, int]) -> Configuration:
    """The configuration of a work-group of the untransform."""
    return _named(UNTRANSFORM_NAMES, *group)


def untransform_group(configuration: Configuration) -> tuple[int, int, int]:
    """Work-group of the untransform: boards, tiles, channels."""
    first, second, third = (configuration[name] for name in UNTRANSFORM_NAMES)
    return first, second, third


TRANSFORM = Space(
    reference=_named(TRANSFORM_NAMES, 1, 1),
    starts=[_named(TRANSFORM_NAMES, 128, 2), _named(TRANSFORM_NAMES, 32, 2)],
    ranges={"transLocalSize0": _POWERS, "transLocalSize1": _POWERS[:6]},
    full={"transLocalSize1": _POWERS[:7]},
    is_valid=lambda c, limits: is_group(transform_group(c), limits),
)
UNTRANSFORM = Space(
    reference=_named(UNTRANSFORM_NAMES, 1, 1, 1),
    starts=[_named(UNTRANSFORM_NAMES, 8, 1, 8), _named(UNTRANSFORM_NAMES, 8, 2, 4)],
    ranges={
        "untransLocalSize0": _POWERS[:6],
        "untransLocalSize1": _POWERS[:6],
        "untransLocalSize2": _POWERS[:5],
    },
    full={},
    is_valid=lambda c, limits: is_group(untransform_group(c), limits),
)
REGISTERS = Space(
    reference={"ROWS": 1, "COLUMNS": 1},
    starts=[{"ROWS": 8, "COLUMNS": 3}, {"ROWS": 12, "COLUMNS": 1}, {"ROWS": 4, "COLUMNS": 3}],
    ranges={"ROWS": (2, 4, 6, 8, 10, 12, 16), "COLUMNS": (1, 3, 9)},
    full={"ROWS": tuple(range(1, 25))},
    is_valid=lambda c, _: is_valid_registers(Registers(c["ROWS"], c["COLUMNS"])),
)
