"""The document inside its page, so that the page alone is enough to open an analysis again.

It is compressed: a page with it is a sixth larger instead of nearly twice as large. Letters of Base64 cannot end the
element in which they stand, whatever a record contains.
"""

import base64
import re
import zlib
from typing import Any

from pydantic_core import from_json

from fukayomi.engine.analysis.game_analysis import GameAnalysis
from fukayomi.engine.report.document import LARGEST, AnalysisFileError, document_text
from fukayomi.errors import InvalidValueError

ELEMENT = re.compile(rb'<script type="application/zlib" id="analysis">([A-Za-z0-9+/=]*)</script>')
"""As in ``page.html``. A browser does not run what has this type."""


def embedded(analysis: GameAnalysis) -> str:
    """The document as the text of the element."""
    return base64.b64encode(zlib.compress(document_text(analysis).encode(errors="backslashreplace"), 9)).decode()


def extract_document(page: bytes, largest: int = LARGEST) -> dict[str, Any]:
    """The document in a page. Nothing else of the page is looked at; what is in the document is not checked.

    Args:
        page: The page.
        largest: Bytes of the largest document.

    Raises:
        AnalysisFileError: The page has no document, or a damaged one.
    """
    found = ELEMENT.search(page)
    if found is None:
        raise AnalysisFileError(
            "a page without an analysis in it: open the analysis.json of its folder, or analyse the game again"
        )
    unpacking = zlib.decompressobj()
    try:
        data = unpacking.decompress(base64.b64decode(found[1]), largest + 1)
        if len(data) > largest:
            raise AnalysisFileError(f"the analysis in the page is larger than {largest >> 20} MiB")
        if not unpacking.eof:
            raise InvalidValueError("it ends too early")
        document = from_json(data, allow_inf_nan=False)
    except AnalysisFileError:
        raise
    except (ValueError, zlib.error) as error:
        raise AnalysisFileError(f"the analysis in the page is damaged: {error}") from error
    if not isinstance(document, dict):
        raise AnalysisFileError("the analysis in the page is damaged: it is no object")
    return document  # pyright: ignore[reportUnknownVariableType]
