"""Time limits in the forms of CSA and KIF."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fukayomi.shogi.formats.clock import TimeLimit, kif_time_limit


@pytest.mark.parametrize(
    ("text", "csa_2", "csa_3", "kif"),
    [
        ("00:15+60", "00:15+60", "900+60+0", "15分+60秒"),
        ("00:25+00", "00:25+00", "1500+0+0", "25分"),
        ("10:00+60", "10:00+60", "36000+60+0", "10時間+60秒"),
        ("900+5+10", "", "900+5+10", "15分+5秒、1手10秒加算"),
        ("300+0+2.5", "", "300+0+2.5", ""),
        ("90+0+0", "", "90+0+0", "1分30秒"),
        ("0+10+0", "00:00+10", "0+10+0", "0分+10秒"),
        ("各５時間", "05:00+00", "18000+0+0", "5時間"),
        ("各1時間30分", "01:30+00", "5400+0+0", "1時間30分"),
        ("15分 秒読み60秒", "00:15+60", "900+60+0", "15分+60秒"),
    ],
)
def test_forms(text: str, csa_2: str, csa_3: str, kif: str) -> None:
    limit = TimeLimit.parse(text)
    assert limit is not None
    assert (limit.csa_2(), limit.csa_3(), limit.kif()) == (csa_2, csa_3, kif)
    assert kif_time_limit(text) == (kif or text)


@pytest.mark.parametrize("text", ["", "各", "一億年", "チェスクロック使用", "00:99+60", "1+2", "x"])
def test_other_texts_stay_as_they_are(text: str) -> None:
    assert TimeLimit.parse(text) is None
    assert kif_time_limit(text) == text


_PARTS = st.integers(0, 10**8).map(lambda seconds: seconds * 1000)


@given(_PARTS, _PARTS, _PARTS)
def test_what_is_written_is_read(main: int, byoyomi: int, increment: int) -> None:
    limit = TimeLimit(main, byoyomi, increment)
    assert TimeLimit.parse(limit.csa_3()) == limit
    assert TimeLimit.parse(limit.kif()) == limit
    if limit.csa_2():
        assert TimeLimit.parse(limit.csa_2()) == limit


@given(st.text(max_size=30))
def test_any_text_is_survived(text: str) -> None:
    written = kif_time_limit(text)
    assert written == text or TimeLimit.parse(written) == TimeLimit.parse(text)
