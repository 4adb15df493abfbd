"""Settings of a deduplication. Without NumPy: commands import it at start-up."""

from enum import StrEnum
from pathlib import Path

from fukayomi.data.formats.kinds import Weighing
from fukayomi.settings import Settings

__all__ = ["DedupSettings", "Mode", "Weighing"]


class Mode(StrEnum):
    """Definition of duplicate rows, and of what is kept of them."""

    FIRST_MOVE = "first-move"
    """Each position and move once: the record that was read first."""
    ALL_FIELDS = "all-fields"
    """Records with the same values in all fields once."""
    MEAN = "mean"
    """Each position and move once: the mean evaluation, cut to whole centipawns, and the mean of the results as numbers
    (0 draw, 1 Black, 2 White): 1.5 and more is White, above 0 is Black."""
    MODE = "mode"
    """Each position and move once: the mean evaluation, cut to whole centipawns, and the most frequent result, a draw
    if two are equally frequent."""
    SHARES = "shares"
    """Each position once (avg): sums of results and of values (win probabilities by evaluation), and how often each
    move was played and visited."""

    @property
    def writes_averages(self) -> bool:
        """True if the output is avg; in other modes it is hcpe."""
        return self is Mode.SHARES


class DedupSettings(Settings):
    """Settings of a deduplication."""

    mode: Mode = Mode.FIRST_MOVE
    """first-move: each position and move once, as read first. all-fields: equal records once. mean: each position and
    move once, with the mean evaluation and the mean result (0 draw, 1 Black, 2 White; 1.5 and more is White, above 0 is
    Black). mode: the same with the most frequent result, a draw if two are tied. shares: each position once, with sums
    and how often each move was played."""
    inputs: tuple[Path, ...]
    """hcpe files; with mode shares also hcpe2, hcpe3 and avg."""
    out: Path
    """The file to write: hcpe; avg with mode shares."""
    scratch: Path | None = None
    """Folder for the work, as large as the input; None: beside `out`."""
    weighing: Weighing = Weighing.EVENLY
    """Weight of each search for the moves of its position. evenly: the same for every search, whatever its
    visits, and for the move of an hcpe record; dlshogi averages like this. by-visits: by its visits; 1 for an hcpe
    record."""
    evalfix: bool = False
    """Rescale the evaluations of each file to dlshogi's scale, fitted to its results."""
    check_space: bool = True
    """Begin only if the disks have room even without duplicates."""
    bucket_bits: int | None = None
    """log2 of the number of buckets; None: chosen by the size of the inputs."""
    hash_bits: int = 64
    """Bits of the hash that count; less than 64 only in tests."""

    @property
    def folder(self) -> Path:
        """The folder of the work, which exists until the job is done."""
        return (self.scratch or self.out.parent).absolute() / f".{self.out.name}.work"
