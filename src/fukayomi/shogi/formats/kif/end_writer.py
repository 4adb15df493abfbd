"""The end of a game in the words of KIF and KI2, such that every reader finds the same winner."""

from typing import NamedTuple

from fukayomi.shogi.formats.kif.endings import (
    END_WORDS,
    MOVER_WINS,
    NAMES,
    NOBODY,
    End,
    end_in_place,
    end_of_closing,
    end_of_word,
    may_be_word,
)
from fukayomi.shogi.formats.kif.tokens import read_tokens
from fukayomi.shogi.position import BLACK, Color
from fukayomi.shogi.record import Record, Result, Termination

# A foul without a word of its own is one against the rules of the game.
_FOULS = (
    Termination.ILLEGAL_MOVE, Termination.PERPETUAL_CHECK, Termination.CRASH, Termination.STALL, Termination.PROTOCOL,
)  # fmt: skip
_INTERRUPTED, _DRAWN = "中断", "引き分け"


class Ending(NamedTuple):
    """The end of a game as KIF and KI2 write it."""

    word: str
    """In place of the next move: 投了."""
    closing: str
    """After まで97手で: 先手の勝ち."""
    said: End
    """Meaning of the word."""

    def told(self, turn: Color, names: tuple[str, str]) -> End:
        """Meaning of the word and the closing line together, to a reader who knows the players' names."""
        if self.said.result is not Result.UNKNOWN:
            return self.said
        return self.said._replace(result=end_of_closing(self.closing, turn, names).result)


def ending_of(record: Record, turn: Color, *, is_illegal_move_shown: bool = False) -> Ending | None:
    """The end of a game in the words of KIF and KI2; None if the record does not have one.

    What has no word there is written as a foul, a resignation, a draw or an interruption with the same winner;
    `endings.ending_notes` has the rest.

    Args:
        record: The record.
        turn: The side to move after the last move of the record.
        is_illegal_move_shown: Whether the illegal move that ended the game stands before the word.
    """
    if record.termination is Termination.NONE and record.result is Result.UNKNOWN:
        return None
    winner = {Result.BLACK_WIN: BLACK, Result.WHITE_WIN: BLACK.opponent}.get(record.result)
    if record.termination in _FOULS and winner is not None:
        said = turn.opponent if is_illegal_move_shown else turn
        word = "反則勝ち" if winner == said else "反則負け"
        return Ending(word, f"{_name(said, record)}の{word}", end_of_word(word, said))
    word = _word(record, turn, winner)
    said = end_of_word(word, turn)
    if said.result is record.result:
        return Ending(word, _closing(word, record, turn), said)
    if winner is not None and said.result is Result.UNKNOWN:  # the closing line tells who won
        cause = f"{word}により" if said.word else ""
        return Ending(word, f"{cause}{_name(winner, record)}の勝ち", said)
    outcome = END_WORDS.get(word, (None, NOBODY))[1]
    if winner is not None and outcome != NOBODY:  # the other side's word
        side = winner if outcome == MOVER_WINS else winner.opponent
        return Ending(f"{_name(side, record)}{word}", _closing(word, record, side), end_of_word(word, side))
    word = _DRAWN if record.result is Result.DRAW else _INTERRUPTED
    closing = word if winner is None else f"{_name(winner, record)}の勝ち"
    return Ending(word, closing, end_of_word(word, turn))


def own_word(record: Record, turn: Color) -> str:
    """The word of the record itself, if a reader takes it for one and for the same end."""
    word = record.ending_word
    if not may_be_word(word) and word not in END_WORDS:
        return ""
    tokens = read_tokens(f"1 {word}")
    end = end_in_place(word, turn, (record.black_name, record.white_name))
    is_read = len(tokens) == 1 and tokens[0].word == word and end.word == word
    return word if is_read and end == end_of_word(word, turn) and end.termination is record.termination else ""


def noted_word(record: Record, turn: Color) -> str:
    """The word of the record itself, if `take_ending_word` takes it for one and for the same end in a comment."""
    word = record.ending_word
    end = end_of_word(word, turn)
    is_same = end.word == word and end.termination is record.termination
    return word if is_same and word == " ".join(word.split()) else ""


def _word(record: Record, turn: Color, winner: Color | None) -> str:
    """The word for the termination."""
    match record.termination:
        case Termination.ADJUDICATION | Termination.CRASH | Termination.STALL | Termination.PROTOCOL:
            if record.result is Result.DRAW:
                return _DRAWN
            return NAMES[Termination.RESIGN] if winner == turn.opponent else _INTERRUPTED
        case Termination.OTHER | Termination.INTERRUPTED | Termination.ILLEGAL_MOVE:
            default = (
                NAMES[Termination.ILLEGAL_MOVE] if record.termination is Termination.ILLEGAL_MOVE else _INTERRUPTED
            )
            return own_word(record, turn) or default
        case Termination.NONE:
            return _INTERRUPTED
        case termination:
            return NAMES[termination]


def _closing(word: str, record: Record, turn: Color) -> str:
    match word:
        case "投了":
            return f"{_name(turn.opponent, record)}の勝ち"
        case "切れ負け":
            return f"時間切れにより{_name(turn.opponent, record)}の勝ち"
        case "入玉勝ち":
            return f"{_name(turn, record)}の入玉勝ち"
        case "詰み":
            return "詰" if turn == _turn_of(record) else f"詰みにより{_name(turn.opponent, record)}の勝ち"
        case "不戦勝" | "不戦敗":
            return f"{_name(turn, record)}の{word}"
        case _:
            return word


def _turn_of(record: Record) -> Color:
    first = BLACK if record.initial_sfen.split()[1] == "b" else BLACK.opponent
    return first if len(record.moves) % 2 == 0 else first.opponent


def _name(color: Color, record: Record) -> str:
    return record.side_names[color == BLACK.opponent]
