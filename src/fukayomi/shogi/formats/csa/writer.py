"""The writer of CSA records."""

import re
from collections import Counter
from collections.abc import Sequence

from fukayomi.errors import InvalidValueError
from fukayomi.shogi import BLACK, START_SFEN, WHITE, Color, Move, Position, ShogiError
from fukayomi.shogi.formats.clock import TimeLimit
from fukayomi.shogi.formats.csa.reader import ENDINGS, SUMMARY_WORDS, UNDECIDED, apply_summary, read_ending
from fukayomi.shogi.formats.kif.endings import End, ending_notes
from fukayomi.shogi.formats.kif.writer import noted_word
from fukayomi.shogi.formats.notation import foul_of, is_japanese, last_target
from fukayomi.shogi.record import Record, RecordedMove, Result, Termination, result_of, winner_is

_PLAIN = {"FU": "P", "KY": "L", "KE": "N", "GI": "S", "KA": "B", "HI": "R", "KI": "G", "OU": "K"}
PROMOTED = {"FU": "TO", "KY": "NY", "KE": "NK", "GI": "NG", "KA": "UM", "HI": "RY"}
SFEN_LETTER = _PLAIN | {promoted: "+" + _PLAIN[plain] for plain, promoted in PROMOTED.items()}
CSA_NAME = {letter: name for name, letter in SFEN_LETTER.items()}
_SFEN_HAND_ORDER = ("HI", "KA", "KI", "GI", "KE", "KY", "FU")


def square_index(text: str) -> int:
    """The number of a CSA square: 77 is (7 - 1) * 9 + (7 - 1)."""
    return (int(text[0]) - 1) * 9 + int(text[1]) - 1


class CsaBoard:
    """A board with the piece names of CSA, and the hands of the first position.

    Boards are written as ``P1-KY-KE...``, hands as ``P+00FU``. The native core reads them.
    """

    def __init__(self) -> None:
        self.squares = [""] * 81
        """``+FU``, ``-KA`` and so on by square; "" is empty."""
        self.hands: dict[str, Counter[str]] = {"+": Counter(), "-": Counter()}
        """Pieces in hand of ``+`` and ``-`` in the first position."""

    @classmethod
    def from_sfen(cls, sfen: str) -> "CsaBoard":
        """The board of a valid SFEN."""
        board = cls()
        rows, _, hands, *_ = sfen.split()
        for rank, row in enumerate(rows.split("/")):
            file, prefix = 8, ""
            for letter in row:
                if letter.isdigit():
                    file -= int(letter)
                elif letter == "+":
                    prefix = "+"
                else:
                    sign = "+" if letter.isupper() else "-"
                    board.squares[file * 9 + rank] = sign + CSA_NAME[prefix + letter.upper()]
                    file, prefix = file - 1, ""
        count = ""
        for letter in hands.replace("-", ""):
            if letter.isdigit():
                count += letter
            else:
                board.hands["+" if letter.isupper() else "-"][CSA_NAME[letter.upper()]] += int(count or 1)
                count = ""
        return board

    def lines(self) -> list[str]:
        """The ``P`` lines of the position."""
        lines: list[str] = []
        for rank in range(9):
            cells = [self.squares[file * 9 + rank] or " * " for file in range(8, -1, -1)]
            lines.append(f"P{rank + 1}{''.join(cells)}")
        for sign in "+-":
            held = "".join(f"00{piece}" * self.hands[sign][piece] for piece in _SFEN_HAND_ORDER)
            if held:
                lines.append(f"P{sign}{held}")
        return lines


# Ends for which CSA has no statement
_BY_SUMMARY = (
    Termination.PERPETUAL_CHECK, Termination.CRASH, Termination.STALL, Termination.PROTOCOL, Termination.ADJUDICATION,
)  # fmt: skip
_NUMBER = re.compile(r"\s*[+-]?[0-9]+(?:\s|$)")


