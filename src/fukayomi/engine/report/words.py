"""Numbers as text, for the reports."""

from fukayomi.engine.analysis import Score


def percent(share: float, digits: int = 0) -> str:
    """A share from 0 to 1 in percent, without the sign."""
    return f"{100 * share:.{digits}f}"


def signed(cp: int) -> str:
    """Centipawns with a sign; the minus is U+2212."""
    return f"{cp:+d}".replace("-", "−") if cp else "0"


def evaluation(score: Score) -> str:
    """A score as text: centipawns, or a mate with its length in plies (☗7手で詰み)."""
    if score.mate is None:
        return signed(score.cp)
    winner = "☗" if score.cp > 0 else "☖"
    return f"{winner}{abs(score.mate)}手で詰み" if score.mate else f"{winner}勝ち"
