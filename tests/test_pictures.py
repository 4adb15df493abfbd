"""Pictures show themselves in a notebook."""

import pytest

from fukayomi import Position, analyse
from fukayomi.arena import count_strategies, plot_shares

PNG = b"\x89PNG"


def test_figures_are_pngs_in_a_notebook_without_pyplot() -> None:
    pytest.importorskip("matplotlib")
    game = Position("startpos moves 7g7f 3c3d 2g2f 8c8d")
    analysis = analyse(game, nodes=1, network="<hash>")
    from fukayomi.shogi.record import Record

    counts = count_strategies([Record.from_text("startpos moves 7g7f 3c3d 2h6h 8c8d")])
    for figure in (analysis.plot(), plot_shares(counts)):
        assert figure._repr_png_().startswith(PNG)  # type: ignore[attr-defined]
    assert game._repr_svg_().startswith("<svg")
