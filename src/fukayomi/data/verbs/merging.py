"""``fukayomi data merge``: several files as one."""

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from fukayomi.data.convert.blocks import Block, VerbError, game_hashes
from fukayomi.data.jobs.buckets import BucketFiles
from fukayomi.data.jobs.job import Files, Job, Summary, opened
from fukayomi.data.verbs.job import finish, room_for_copy, stream_blocks, verb_job
from fukayomi.listener import SILENT, Listener

_SEEN = "games"  # the file of hashes in the job's folder
_HASH_BYTES = 16


def merge(inputs: Files, out: Path | str, *, unique_games: bool = False, listener: Listener = SILENT) -> Summary:
    """Write all items of the inputs, one file after the other.

    After a kill the same call resumes the work and writes the same bytes.

        merge(["monday.hcpe3", "tuesday.hcpe3"], "week.hcpe3", unique_games=True)

    Args:
        inputs: What to merge: hcp, hcpe, psv, hcpe3 or records, all of one format.
        out: The file to write.
        unique_games: Keep only the first of games with the same start and moves. Takes about 100 bytes of memory per
            game.
        listener: Hears of the progress.

    Raises:
        VerbError: `unique_games` is given for rows, which are not games.
        ValueError: An input is damaged.
        OSError: A file cannot be read or written.
    """
    inputs = opened(inputs)
    if unique_games and inputs.kind not in ("hcpe3", "records"):
        raise VerbError(f"{inputs.kind} files have no games; use `fukayomi data uniq` to remove duplicate rows")
    room = None if unique_games else room_for_copy(inputs, [out])
    with verb_job("merge", inputs, [out], {"unique_games": unique_games}, listener=listener, room=room) as job:
        seen = _SeenGames(job) if unique_games and not job.is_done("merging") else None
        for block in stream_blocks(job, inputs, "merging"):
            kept = np.ones(len(block), np.bool_) if seen is None else seen.are_new(block)
            job.outputs[0].append(block.take(kept), int(kept.sum()))
        if seen is not None:
            job.found["duplicates"] = job.read - job.outputs[0].items
        return finish(job)


class _SeenGames:
    """The hashes of the games so far, which are also kept in a file for a later run."""

    def __init__(self, job: Job) -> None:
        self._file = BucketFiles(job.folder, _SEEN, 1, job.memory.get(_SEEN))
        job.memory[_SEEN] = self._file.state
        path = job.folder.bucket_path(0, _SEEN)
        data = path.read_bytes() if path.exists() else b""
        self._hashes = {data[at : at + _HASH_BYTES] for at in range(0, len(data), _HASH_BYTES)}

    def are_new(self, block: Block) -> NDArray[np.bool_]:
        """Mask of the games that were not seen before: bool [N]."""
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
