"""psv: the golden vector of YaneuraOu, real files, both ways to hcpe."""

from pathlib import Path

import cshogi
import numpy as np
import pytest

from fukayomi.data.convert.writers import DataWriter
from fukayomi.data.formats.format import DataFileError, map_rows
from fukayomi.data.formats.hcpe import HCPE, read_hcpe
from fukayomi.data.formats.psv import PSV, hcpe_to_psv, psv_move, psv_record, psv_to_hcpe
from fukayomi.shogi import START_SFEN, IllegalMoveError, InvalidMoveError

GOLDEN = "58a451220ceb67227e9653221caf447824c22b119e53221ceb6f223e9651220c0a008e0701000100"


def test_the_layout_is_that_of_cshogi() -> None:
    assert PSV.itemsize == cshogi.PackedSfenValue.itemsize == 40
    assert [PSV.fields[name][1] for name in PSV.names] == [  # pyright: ignore
        cshogi.PackedSfenValue.fields[name][1] for name in cshogi.PackedSfenValue.names
    ]


def test_one_record_is_the_one_of_yaneuraou(tmp_path: Path) -> None:
    record = psv_record(START_SFEN, "2g2f", 10, ply=1, result=1)
    assert record.tobytes().hex() == GOLDEN
    with DataWriter(tmp_path / "test.psv") as writer:
        writer.append(record)
    assert (map_rows(tmp_path / "test.psv", PSV) == record).all()
    assert psv_move(int(record["move"][0])).usi() == "2g2f"


def test_what_no_record_can_hold_is_refused() -> None:
    with pytest.raises(IllegalMoveError, match="2g2e"):
        psv_record(START_SFEN, "2g2e", 10, 1, 1)
    with pytest.raises(ValueError, match="score 40000 is not within -32768 to 32767"):
        psv_record(START_SFEN, "2g2f", 40000, 1, 1)
    with pytest.raises(ValueError, match="result 2 is not within -1 to 1"):
        psv_record(START_SFEN, "2g2f", 0, 1, 2)
    with pytest.raises(InvalidMoveError, match="16 bits 16384"):
        psv_move(0x4000)


def test_real_files_convert_both_ways(shared_data: Path) -> None:
    folder = shared_data / "training-fixtures"
    psv = np.array(map_rows(folder / "psv_to_hcpe3_yaneuraou_sample.psv", PSV))
    hcpe = np.array(read_hcpe(folder / "psv_to_hcpe3_yaneuraou_sample.hcpe"))
    assert psv_to_hcpe(psv).tobytes() == hcpe.tobytes()
    back = hcpe_to_psv(hcpe, psv["gamePly"])
    assert back.tobytes() == psv.tobytes()


def test_the_moves_of_another_writer_are_no_psv(shared_data: Path) -> None:
    psv = np.array(map_rows(shared_data / "training-fixtures" / "psv_to_hcpe3_sample.psv", PSV))
    with pytest.raises(DataFileError, match="record 6: the 16 bits 10519 are not a move of the psv format"):
        psv_to_hcpe(psv)


def test_flags_of_hcpe2_are_dropped_and_bad_results_named() -> None:
    hcpe = psv_to_hcpe(psv_record(START_SFEN, "2g2f", 10, 1, 1).repeat(3))
    assert hcpe.dtype == HCPE
    assert hcpe["gameResult"].tolist() == [1, 1, 1]
    hcpe["gameResult"] = [1 | 8, 2 | 16, 0 | 4]
    assert hcpe_to_psv(hcpe)["game_result"].tolist() == [1, -1, 0]
    hcpe["gameResult"][1] = 3
    with pytest.raises(DataFileError, match="record 1: invalid result 3"):
        hcpe_to_psv(hcpe)
    psv = psv_record(START_SFEN, "2g2f", 10, 1, 1).repeat(2)
    psv["game_result"][1] = -128
    with pytest.raises(DataFileError, match="record 1: invalid result -128"):
        psv_to_hcpe(psv)
    hcpe["bestMove16"] = 16383
    hcpe["gameResult"] = 0
    with pytest.raises(DataFileError, match="record 0: the 16 bits 16383 are not a move of the hcpe format"):
        hcpe_to_psv(hcpe)


def test_a_file_of_another_size_is_refused(tmp_path: Path) -> None:
    (tmp_path / "a.psv").write_bytes(bytes(81))
    with pytest.raises(DataFileError, match=r"a\.psv: 81 bytes, .* 1 byte left over after 2 records \(offset 80\)"):
        map_rows(tmp_path / "a.psv", PSV)
