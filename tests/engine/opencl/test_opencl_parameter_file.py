"""KataGo's file of parameters: read, written, refused."""

from pathlib import Path

import pytest

from fukayomi.engine.evaluators.backends.opencl.parameters import Tiled, Wmma
from fukayomi.engine.evaluators.backends.opencl.tuning.parameter_file import read_parameters, write_parameters
from fukayomi.engine.evaluators.backends.opencl.tuning.tuned import Tuned
from fukayomi.errors import InvalidValueError
from fukayomi.files.inputs import InputFileError

SHOGI = """VERSION=8
#shouldUseFP16Storage
1
#shouldUseFP16Compute
0
#shouldUseFP16TensorCores
1
#xGemmDirect
WGD=16 MDIMCD=8 NDIMCD=8 MDIMAD=8 NDIMBD=8 KWID=1 VWMD=1 VWND=1 PADA=1 PADB=1
#xGemm
MWG=32 NWG=32 KWG=16 MDIMC=8 NDIMC=8 MDIMA=8 NDIMB=8 KWI=2 VWM=4 VWN=4 STRM=0 STRN=0 SA=1 SB=1
#xGemm16
MWG=32 NWG=32 KWG=16 MDIMC=8 NDIMC=8 MDIMA=8 NDIMB=8 KWI=2 VWM=4 VWN=4 STRM=0 STRN=0 SA=1 SB=1
#hGemmWmma
MWG=32 NWG=32 KWG=32 MWAVE=16 NWAVE=16 MWARP=16 NWARP=16 VWM=2 VWN=2 SA=0 SB=0
#conv3x3
INTILE_XSIZE=6 INTILE_YSIZE=6 OUTTILE_XSIZE=4 OUTTILE_YSIZE=4 transLocalSize0=64 transLocalSize1=1 \
untransLocalSize0=8 untransLocalSize1=4 untransLocalSize2=2
"""
"""As dlshogi's author printed his."""
KATAGO = """VERSION=8
#shouldUseFP16Storage
1
#shouldUseFP16Compute
0
#shouldUseFP16TensorCores
1
#xGemmDirect
WGD=32 MDIMCD=8 NDIMCD=8 MDIMAD=16 NDIMBD=16 KWID=8 VWMD=2 VWND=2 PADA=1 PADB=1
#xGemm
MWG=64 NWG=64 KWG=32 MDIMC=16 NDIMC=8 MDIMA=16 NDIMB=8 KWI=2 VWM=4 VWN=4 STRM=0 STRN=0 SA=1 SB=1
#xGemm16
MWG=64 NWG=64 KWG=32 MDIMC=16 NDIMC=8 MDIMA=16 NDIMB=8 KWI=2 VWM=4 VWN=4 STRM=0 STRN=0 SA=1 SB=1
#hGemmWmma
MWG=64 NWG=64 KWG=64 MWAVE=16 NWAVE=16 MWARP=16 NWARP=16 VWM=2 VWN=2 SA=0 SB=0
#conv3x3
INTILE_XSIZE=6 INTILE_YSIZE=6 OUTTILE_XSIZE=4 OUTTILE_YSIZE=4 transLocalSize0=128 transLocalSize1=1 \
untransLocalSize0=8 untransLocalSize1=4 untransLocalSize2=1
#conv5x5
INTILE_XSIZE=6 INTILE_YSIZE=6 OUTTILE_XSIZE=2 OUTTILE_YSIZE=2 transLocalSize0=128 transLocalSize1=1 \
untransLocalSize0=8 untransLocalSize1=4 untransLocalSize2=1
#gPool
XYSTRIDE=16 CHANNELSTRIDE=2 BATCHSTRIDE=1
"""
"""As he printed KataGo's."""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "parameters.txt"


def test_a_file_is_written_as_it_was_read(path: Path) -> None:
    path.write_text(SHOGI)
    tuned = read_parameters(path)
    assert tuned.output == 4
    assert tuned.x_gemm_direct == Tiled(16, 16, 16, 8, 8, 8, 8, 1, 1, 1, 0, 0, 1, 1, 1, 1)
    assert tuned.wmma == Wmma()
    assert (tuned.fp16_storage, tuned.fp16_compute, tuned.fp16_tensor_cores) == (True, False, True)
    assert tuned.transform == (64, 1, 1)
    assert tuned.untransform == (8, 4, 2)
    write_parameters(tuned, path)
    assert path.read_bytes() == SHOGI.encode()


