"""The document inside the page of an analysis: read again, and never trusted."""

import base64
import json
import zlib

import pytest
from analysis_answers import HOSTILE, game
from hypothesis import given
from hypothesis import strategies as st

from fukayomi.engine.report.document import AnalysisFileError, analysis_document, extract_document
from fukayomi.engine.report.page import analysis_page


def page_of(packed: bytes) -> bytes:
    text = base64.b64encode(packed).decode()
    return f'<!doctype html><script type="application/zlib" id="analysis">{text}</script>'.encode()


def test_page_has_the_document() -> None:
    _, analysis = game(black_name=HOSTILE, event=HOSTILE)
    found = extract_document(analysis_page(analysis).encode())
    assert found == json.loads(json.dumps(analysis_document(analysis)))


def test_document_that_unpacks_to_too_much_is_refused() -> None:
    packed = zlib.compress(b" " * 3_000_000 + b"{}")
    assert len(packed) < 10_000
    with pytest.raises(AnalysisFileError, match="larger than 2 MiB"):
        extract_document(page_of(packed), 2 << 20)


@pytest.mark.parametrize(
    "packed", [b"", b"x", zlib.compress(b"{}")[:-1], zlib.compress(b"{"), zlib.compress(b"[]"), zlib.compress(b"NaN")]
)
def test_damaged_documents_are_refused(packed: bytes) -> None:
    with pytest.raises(AnalysisFileError, match="the analysis in the page is damaged"):
        extract_document(page_of(packed))


@given(
    st.binary(max_size=200)
    | st.binary(max_size=50).map(page_of)
    | st.text("A=+ <", max_size=20).map(
        lambda text: b'<script type="application/zlib" id="analysis">' + text.encode() + b"</script>"
    )
)
def test_any_bytes_are_refused_in_words(page: bytes) -> None:
    with pytest.raises(AnalysisFileError, match="analysis"):
        extract_document(page)
