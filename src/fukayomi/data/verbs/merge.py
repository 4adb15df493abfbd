"""``fukayomi data merge``: several files as one."""

from pathlib import Path

import numpy as np

from fukayomi.data.convert.blocks import Block, Inputs, VerbError
from fukayomi.data.convert.keys import game_hashes
from fukayomi.data.jobs.folder import BucketFiles
from fukayomi.data.jobs.work import Listener, Summary, Work, room_for_copy, silent

_SEEN = "games"  # the hashes of the games, in the folder
_HASH_BYTES = 16


def merge(inputs: Inputs, out: Path, *, unique_games: bool = False, listener: Listener = silent) -> Summary:
    """Write all items of the inputs, one file after the other.

    Args:
        inputs: What to merge.
        out: The file to write.
        unique_games: Of games with the same start and moves keep the first. Takes some 100 bytes of memory a game.
        listener: Told of the progress.

    Raises:
        VerbError: Rows have no games.
        ValueError: An input is not what it should be.
        OSError: Something cannot be read or written.
    """
    if unique_games and inputs.kind not in ("hcpe3", "records"):
        raise VerbError(f"{inputs.kind} files have no games; fukayomi data uniq removes duplicate rows")
    room = None if unique_games else room_for_copy(inputs, [out])
    with Work("merge", inputs, [out], {"unique_games": unique_games}, listener, room=room) as work:
        seen = _Seen(work) if unique_games and not work.is_done("merging") else None

        def copy(block: Block) -> None:
            kept = np.ones(len(block), np.bool_) if seen is None else seen.are_new(block)
            work.outputs[0].append(block.take(kept), int(kept.sum()))

        work.stream("merging", copy, seen.remember if seen else lambda: None)
        if unique_games:
            work.memory["found"] = {"duplicates": work.read - sum(output.items for output in work.outputs)}
        return work.finish()


class _Seen:
    """The games seen so far, by hash; a file in the folder remembers them."""

    def __init__(self, work: Work) -> None:
        self._work = work
        self._file = BucketFiles(work.folder, _SEEN, 1, work.memory.get(_SEEN))
        path = work.folder.bucket_path(0, _SEEN)
        data = path.read_bytes() if path.exists() else b""
        self._hashes = {data[at : at + _HASH_BYTES] for at in range(0, len(data), _HASH_BYTES)}

    def are_new(self, block: Block) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
        assert not isinstance(block.content, np.ndarray)
        fresh: list[bytes] = []
        new = np.zeros(len(block), np.bool_)
        for index, key in enumerate(game_hashes(block.content)):
            if key not in self._hashes:
                self._hashes.add(key)
                fresh.append(key)
                new[index] = True
        data = np.frombuffer(b"".join(fresh), np.uint8)
        self._file.append(data, np.array([len(data)], np.int64))
        return new

    def remember(self) -> None:
        self._work.memory[_SEEN] = self._file.state()
