"""Scores, moves and endings as text, for the reports."""

from fukayomi.engine.analysis.game_analysis import Mistake, MoveAnalysis, Score, SearchLimits
from fukayomi.pictures import Language
from fukayomi.shogi import BLACK, Color
from fukayomi.shogi.record import Record, Result, Termination

Words = tuple[str, str]
"""A text in Japanese and in English."""

ENDINGS: dict[Termination, Words] = {
    Termination.RESIGN: ("投了", "resignation"),
    Termination.DECLARATION: ("入玉宣言", "declaration"),
    Termination.REPETITION: ("千日手", "repetition"),
    Termination.PERPETUAL_CHECK: ("連続王手の千日手", "perpetual check"),
    Termination.IMPASSE: ("持将棋", "impasse"),
    Termination.MAX_PLIES: ("最大手数", "move limit"),
    Termination.MATE: ("詰み", "mate"),
    Termination.TIME_UP: ("時間切れ", "time forfeit"),
    Termination.ILLEGAL_MOVE: ("反則", "illegal move"),
    Termination.CRASH: ("エンジン停止", "crash"),
    Termination.STALL: ("応答なし", "no response"),
    Termination.PROTOCOL: ("プロトコル違反", "protocol error"),
    Termination.ADJUDICATION: ("裁定", "adjudication"),
    Termination.INTERRUPTED: ("中断", "interrupted"),
}
WINNERS: dict[Result, Words] = {
    Result.BLACK_WIN: ("先手の勝ち", "Black wins"),
    Result.WHITE_WIN: ("後手の勝ち", "White wins"),
    Result.DRAW: ("引き分け", "draw"),
    Result.UNKNOWN: ("", ""),
}


def percent(share: float, digits: int = 0) -> str:
    """A share from 0 to 1 in percent, without the sign."""
    return f"{100 * share:.{digits}f}"


def lost(share: float, digits: int = 0) -> str:
    """A loss in percent, rounded, but never up to the next class of mistakes: 9.96 % is not 10 %."""
    text = percent(share, digits)
    is_same_class = Mistake.from_loss(float(text) / 100) is Mistake.from_loss(share)
    return text if is_same_class else percent(share - 0.5 / 10 ** (digits + 2), digits)


def signed(cp: int) -> str:
    """Centipawns with a sign; the minus is U+2212."""
    return f"{cp:+d}".replace("-", "−") if cp else "0"


def evaluation(score: Score, language: Language = "ja") -> str:
    """A score as text: centipawns, or a mate with its length (☗7手詰, ☗ mate in 7).

    The length counts from the next move of the side that mates, as in mate problems, so it is odd.
    """
    if score.mate is None and score.winrate not in (0.0, 1.0):
        return signed(score.cp)
    winner = "☗" if score.cp > 0 else "☖"
    if score.mate is None:
        return f"{winner}詰みあり" if language == "ja" else f"{winner} mates"
    if score.mate == 0:
        return f"{winner}勝ち" if language == "ja" else f"{winner} wins"
    plies = (abs(score.mate) - 1) | 1
    return f"{winner}{plies}手詰" if language == "ja" else f"{winner} mate in {plies}"


def verdict(move: MoveAnalysis) -> Words:
    """Class of a mistake, with a question mark if a longer search might change it; empty for other moves."""
    if move.mistake is None:
        return "", ""
    if move.is_certain:
        return move.mistake.japanese, move.mistake.english
    return f"{move.mistake.japanese}？", f"{move.mistake.english}?"


def ending(record: Record) -> Words:
    """Text of a game's end, in Japanese and in English: 120手で先手の勝ち（投了）, Black wins, resignation."""
    how = ENDINGS.get(record.termination, ("", ""))
    if record.ending_word:
        how = (printable(record.ending_word),) * 2
    who = WINNERS[record.result]
    if record.result in (Result.BLACK_WIN, Result.WHITE_WIN):
        who = f"{record.side_names[record.result is Result.WHITE_WIN]}の勝ち", who[1]
    foul = f"：{printable(record.illegal_move)}" if record.illegal_move else ""
    japanese = f"{len(record)}手で{who[0]}（{how[0]}{foul}）" if how[0] else f"{len(record)}手{who[0]}"
    return japanese, ", ".join(filter(None, (who[1], how[1])))


def mated(color: Color) -> Words:
    """That a side is mated, in Japanese and in English: 詰み、先手の勝ち; mate, Black wins."""
    mate, winner = ENDINGS[Termination.MATE], WINNERS[Result.WHITE_WIN if color == BLACK else Result.BLACK_WIN]
    return f"{mate[0]}、{winner[0]}", f"{mate[1]}, {winner[1]}"


def search_limits(limits: SearchLimits) -> Words:
    """Limits of the search of one position, in Japanese and in English."""
    nodes, time_ms = limits.nodes, limits.time_ms
    parts = [f"{nodes} ノード" if nodes else "", f"{time_ms} ミリ秒" if time_ms else ""]
    japanese = "または ".join(filter(None, parts))
    return f"一局面 {japanese}" if japanese else "制限なし", str(limits)


def printable(text: str) -> str:
    """A text of a record without characters that control a terminal or reverse the direction of writing."""
    return "".join(character if character.isprintable() else " " for character in text).strip()
