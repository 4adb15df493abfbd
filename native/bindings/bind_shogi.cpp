// The rules: Position (with the moves that led to it), Move, Piece, and the errors of parsers.
#include <nanobind/nanobind.h>
#include <nanobind/operators.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/variant.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <optional>
#include <stdexcept>
#include <string>
#include <tuple>
#include <variant>
#include <vector>

#include "arrays.hpp"
#include "bindings.hpp"
#include "mate/checks.hpp"
#include "mate/mate_one.hpp"
#include "mate/mate_three.hpp"
#include "shogi/board_text.hpp"
#include "shogi/errors.hpp"
#include "shogi/illegal.hpp"
#include "shogi/movegen.hpp"
#include "shogi/position.hpp"
#include "shogi/usi_move.hpp"
#include "signals.hpp"
#include "unlocked.hpp"

namespace nb = nanobind;
using namespace nb::literals;
using namespace fukayomi;

namespace {

constexpr int DEEPEST_PERFT = 20;

// A piece of the board as Python sees it.
struct BoardPiece {
    Piece piece;
};

// Moves as a Python sequence; Move objects are made only for those that are looked at.
struct Moves {
    std::vector<Move> list;
};

// A Python string may hold lone surrogates (bytes from a terminal or a pipe that are not UTF-8). They appear as \udcXX in
// the message instead of raising a TypeError.
std::string utf8(const nb::str& text) {
    const nb::object bytes = nb::steal(PyUnicode_AsEncodedString(text.ptr(), "utf-8", "backslashreplace"));
    if (!bytes.is_valid()) throw nb::python_error();
    return {PyBytes_AsString(bytes.ptr()), static_cast<std::size_t>(PyBytes_Size(bytes.ptr()))};
}

using SquareLike = std::variant<int, nb::str>;  // 0 to 80, or a name like 5e

Square checked_square(const SquareLike& like) {
    if (const nb::str* name = std::get_if<nb::str>(&like)) return square_from_usi(utf8(*name));
    const int square = std::get<int>(like);
    if (square < 0 || square >= SQUARES) throw std::invalid_argument("square " + std::to_string(square) + " is not in 0 to 80");
    return square;
}

Move checked_move(std::uint16_t raw) {
    const Move m(raw);
    const bool possible = m.is_drop() ? m.dropped() <= GOLD && !m.is_promotion() : m.from() != m.to();
    if (!possible || m.to() >= SQUARES || raw >= 1U << 15)
        throw ParseError(ParseError::Kind::MOVE, "invalid raw move " + std::to_string(raw) + ": not a move of the hcpe format");
    return m;
}

template <auto GENERATE>
Moves generated(const Position& position) {
    MoveList moves;
    GENERATE(position.board(), moves);
    return {{moves.begin(), moves.end()}};
}

std::vector<Move> played_moves(const Position& position) {
    std::vector<Move> moves;
    for (const Undo& undo : position.moves()) moves.push_back(undo.move);
    return moves;
}

bool same_position(const Board& a, const Board& b) {
    if (a.key() != b.key() || a.turn() != b.turn()) return false;
    for (const Color c : {BLACK, WHITE})
        if (!(a.hand(c) == b.hand(c))) return false;
    for (Square s = 0; s < SQUARES; ++s)
        if (a.piece_on(s) != b.piece_on(s)) return false;
    return true;
}

nb::dict pieces_by_square(const Position& position, std::optional<Color> color, std::optional<PieceType> type) {
    nb::dict pieces;
    for (Square s = 0; s < SQUARES; ++s) {
        const Piece piece = position.board().piece_on(s);
        if (piece == NO_PIECE || (color && color_of(piece) != *color) || (type && type_of(piece) != *type)) continue;
        pieces[nb::int_(s)] = BoardPiece{piece};
    }
    return pieces;
}

std::vector<int> attackers_of(const Position& position, Color color, const SquareLike& square) {
    std::vector<int> squares;
    for (Bitboard left = position.board().attackers(color, checked_square(square), position.board().occupied()); left.any();)
        squares.push_back(left.pop());
    return squares;
}

using BoardArray = nb::ndarray<std::uint8_t, nb::numpy, nb::shape<SQUARES>>;

BoardArray board_array_of(const Position& position) {
    std::array<std::uint8_t, SQUARES> board;
    for (Square s = 0; s < SQUARES; ++s) board[static_cast<std::size_t>(s)] = position.board().piece_on(s);
    return new_array<std::uint8_t, nb::shape<SQUARES>>(board.data(), SQUARES, {SQUARES});
}

nb::dict hand_counts(const Position& position, Color color) {
    nb::dict counts;
    for (const PieceType t : HAND_ORDER)
        if (const int count = position.board().hand(color).count(t); count != 0) counts[nb::cast(t)] = count;
    return counts;
}

// Counts positions as perft does, and looks for signals such as Ctrl-C a few times a second.
class InterruptiblePerft {
  public:
    // Nothing if a signal has ended it, whose exception is set.
    std::optional<std::uint64_t> count(Board& pos, int depth) {
        const std::uint64_t nodes = below(pos, depth);
        return is_signalled_ ? std::nullopt : std::optional(nodes);
    }