def write_csa(record: Record) -> str:
    """Write a record as CSA with floodgate's extensions: ratings, scores, times and summary.

    The version is 2.2, or 3.0 if only that can express the time limit.
    """
    lines = _header_lines(record)
    board = CsaBoard.from_sfen(record.initial_sfen)
    sign = "+" if record.initial_sfen.split()[1] == "b" else "-"
    lines += ["PI"] if record.initial_sfen == START_SFEN else board.lines()
    lines.append(sign)
    for color, rating in (("black", record.black_rating), ("white", record.white_rating)):
        if rating is not None:
            name = record.black_name if color == "black" else record.white_name
            lines.append(f"'{color}_rate:{' '.join(name.splitlines())}:{rating}")
    lines += _comment_lines(record.comment)
    for played in record.moves:
        lines += _move_lines(played, board, sign)
        sign = "-" if sign == "+" else "+"
    turn = BLACK if sign == "+" else WHITE
    lines += _end_lines(record, board, turn)
    return "\n".join(lines) + "\n"


def _header_lines(record: Record) -> list[str]:
    limit = TimeLimit.parse(record.time_limit)
    if limit is None:
        version, clock = ["V2.2"], ("持ち時間", record.time_limit)
    elif text := limit.csa_2():
        version, clock = ["V2.2"], ("TIME_LIMIT", text)
    else:
        version, clock = ["'CSA encoding=UTF-8", "V3.0"], ("TIME", limit.csa_3())
    information = (
        ("EVENT", record.event), ("SITE", record.site), ("START_TIME", record.start_time),
        ("END_TIME", record.end_time), clock, ("OPENING", record.opening),
    )  # fmt: skip
    lines = [f"N+{record.black_name}"] if record.black_name else []
    lines += [f"N-{record.white_name}"] if record.white_name else []
    lines += [f"${key}:{value}" for key, value in information if value]
    lines += [f"${key.replace(':', '_')}:{value}" for key, value in record.headers.items()]
    return version + [" ".join(line.splitlines()) for line in lines]


def csa_moves(sfen: str, moves: Sequence[str]) -> list[str]:
    """Write successive USI moves in CSA notation, such as the expected lines of floodgate.

    Args:
        sfen: Position before the first move.
        moves: Legal moves.
    """
    board = CsaBoard.from_sfen(sfen)
    signs = ("+", "-") if sfen.split()[1] == "b" else ("-", "+")
    return [signs[ply % 2] + _move_text(Move.from_usi(usi), board, signs[ply % 2]) for ply, usi in enumerate(moves)]


def _comment_lines(comment: str) -> list[str]:
    # A number after a blank would be read as a score.
    return (
        [f"'*{line.strip() if _NUMBER.match(line) else f' {line}'}" for line in comment.split("\n")] if comment else []
    )


def _time_lines(time_ms: int | None) -> list[str]:
    if time_ms is None:
        return []
    seconds, milliseconds = divmod(time_ms, 1000)
    return [f"T{seconds}.{milliseconds:03}".rstrip("0") if milliseconds else f"T{seconds}"]


def _move_lines(played: RecordedMove, board: CsaBoard, sign: str) -> list[str]:
    text = _move_text(played.move, board, sign)
    lines = [sign + text]
    lines += _time_lines(played.time_ms)
    if played.score_cp is not None:
        lines.append(f"'** {played.score_cp} {' '.join(played.pv.splitlines())}".rstrip())
    return lines + _comment_lines(played.comment)


def _move_text(move: Move, board: CsaBoard, sign: str) -> str:
    """Write a move and play it on the board."""
    usi = move.usi()
    target = square_index(usi[2] + str("abcdefghi".index(usi[3]) + 1))
    if usi[1] == "*":
        origin_text = "00"
        piece = next(name for name, letter in SFEN_LETTER.items() if letter == usi[0])
    else:
        origin_text = usi[0] + str("abcdefghi".index(usi[1]) + 1)
        origin = square_index(origin_text)
        piece = board.squares[origin][1:]
        if not piece:
            raise InvalidValueError(f"no piece on {usi[:2]}")
        piece = PROMOTED[piece] if usi.endswith("+") else piece
        board.squares[origin] = ""
    board.squares[target] = sign + piece
    return f"{origin_text}{target // 9 + 1}{target % 9 + 1}{piece}"