def test_what_shogi_does_not_need_is_ignored(path: Path) -> None:
    path.write_text(KATAGO)
    tuned = read_parameters(path)
    assert tuned.x_gemm.MWG == 64
    write_parameters(tuned, path)
    assert path.read_text() == KATAGO[: KATAGO.index("#conv5x5")]


def test_tiles_without_a_remainder_are_written(path: Path) -> None:
    write_parameters(Tuned(), path)
    assert "INTILE_XSIZE=5 INTILE_YSIZE=5 OUTTILE_XSIZE=3 OUTTILE_YSIZE=3 " in path.read_text()
    assert read_parameters(path) == Tuned()


@pytest.mark.parametrize(
    ("old", "new", "line", "reason"),
    [
        ("VERSION=8", "VERSION=13", 1, "version 13 of the file; this program reads version 8"),
        ("VERSION=8", "hello", 1, "does not begin with VERSION=8"),
        ("#xGemm16\n", "#xGemm17\n", 12, "'#xGemm17' is no section of version 8"),
        ("#xGemm16\n", "#xGemm\n", 12, "#xGemm is there twice"),
        ("#shouldUseFP16Compute\n0\n", "#shouldUseFP16Compute\n", 4, "#shouldUseFP16Compute has no values"),
        ("#shouldUseFP16Compute\n0\n", "", 15, "#shouldUseFP16Compute is missing"),
        ("#shouldUseFP16Storage\n1", "#shouldUseFP16Storage\nyes", 3, "#shouldUseFP16Storage must be 0 or 1"),
        ("WGD=16", "WGD=-16", 9, "'WGD=-16' is no parameter of #xGemmDirect"),
        ("WGD=16", "WGD=9999", 9, "WGD=9999 is more than 1024"),
        ("WGD=16 ", "", 9, "WGD of #xGemmDirect is missing"),
        ("WGD=16 MDIMCD=8", "WGD=16 WGD=16", 9, "'WGD=16' is no parameter of #xGemmDirect, or there twice"),
        ("WGD=16", "WGD=0", 9, "values of #xGemmDirect do not fit together"),
        ("WGD=16", "WGD=20", 9, "values of #xGemmDirect do not fit together"),
        ("MWARP=16 NWARP=16", "MWARP=16 NWARP=8", 15, "values of #hGemmWmma do not fit together"),
        ("OUTTILE_XSIZE=4", "OUTTILE_XSIZE=2", 17, "tiles of #conv3x3 must have INTILE 5 and OUTTILE 3, or 6 and 4"),
        ("transLocalSize1=1", "transLocalSize1=0", 17, "work-groups of #conv3x3 are empty or too large"),
    ],
)
def test_hostile_files_are_refused_with_line_and_remedy(path: Path, old: str, new: str, line: int, reason: str) -> None:
    path.write_text(SHOGI.replace(old, new, 1))
    with pytest.raises(InvalidValueError) as caught:
        read_parameters(path)
    message = str(caught.value)
    assert message.startswith(f"{path}, line {line}: {reason}"), message
    assert message.endswith("; make a new one with: fukayomi tune-opencl --output FILE")


@pytest.mark.parametrize("content", [b"", b"VERSION=8\n\xff\xfe", b"\0" * 100, b"VERSION=8\n"])
def test_other_files_are_refused(path: Path, content: bytes) -> None:
    path.write_bytes(content)
    with pytest.raises(InvalidValueError, match=r"parameters\.txt, line \d: "):
        read_parameters(path)


def test_a_huge_file_is_refused(path: Path) -> None:
    path.write_bytes(b"VERSION=8\n" * 10_000)
    with pytest.raises(InputFileError, match="larger than"):
        read_parameters(path)


def test_a_missing_file_is_named(path: Path) -> None:
    with pytest.raises((InputFileError, FileNotFoundError), match=r"parameters\.txt"):
        read_parameters(path)