  private:
    static constexpr int WHOLE = 3;  // plies that are counted in one go: milliseconds, or a second where there are hundreds of moves
    static constexpr std::chrono::milliseconds INTERVAL{100};

    std::uint64_t below(Board& pos, int depth) {
        if (depth <= WHOLE) {
            look();
            return is_signalled_ ? 0 : perft(pos, depth);
        }
        MoveList moves;
        generate_legal(pos, moves);
        std::uint64_t nodes = 0;
        for (const Move m : moves) {
            if (is_signalled_) break;
            Undo undo;
            pos.do_move(m, undo);
            nodes += below(pos, depth - 1);
            pos.undo_move(undo);
        }
        return nodes;
    }

    void look() {
        const auto now = std::chrono::steady_clock::now();
        if (now < next_) return;
        next_ = now + INTERVAL;
        const nb::gil_scoped_acquire acquire;
        is_signalled_ = PyErr_CheckSignals() != 0;
    }

    std::chrono::steady_clock::time_point next_ = std::chrono::steady_clock::now() + INTERVAL;
    bool is_signalled_ = false;
};

std::uint64_t perft_of(const Position& position, int depth) {
    if (depth < 0 || depth > DEEPEST_PERFT) throw std::invalid_argument("depth " + std::to_string(depth) + " is not in 0 to 20");
    Board pos = position.board();
    std::optional<std::uint64_t> nodes;
    if (is_main_thread()) {
        const Unlocked release;
        nodes = InterruptiblePerft().count(pos, depth);
    } else {
        const Unlocked release;
        nodes = perft(pos, depth);
    }
    if (!nodes) throw nb::python_error();
    return *nodes;
}

// A move, or its name in USI notation.
using MoveLike = std::variant<Move, nb::str>;

Move move_of(const MoveLike& like) {
    if (const nb::str* text = std::get_if<nb::str>(&like)) return move_from_usi(utf8(*text));
    return std::get<Move>(like);
}

// A position from an SFEN, or from the arguments of USI's `position` command.
Position position_from_text(const std::string& text) {
    const std::size_t first = text.find_first_not_of(" \t\r\n");
    const std::string word = first == std::string::npos ? "" : text.substr(first, text.find_first_of(" \t\r\n", first) - first);
    if (word == "startpos" || word == "sfen" || word == "position") return Position::from_usi(text);
    return Position(Board::from_sfen(text, false));
}

// The start and the moves as raw numbers: enough to restore the position with its past.
using GameState = std::tuple<std::string, std::vector<std::uint16_t>>;

GameState state_of(const Position& position) {
    std::vector<std::uint16_t> raw;
    for (const Undo& undo : position.moves()) raw.push_back(undo.move.raw());
    return {position.start().sfen(), raw};
}

Position position_from_state(const GameState& state) {
    Position position(Board::from_sfen(std::get<0>(state), true));
    for (const std::uint16_t raw : std::get<1>(state)) position.push(checked_move(raw));
    return position;
}

const char* error_name(ParseError::Kind kind) {
    switch (kind) {
        case ParseError::Kind::MOVE: return "InvalidMoveError";
        case ParseError::Kind::ILLEGAL_MOVE: return "IllegalMoveError";
        case ParseError::Kind::PACKED: return "InvalidPackedError";
        default: return "InvalidSfenError";
    }
}

void bind_errors(nb::module_& m) {
    const auto add = [&m](const char* name, const char* doc, nb::handle base) {
        const std::string full_name = std::string("fukayomi._native.") + name;
        const nb::object error = nb::steal(PyErr_NewExceptionWithDoc(full_name.c_str(), doc, base.ptr(), nullptr));
        if (!error.is_valid()) throw nb::python_error();
        m.attr(name) = error;
        return error;
    };
    const nb::object invalid = nb::module_::import_("fukayomi.errors").attr("InvalidValueError");
    const nb::object base = add("ShogiError", "Invalid text, move or packed data; the message quotes it.", invalid);
    add("InvalidSfenError", "The text is not an SFEN, or its position is impossible.", base);
    add("InvalidMoveError", "The text or number is not a move.", base);
    add("IllegalMoveError", "The move is against the rules in this position.", base);
    add("InvalidPackedError", "The bytes are not a packed position.", base);
    m.attr("_InvalidValueError") = invalid;
    // The module keeps the classes alive.
    nb::register_exception_translator(
        [](const std::exception_ptr& pointer, void* module) {
            try {
                std::rethrow_exception(pointer);
            } catch (const ParseError& error) {
                const nb::object type = nb::borrow(static_cast<PyObject*>(module)).attr(error_name(error.kind()));
                PyErr_SetString(type.ptr(), error.what());
            } catch (const std::invalid_argument& error) {
                PyErr_SetString(nb::borrow(static_cast<PyObject*>(module)).attr("_InvalidValueError").ptr(), error.what());
            }
        },
        m.ptr());
}

void bind_enums(nb::module_& m) {
    nb::enum_<Color>(m, "Color", nb::is_arithmetic(), "A side. Black (先手) moves first.")
        .value("BLACK", BLACK)
        .value("WHITE", WHITE)
        .def_prop_ro("opponent", [](Color c) { return ~c; }, "The other side.");
    nb::enum_<PieceType>(m, "PieceType", nb::is_arithmetic(), "A kind of piece, numbered as in the hcpe format.")
        .value("PAWN", PAWN)
        .value("LANCE", LANCE)
        .value("KNIGHT", KNIGHT)
        .value("SILVER", SILVER)
        .value("BISHOP", BISHOP)
        .value("ROOK", ROOK)
        .value("GOLD", GOLD)
        .value("KING", KING)
        .value("PRO_PAWN", PRO_PAWN)
        .value("PRO_LANCE", PRO_LANCE)
        .value("PRO_KNIGHT", PRO_KNIGHT)
        .value("PRO_SILVER", PRO_SILVER)
        .value("HORSE", HORSE)
        .value("DRAGON", DRAGON)
        .def_prop_ro(
            "is_promoted", [](PieceType t) { return is_promoted(t); }, "Whether this is a promoted piece.")
        .def_prop_ro("unpromoted", [](PieceType t) { return unpromote(t); }, "The piece before promotion, as it is held in hand.");
    nb::enum_<DeclarationRule>(m, "DeclarationRule", "Rule for winning with an entered king (入玉宣言).")
        .value("NONE", DeclarationRule::NONE, "Nobody may declare.")
        .value("POINTS_24", DeclarationRule::POINTS_24, "31 points; 24 to 30 are a draw (24点法).")
        .value("POINTS_27", DeclarationRule::POINTS_27, "28 points for Black, 27 for White (27点法).")
        .value("POINTS_24_HANDICAP", DeclarationRule::POINTS_24_HANDICAP,
               "POINTS_24, where the pieces that a handicap leaves out count for White.")
        .value("POINTS_27_HANDICAP", DeclarationRule::POINTS_27_HANDICAP,
               "POINTS_27, where the pieces that a handicap leaves out count for White.")
        .value("TRY", DeclarationRule::TRY, "The king moves to 5a (Black) or 5i (White), where the enemy's king starts (トライルール).");
    nb::enum_<Repetition>(m, "Repetition", "What a repeated position means for the side to move (千日手).")
        .value("NONE", Repetition::NONE)
        .value("DRAW", Repetition::DRAW)
        .value("WIN", Repetition::WIN, "The opponent gave perpetual check (連続王手の千日手).")
        .value("LOSE", Repetition::LOSE, "The side to move gave perpetual check.")
        .value("SUPERIOR", Repetition::SUPERIOR, "Same board with more in hand; used by the search.")
        .value("INFERIOR", Repetition::INFERIOR, "Same board with less in hand; used by the search.");
}

void bind_move(nb::module_& m) {
    using State = std::tuple<std::uint16_t>;
    nb::class_<Move>(m, "Move",
                     "A move, independent of a position. Immutable and hashable.\n\n"
                     "    >>> move = Move.from_usi('8h2b+')\n"
                     "    >>> move.is_promotion, move.to_square\n"
                     "    (True, 10)")
        .def_static(
            "from_usi", [](const nb::str& text) { return move_from_usi(utf8(text)); }, "text"_a,
            "Parse a USI move: 7g7f, 8h2b+, P*5e.\n\nRaises:\n    InvalidMoveError: The text is not a move.")
        .def_static("from_raw", &checked_move, "raw"_a,
                    "The move with these 16 bits of the hcpe format.\n\n"
                    "Raises:\n    InvalidMoveError: The bits are not a move.")
        .def(
            "usi", [](Move move) { return usi(move); }, "The move in USI notation.")
        .def_prop_ro("raw", &Move::raw, "The 16 bits of the hcpe format: to | from << 7 | promotion << 14.")
        .def_prop_ro(
            "from_square", [](Move move) { return move.is_drop() ? std::nullopt : std::optional<int>(move.from()); },
            "Origin, 0 to 80; None for a drop.")
        .def_prop_ro("to_square", &Move::to, "Target, 0 to 80.")
        .def_prop_ro("is_drop", &Move::is_drop, "Whether the move drops a piece from the hand.")
        .def_prop_ro("is_promotion", &Move::is_promotion, "Whether the piece promotes.")
        .def_prop_ro(
            "dropped", [](Move move) { return move.is_drop() ? std::optional(move.dropped()) : std::nullopt; },
            "The dropped piece; None for a move on the board.")
        .def(
            "__eq__", [](Move a, Move b) { return a == b; }, "other"_a, nb::is_operator())
        .def("__hash__", &Move::raw)
        .def("__str__", [](Move move) { return usi(move); })
        .def("__repr__", [](Move move) { return "Move.from_usi('" + usi(move) + "')"; })
        .def("__getstate__", [](Move move) { return State(move.raw()); })
        .def("__setstate__", [](Move& move, const State& state) { new (&move) Move(checked_move(std::get<0>(state))); });
}

// Python's rules for an index: negative ones count from the end.
Move move_at(const Moves& moves, nb::ssize_t index) {
    const auto count = static_cast<nb::ssize_t>(moves.list.size());
    if (index < -count || index >= count) throw nb::index_error("move index out of range");
    return moves.list[static_cast<std::size_t>(index < 0 ? index + count : index)];
}

bool contains(const Moves& moves, const nb::object& item) {
    Move move;
    return nb::try_cast(item, move) && std::find(moves.list.begin(), moves.list.end(), move) != moves.list.end();
}

void bind_moves(nb::module_& m) {
    nb::class_<Moves> moves(m, "Moves", nb::sig("class Moves(collections.abc.Sequence[Move])"),
                            "Moves in a fixed order: a read-only sequence.");
    const auto as_list = [](const Moves& self) { return nb::cast<nb::list>(nb::cast(self.list)); };
    moves.def("__len__", [](const Moves& self) { return self.list.size(); })
        .def("__getitem__", &move_at, "index"_a, nb::sig("def __getitem__(self, index: typing.SupportsIndex) -> Move"))
        .def(
            "__getitem__",
            [as_list](const Moves& self, const nb::slice& slice) { return nb::object(static_cast<nb::object>(as_list(self))[slice]); },
            "index"_a, nb::sig("def __getitem__(self, index: slice) -> list[Move]"))
        .def("__contains__", &contains, "value"_a)
        .def(
            "__iter__", [as_list](const Moves& self) { return nb::iter(as_list(self)); },
            nb::sig("def __iter__(self) -> collections.abc.Iterator[Move]"))
        .def(
            "__eq__",
            [as_list](const Moves& self, const nb::object& other) -> nb::object {
                Moves moves;
                if (nb::try_cast(other, moves)) return nb::bool_(self.list == moves.list);
                if (nb::isinstance<nb::list>(other)) return nb::bool_(as_list(self).equal(other));
                return nb::borrow(Py_NotImplemented);
            },
            "other"_a, nb::sig("def __eq__(self, other: object, /) -> bool"))
        .def("__repr__", [as_list](const Moves& self) { return nb::repr(as_list(self)); })
        .def("__reduce__", [as_list](const Moves& self) {
            return nb::make_tuple(nb::handle(reinterpret_cast<PyObject*>(&PyList_Type)), nb::make_tuple(as_list(self)));
        });
    moves.attr("__hash__") = nb::none();
    const nb::object sequence = nb::module_::import_("collections.abc").attr("Sequence");
    for (const char* name : {"index", "count", "__reversed__"}) moves.attr(name) = sequence.attr(name);
    sequence.attr("register")(moves);
}

void bind_piece(nb::module_& m) {
    nb::class_<BoardPiece>(m, "Piece", "A piece on the board. Immutable and hashable.")
        .def_prop_ro(
            "color", [](BoardPiece p) { return color_of(p.piece); }, "The side that owns it.")
        .def_prop_ro(
            "type", [](BoardPiece p) { return type_of(p.piece); }, "The kind of piece.")
        .def(
            "sfen", [](BoardPiece p) { return piece_text(p.piece); }, "The piece in SFEN notation: P, +r.")
        .def("__str__", [](BoardPiece p) { return piece_text(p.piece); })
        .def(
            "__eq__", [](BoardPiece a, BoardPiece b) { return a.piece == b.piece; }, "other"_a, nb::is_operator())
        .def("__hash__", [](BoardPiece p) { return static_cast<int>(p.piece); })
        .def("__repr__", [](BoardPiece p) { return "<Piece " + piece_text(p.piece) + ">"; });
}

void bind_position_moves(nb::class_<Position>& cls) {
    cls.def_prop_ro("legal_moves", &generated<generate_legal>,
                    "All legal moves, as a sequence that does not change with the position. It includes useless\n"
                    "non-promotions.\n\n"
                    "    >>> position = Position()\n"
                    "    >>> len(position.legal_moves)\n"
                    "    30\n"
                    "    >>> Move.from_usi('7g7f') in position.legal_moves\n"
                    "    True")
        .def_prop_ro(
            "legal_move_count", [](const Position& position) { return count_legal(position.board()); },
            "Number of legal moves; faster than `len(position.legal_moves)`.")
        .def_prop_ro("useful_moves", &generated<generate_useful>,
                     "The legal moves without useless non-promotions of pawn, lance, bishop and rook, as the search uses\n"
                     "them.")
        .def_prop_ro(
            "checking_moves",
            [](const Position& position) {
                MoveList moves;
                if (position.board().king(~position.board().turn()) != NO_SQUARE) generate_checks(position.board(), moves);
                return Moves{{moves.begin(), moves.end()}};
            },
            "The legal moves that give check.")
        .def(
            "is_legal", [](const Position& position, const MoveLike& move) { return position.board().is_legal(move_of(move)); }, "move"_a,
            "Whether the move, a `Move` or its USI notation, is legal.\n\nRaises:\n    InvalidMoveError: The text is not a move.")
        .def(
            "gives_check",
            [](const Position& position, const MoveLike& like) {
                const Move move = move_of(like);
                require_legal(position.board(), move);
                return position.board().gives_check(move);
            },
            "move"_a,
            "Whether a legal move, a `Move` or its USI notation, gives check.\n\n"
            "Raises:\n    InvalidMoveError: The text is not a move.\n    IllegalMoveError: The move is not legal.")
        .def(
            "push", [](Position& position, const MoveLike& move) { position.push(move_of(move)); }, "move"_a,
            "Play a move.\n\n"
            "    >>> position = Position()\n"
            "    >>> position.push('7g7f')\n"
            "    >>> position.push(position.legal_moves[0])\n"
            "    >>> position.ply\n"
            "    3\n\n"
            "Args:\n    move: A `Move`, or its USI notation.\n\n"
            "Raises:\n    InvalidMoveError: The text is not a move.\n"
            "    IllegalMoveError: The move is not legal; the position is unchanged.")
        .def(
            "push_usi",
            [](Position& position, const nb::str& text) {
                const Move move = move_from_usi(utf8(text));
                position.push(move);
                return move;
            },
            "text"_a,
            "Play a move in USI notation and return it.\n\n"
            "Raises:\n    InvalidMoveError: The text is not a move.\n"
            "    IllegalMoveError: The move is not legal; the position is unchanged.")
        .def("pop", &Position::pop, "Take back the last move and return it.\n\nRaises:\n    IndexError: No move was played.")
        .def(
            "peek",
            [](const Position& position) {
                if (position.moves().empty()) throw nb::index_error("no move was played");
                return position.moves().back().move;
            },
            "The last move.\n\nRaises:\n    IndexError: No move was played.")
        .def_prop_ro("moves", &played_moves, "The moves played so far.")
        .def(
            "find_mate_in_one",
            [](const Position& position) {
                const Move move = find_mate_in_one(position.board());
                return move ? std::optional(move) : std::nullopt;
            },
            "A move that mates at once, or None.")
        .def(
            "find_mate_in_three",
            [](const Position& position) {
                const Move move = find_mate_in_three(position.board());
                return move ? std::optional(move) : std::nullopt;
            },
            "The first move of a mate in at most three plies, or None. `MateSolver` finds longer ones.")
        .def("perft", &perft_of, "depth"_a,
             "Count the positions after `depth` plies (0 to 20). The last ply is counted without playing it. Ctrl-C ends it.");
}

void bind_position_questions(nb::class_<Position>& cls) {
    cls.def_prop_ro(
           "turn", [](const Position& position) { return position.board().turn(); }, "The side to move.")
        .def_prop_ro(
            "ply", [](const Position& position) { return position.board().ply(); }, "Number of the next move; 1 at the start of a game.")
        .def_prop_ro(
            "key", [](const Position& position) { return position.board().key(); },
            "A 64-bit hash of board, hands and side to move, the same in every run.")
        .def(
            "is_check", [](const Position& position) { return position.board().is_check(); }, "Whether the side to move is in check.")
        .def(
            "is_mated", [](const Position& position) { return !has_legal_move(position.board()); },
            "Whether the side to move has no legal move and so has lost.")
        .def(
            "is_game_over",
            [](const Position& position) { return !has_legal_move(position.board()) || position.history().fourfold() != Repetition::NONE; },
            "Whether the rules end the game here: the side to move has no legal move, or this is the fourth occurrence of the\n"
            "position (`repetition`). Resignations and declarations, which a player chooses, are not in a position.")
        .def(
            "repetition", [](const Position& position) { return position.history().fourfold(); },
            "The result if this is the fourth occurrence of the position; otherwise `Repetition.NONE`.")
        .def(
            "first_recurrence", [](const Position& position, int window) { return position.history().first_recurrence(window); },
            "window"_a = REPETITION_WINDOW,
            "What games of self-play and the search make of the last occurrence of the position, or of the same board\n"
            "with other hands, if there was one.\n\n"
            "Args:\n    window: Plies to look back.")
        .def(
            "occurrences", [](const Position& position) { return position.history().occurrences(); },
            "Number of times that the position has occurred, including now.")
        .def(
            "can_declare_win", [](const Position& position, DeclarationRule rule) { return position.board().can_declare_win(rule); },
            "rule"_a, "Whether the side to move wins by a declaration (入玉宣言); under the try rule, by `try_move`.")
        .def(
            "can_declare_draw", [](const Position& position, DeclarationRule rule) { return position.board().can_declare_draw(rule); },
            "rule"_a,
            "Whether a declaration of the side to move makes the game a draw: with 24 to 30 points under a 24-point\n"
            "rule.")
        .def(
            "try_move",
            [](const Position& position) {
                const Move move = position.board().try_move();
                return move ? std::optional(move) : std::nullopt;
            },
            "The move of the king to the square where the enemy's king starts, 5a for Black and 5i for White, which\n"
            "wins under the try rule (トライルール); None if it is not legal.");
}

void bind_position_board(nb::class_<Position>& cls) {
    cls.def(
           "piece_on",
           [](const Position& position, const SquareLike& square) {
               const Piece piece = position.board().piece_on(checked_square(square));
               return piece == NO_PIECE ? std::nullopt : std::optional(BoardPiece{piece});
           },
           "square"_a,
           "The piece on a square, or None.\n\n"
           "    >>> Position().piece_on('8h')\n"
           "    <Piece B>\n\n"
           "Args:\n    square: 0 to 80, or a name like 8h.\n\n"
           "Raises:\n    ValueError: There is no such square.")
        .def("pieces", &pieces_by_square, "color"_a = nb::none(), "type"_a = nb::none(),
             nb::sig("def pieces(self, color: Color | None = None, type: PieceType | None = None) -> dict[int, Piece]"),
             "The pieces on the board by square, in the order of the squares.\n\n"
             "    >>> Position().pieces(BLACK, PieceType.ROOK)\n"
             "    {16: <Piece R>}\n\n"
             "Args:\n    color: Only pieces of this side.\n    type: Only pieces of this kind.")
        .def("board_array", &board_array_of,
             "The board: uint8 [81] by square. 0 is empty, Black's pieces are their `PieceType`, White's 16 more.")
        .def("hand", &hand_counts, "color"_a, nb::sig("def hand(self, color: Color) -> dict[PieceType, int]"),
             "A side's pieces in hand and their counts, pawn to rook; absent kinds are left out.")
        .def(
            "king_square",
            [](const Position& position, Color color) {
                const Square s = position.board().king(color);
                return s == NO_SQUARE ? std::nullopt : std::optional<int>(s);
            },
            "color"_a, "The square of a side's king; None if it has none.")
        .def("attackers", &attackers_of, "color"_a, "square"_a,
             "Squares of the pieces of a side that attack a square, pinned pieces included.\n\n"
             "    >>> [square_name(square) for square in Position().attackers(BLACK, '7h')]\n"
             "    ['2h', '6i', '7i']\n\n"
             "Args:\n    color: The attacking side.\n    square: 0 to 80, or a name like 7h.\n\n"
             "Raises:\n    ValueError: There is no such square.");
}

// Pictures and Japanese notation are Python's part of the package.
void bind_position_views(nb::class_<Position>& cls) {
    cls.def(
           "svg",
           [](const nb::object& self, const nb::kwargs& options) {
               return nb::module_::import_("fukayomi.shogi.svg").attr("board_svg")(self, **options);
           },
           nb::sig("def svg(self, *, last_move: Move | str | None = None, "
                   "arrows: collections.abc.Sequence[Move | str | fukayomi.shogi.svg.Arrow] = (), flip: bool = False, "
                   "size: int | None = 420, title: str = '') -> fukayomi.shogi.svg.Svg"),
           "Draw the position as SVG; a notebook does so by itself. See `fukayomi.shogi.svg.board_svg`.\n\n"
           "    >>> Position().svg(arrows=['7g7f'], flip=True)[:4]\n"
           "    '<svg'\n\n"
           "Args:\n    last_move: Move to mark; by default the last move played.\n"
           "    arrows: Moves to draw as arrows.\n    flip: Draw White at the bottom.\n"
           "    size: Width in pixels; None leaves it to the page.\n"
           "    title: Text for screen readers; by default the SFEN.")
        .def(
            "japanese",
            [](const nb::object& self, Move move) {
                return nb::module_::import_("fukayomi.shogi.formats.notation").attr("japanese_move")(self, move);
            },
            "move"_a, nb::sig("def japanese(self, move: Move) -> str"),
            "A legal move in Japanese notation.\n\n"
            "    >>> Position().japanese(Move.from_usi('7g7f'))\n"
            "    '☗７六歩'\n\n"
            "Raises:\n    IllegalMoveError: The move is not legal.")
        .def(
            "push_japanese",
            [](const nb::object& self, const nb::str& text) {
                return nb::module_::import_("fukayomi.shogi.formats.kif.writer").attr("push_ki2")(self, text);
            },
            "text"_a, nb::sig("def push_japanese(self, text: str) -> Move"),
            "Play a move in Japanese notation and return it.\n\n"
            "    >>> Position().push_japanese('７六歩')\n"
            "    Move.from_usi('7g7f')\n\n"
            "Raises:\n    InvalidMoveError: The text is not a move, or fits several.\n"
            "    IllegalMoveError: No legal move fits; the position is unchanged.")
        .def(
            "_repr_svg_", [](const nb::object& self) { return nb::module_::import_("fukayomi.shogi.svg").attr("board_svg")(self); },
            nb::sig("def _repr_svg_(self) -> str"));
}

void bind_position(nb::module_& m) {
    nb::class_<Position> cls(m, "Position",
                             "A position with the moves that led to it.\n\n"
                             "    >>> position = Position()\n"
                             "    >>> position.push_usi('7g7f')\n"
                             "    Move.from_usi('7g7f')\n"
                             "    >>> position.legal_move_count\n"
                             "    30\n\n"
                             "Positions are equal if board, hands and side to move are equal; the past and the ply number do not count.\n"
                             "Not hashable, because playing a move changes it: use `key`. In a notebook it draws itself.");
    cls.def(nb::init<>(), "The start position of an even game (平手).")
        .def(
            "__init__", [](Position* position, const nb::str& text) { new (position) Position(position_from_text(utf8(text))); }, "text"_a,
            "A position from text.\n\n"
            "    >>> Position('4k4/9/4P4/9/9/9/9/9/4K4 b G 1').find_mate_in_one()\n"
            "    Move.from_usi('G*5b')\n"
            "    >>> Position('startpos moves 7g7f 3c3d').ply\n"
            "    3\n\n"
            "Args:\n    text: An SFEN (`from_sfen`), or the arguments of USI's `position` command (`from_usi`).\n\n"
            "Raises:\n    InvalidSfenError: It is neither.\n    InvalidMoveError: A word is not a move.\n"
            "    IllegalMoveError: A move is not legal.")
        .def_static(
            "from_sfen",
            [](const nb::str& sfen, bool allow_missing_king) { return Position(Board::from_sfen(utf8(sfen), allow_missing_king)); },
            "sfen"_a, nb::kw_only(), "allow_missing_king"_a = false,
            "Parse an SFEN.\n\n"
            "Args:\n    sfen: Board, side to move, hands and ply number; without the number the ply is 1.\n"
            "    allow_missing_king: Accept positions without a king, such as mate problems.\n\n"
            "Raises:\n    InvalidSfenError: The text is not an SFEN, or its position is impossible.")
        .def_static(
            "from_usi", [](const nb::str& text) { return Position::from_usi(utf8(text)); }, "text"_a,
            "Parse the arguments of USI's `position` command, with the word `position` or without it:\n"
            "`startpos moves 7g7f` or `sfen SFEN moves ...`.\n\n"
            "Raises:\n    InvalidSfenError: The start is neither `startpos` nor a valid SFEN.\n"
            "    InvalidMoveError: A word is not a move.\n"
            "    IllegalMoveError: A move is not legal.")
        .def(
            "sfen", [](const Position& position) { return position.board().sfen(); }, "The position as SFEN.")
        .def("usi", &Position::usi, "The start and the moves, as arguments of USI's `position` command.")
        .def(
            "start_sfen", [](const Position& position) { return position.start().sfen(); }, "The position before the first move as SFEN.")
        .def(
            "copy", [](const Position& position) { return Position(position); }, "An independent copy, with its past.")
        .def("__copy__", [](const Position& position) { return Position(position); })
        .def(
            "__deepcopy__", [](const Position& position, const nb::dict&) { return Position(position); }, "memo"_a)
        .def(
            "__eq__", [](const Position& a, const Position& b) { return same_position(a.board(), b.board()); }, "other"_a,
            nb::is_operator())
        .def("__str__", [](const Position& position) { return board_text(position.board()); })
        .def("__repr__", [](const Position& position) { return "Position.from_sfen('" + position.board().sfen() + "')"; })
        .def("__getstate__", &state_of)
        .def("__setstate__", [](Position& position, const GameState& state) { new (&position) Position(position_from_state(state)); });
    cls.attr("__hash__") = nb::none();
    bind_position_moves(cls);
    bind_position_questions(cls);
    bind_position_board(cls);
    bind_position_views(cls);
}

}  // namespace

void bind_shogi(nb::module_& m) {
    bind_errors(m);
    bind_enums(m);
    bind_move(m);
    bind_moves(m);
    bind_piece(m);
    bind_position(m);
    m.attr("START_SFEN") = std::string(START_SFEN);
    m.def(
        "square_from_usi", [](const nb::str& text) { return square_from_usi(utf8(text)); }, "text"_a,
        "The number of a square, (file - 1) * 9 + (rank - 1), by its name: 7g is 60.\n\n"
        "Raises:\n    InvalidMoveError: There is no such square.");
    m.def(
        "square_name", [](int square) { return usi(checked_square(square)); }, "square"_a,
        "The name of a square (0 to 80) in USI notation.\n\nRaises:\n    ValueError: There is no such square.");
}
