"""hcpe files: written whole or not at all, and read with errors that name the place."""

from pathlib import Path

import cshogi
import numpy as np
import pytest

from fukayomi import _native
from fukayomi.data.convert.writers import DataWriter
from fukayomi.data.formats.format import DataFileError
from fukayomi.data.formats.hcpe import HCPE, check_hcpe, read_hcpe


def some_records(count: int) -> np.ndarray:
    records = np.zeros(count, HCPE)
    records["bestMove16"] = 0x1E3B
    records["eval"] = np.arange(count)
    records["gameResult"] = np.arange(count) % 3
    return records


def test_the_layout_is_that_of_cshogi() -> None:
    assert HCPE.itemsize == cshogi.HuffmanCodedPosAndEval.itemsize == 38
    for name in HCPE.names or ():
        assert HCPE.fields is not None
        assert HCPE.fields[name][1] == cshogi.HuffmanCodedPosAndEval.fields[name][1]


def test_what_is_written_is_read(tmp_path: Path) -> None:
    path = tmp_path / "a.hcpe"
    with DataWriter(path) as writer:
        writer.append(some_records(3))
        writer.append(some_records(4))
        assert not path.exists()
        assert len(writer.rows_so_far()) == 7
    assert writer.count == 7
    assert [file.name for file in tmp_path.iterdir()] == ["a.hcpe"]
    assert (read_hcpe(path) == np.concatenate([some_records(3), some_records(4)])).all()
    assert (np.fromfile(path, cshogi.HuffmanCodedPosAndEval)["eval"] == [0, 1, 2, 0, 1, 2, 3]).all()


@pytest.mark.parametrize("error", [RuntimeError, KeyboardInterrupt])
def test_a_failure_leaves_the_target_as_it_was(tmp_path: Path, error: type[BaseException]) -> None:
    path = tmp_path / "a.hcpe"
    path.write_bytes(b"before")

    def write() -> None:
        with DataWriter(path) as writer:
            writer.append(some_records(3))
            raise error

    with pytest.raises(error):
        write()
    assert path.read_bytes() == b"before"
    assert [file.name for file in tmp_path.iterdir()] == ["a.hcpe"]


def test_sizes_are_checked(tmp_path: Path) -> None:
    path = tmp_path / "a.hcpe"
    path.write_bytes(b"\0" * 100)
    with pytest.raises(DataFileError, match=r"a\.hcpe: 100 bytes, .* 24 bytes left over after 2 records \(offset 76\)"):
        read_hcpe(path)
    path.write_bytes(b"")
    assert len(read_hcpe(path)) == 0


@pytest.mark.parametrize(("field", "value"), [("gameResult", 3), ("bestMove16", 0), ("bestMove16", 0x7FFF)])
def test_records_are_checked(field: str, value: int) -> None:
    records = some_records(10)
    check_hcpe(records, "a.hcpe")
    records[field][7] = value
    with pytest.raises(DataFileError, match=r"a\.hcpe, record 7 \(offset 266\)"):
        check_hcpe(records, "a.hcpe")


def test_the_native_check_is_the_same() -> None:
    records = some_records(1)
    for result in (0, 1, 2, 3, 4, 255):
        for move in (0, 1, 0x1E3B, 0x4000 + 80 + 80 * 128, 0x4000 + 81 + 80 * 128, 0xFFFF):
            records["gameResult"], records["bestMove16"] = result, move
            is_possible = _native.are_possible(records.view(np.uint8).reshape(1, 38))
            if is_possible:
                check_hcpe(records, "a.hcpe")
            else:
                with pytest.raises(DataFileError, match="record 0"):
                    check_hcpe(records, "a.hcpe")