def _end_lines(record: Record, board: CsaBoard, turn: Color) -> list[str]:
    lines = [_illegal_move_line(record, board, turn)] if record.illegal_move else []
    is_shown = bool(lines) and not lines[0].startswith("'")
    if is_shown and "ILLEGAL" not in _end_word(record, turn, is_shown):  # no end of a foul
        lines, is_shown = [_unshown(record.illegal_move)], False
    lines += _time_lines(record.illegal_move_time_ms) if is_shown else []
    word = _end_word(record, turn, is_shown)
    lines += [f"%{word}", *_time_lines(record.ending_time_ms)] if word else []
    if own := noted_word(record, turn):  # the summary tells the winner
        said = Termination.INTERRUPTED if word == "CHUDAN" else record.termination
        lines += _comment_lines("\n".join(ending_notes(record, End(said, record.result), own)))
    lines += _comment_lines(record.ending_comment)
    summary = " ".join(record.summary.splitlines())
    told = _told(record, word, turn, summary, is_illegal_move_shown=is_shown)
    needs_word = record.termination in _BY_SUMMARY and not summary
    if needs_word or told != (record.termination, record.result):
        summary = _summary(record)
    return lines + ([f"'summary:{summary}"] if summary else [])


def _told(
    record: Record, word: str, turn: Color, summary: str, *, is_illegal_move_shown: bool
) -> tuple[Termination, Result]:
    """The end that a reader takes from the statement and the summary."""
    read = Record(illegal_move=record.illegal_move if is_illegal_move_shown else "", summary=summary)
    if word:
        read_ending(read, word, turn)
    if word == "CHUDAN" and (own := noted_word(record, turn)):
        read.termination, read.ending_word = record.termination, own
    if summary:
        apply_summary(read, turn)
    return read.termination, read.result


def _summary(record: Record) -> str:
    """The end in the form of shogi-server's summaries: ``toryo:alice win:bob lose``."""
    outcomes = {Result.BLACK_WIN: ("win", "lose"), Result.WHITE_WIN: ("lose", "win"), Result.DRAW: ("draw", "draw")}
    names = (" ".join(name.splitlines()).replace(":", "_") for name in (record.black_name, record.white_name))
    ends = outcomes.get(record.result, (UNDECIDED, UNDECIDED))
    sides = (f"{name} {end}".lstrip() for name, end in zip(names, ends, strict=True))
    return ":".join((SUMMARY_WORDS[record.termination], *sides))


def _end_word(record: Record, turn: Color, is_illegal_move_shown: bool) -> str:
    """The CSA word for the end; if CSA has none, one with the same winner or without one."""
    loser_is_to_move = record.result == winner_is(turn.opponent)
    is_won = record.result in (Result.BLACK_WIN, Result.WHITE_WIN)
    sided = f"{'-' if record.result is Result.BLACK_WIN else '+'}ILLEGAL_ACTION"
    match record.termination:
        case Termination.CRASH | Termination.STALL | Termination.PROTOCOL:
            return sided if is_won else "ERROR"
        case Termination.ILLEGAL_MOVE if is_illegal_move_shown:
            return "ILLEGAL_MOVE"
        case Termination.ILLEGAL_MOVE if record.result == winner_is(turn):
            return sided  # a foul of the side not to move
        case Termination.PERPETUAL_CHECK:
            return "SENNICHITE"
        case Termination.ADJUDICATION:
            return "HIKIWAKE" if record.result is Result.DRAW else "TORYO" if loser_is_to_move else "CHUDAN"
        case Termination.NONE if record.result is Result.UNKNOWN:
            return ""
        case termination:
            word = {ending: word for word, ending in reversed(ENDINGS.items())}.get(termination, "CHUDAN")
            is_told = result_of(termination, turn) is record.result
            if is_told or result_of(termination, turn) is Result.UNKNOWN:
                return word
            return "HIKIWAKE" if record.result is Result.DRAW else "CHUDAN"  # the word would name another winner


def _illegal_move_line(record: Record, board: CsaBoard, turn: Color) -> str:
    """The move if CSA can express it, otherwise a comment: engines send USI moves or anything else."""
    text = record.illegal_move
    if is_japanese(text):
        position = Position.from_sfen(record.initial_sfen, allow_missing_king=True)
        for played in record.moves:
            position.push(played.move)
        foul = foul_of(text, position, last_target(position))
        text = foul.usi() if foul else text
    if re.fullmatch(r"[+-][0-9]{4}[A-Z]{2}", text):
        return text
    sign = "+" if turn == BLACK else "-"
    try:
        return sign + _move_text(Move.from_usi(text), board, sign)
    except (ShogiError, KeyError, ValueError):  # not a USI move, no such piece, or it cannot promote
        return _unshown(text)


def _unshown(text: str) -> str:
    printable = "".join(character if character.isprintable() else "?" for character in text[:120])
    return f"'* illegal move: {printable}"
