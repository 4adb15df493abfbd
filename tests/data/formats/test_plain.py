"""plain: psv as text; the golden vector of YaneuraOu, both ways, and what is wrong with a line."""

import contextlib
import random
import re
from pathlib import Path

import numpy as np
import pytest
from game_samples import random_games
from hypothesis import given
from hypothesis import strategies as st
from places import ROOT
from test_psv import GOLDEN

from fukayomi.data.convert.convert import convert_data
from fukayomi.data.convert.reading import read_data
from fukayomi.data.convert.writers import DataWriter
from fukayomi.data.formats.format import DataFileError
from fukayomi.data.formats.kinds import Target
from fukayomi.data.formats.psv import hcpe_to_psv
from fukayomi.data.formats.table import as_rows
from fukayomi.shogi import START_SFEN

ONE = f"sfen {START_SFEN}\nmove 2g2f\nscore 10\nply 1\nresult 1\ne\n"
BOX = "l+R5nl/4k+B3/p3p+S1pp/2p3p2/9/2P6/PP1+p+lP1PP/1KG+r1+n3/LNSg4+b w G2SN4P 1"


def convert(folder: Path, text: str | bytes, target: str = "psv") -> bytes:
    (folder / "in.plain").write_bytes(text.encode() if isinstance(text, str) else text)
    convert_data([folder / "in.plain"], folder / f"out.{target}", to=Target(target))
    return (folder / f"out.{target}").read_bytes()


def test_one_record_is_the_one_of_yaneuraou(tmp_path: Path) -> None:
    assert convert(tmp_path, ONE).hex() == GOLDEN
    (tmp_path / "golden.psv").write_bytes(bytes.fromhex(GOLDEN))
    convert_data([tmp_path / "golden.psv"], tmp_path / "golden.plain", to=Target.PLAIN)
    assert (tmp_path / "golden.plain").read_text() == ONE


def test_the_page_shows_this_row() -> None:
    page = (ROOT / "docs" / "formats.md").read_text(encoding="utf-8")
    example = re.search(r"(?:^ {4}.*\n)+", page.partition("### plain")[2], re.MULTILINE)
    assert example is not None
    assert re.sub("^ {4}", "", example[0], flags=re.MULTILINE) == ONE


def test_real_rows_come_back(tmp_path: Path, shared_data: Path) -> None:
    source = shared_data / "training-fixtures" / "psv_to_hcpe3_yaneuraou_sample.psv"
    convert_data([source], tmp_path / "a.plain", to=Target.PLAIN)
    assert convert(tmp_path, (tmp_path / "a.plain").read_bytes()) == source.read_bytes()


@given(st.integers(0, 2**32))
def test_any_rows_come_back(tmp_path_factory: pytest.TempPathFactory, seed: int) -> None:
    rows = as_rows(random_games(1, seed))
    psv = hcpe_to_psv(rows.records, rows.plies)
    path = tmp_path_factory.mktemp("plain") / "a.plain"
    with DataWriter(path) as writer:
        writer.append(psv)
    back = list(read_data(path, format="plain"))
    assert np.array_equal(np.concatenate(back) if back else psv[:0], psv)


def test_fields_in_any_order_and_other_ends_of_lines(tmp_path: Path) -> None:
    text = f"\ufeffsfen {START_SFEN}\r\nmove 2g2f\r\nresult 1\r\nply 1\r\nscore +10\r\n\r\ne\r\n\r\n"
    assert convert(tmp_path, text).hex() == GOLDEN


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (ONE.replace("ply 1\n", ""), r"line 5: the row has no ply$"),
        (ONE.replace("e\n", ""), r"line 5: the file ends inside a row"),
        (ONE.replace("score 10", "score ten"), r"line 6: score 'ten' is not a whole number"),
        (ONE.replace("score 10", "score 99999"), r"line 6: score 99999 is not within"),
        (ONE + ONE.replace("2g2f", "2g2e"), r"line 12: .*2g2e"),
        (ONE.replace("result 1\n", "result 2\n"), r"line 6: result 2 is not within"),
        (ONE.replace("ply 1", "depth 1"), r"line 4: 'depth 1' is not a field \(sfen, move"),
        (ONE.replace("e\n", "") + ONE, r"line 6: a second 'sfen' in a row"),
        (ONE.replace("1r5b1", "1r6b1"), r"line 6: "),
        (ONE + "x" * 9000, r"line 7: 'x{80}' is not a field"),
    ],
    ids=["missing", "cut", "word", "large", "illegal", "result", "unknown", "no-end", "board", "long"],
)
def test_what_is_wrong_is_named(tmp_path: Path, text: str, expected: str) -> None:
    with pytest.raises(DataFileError, match=expected):
        convert(tmp_path, text)
    assert not (tmp_path / "out.psv").exists()


def test_bytes_that_are_no_text(tmp_path: Path) -> None:
    path = tmp_path / "a.plain"
    path.write_bytes(ONE.encode() + b"score \xff\n")
    with pytest.raises(DataFileError, match=r"a.plain, line 7: .*utf-8"):
        list(read_data(path, format="plain"))


def test_changed_bytes_are_reported_or_read(tmp_path: Path) -> None:
    source = random.Random(5)
    path = tmp_path / "a.plain"
    for _ in range(300):
        text = bytearray(ONE.encode() * 2)
        for _ in range(source.randrange(1, 4)):
            text[source.randrange(len(text))] = source.randrange(256)
        path.write_bytes(text)
        with contextlib.suppress(DataFileError):
            assert sum(map(len, read_data(path, format="plain"))) == 2
