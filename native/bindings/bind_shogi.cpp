// The rules: Position (a game's current position with its past), Move, and the errors of texts from outside.
#include <nanobind/nanobind.h>
#include <nanobind/operators.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "bindings.hpp"
#include "mate/mate_one.hpp"
#include "shogi/board_text.hpp"
#include "shogi/errors.hpp"
#include "shogi/game.hpp"
#include "shogi/illegal.hpp"
#include "shogi/movegen.hpp"
#include "shogi/usi_move.hpp"

namespace nb = nanobind;
using namespace nb::literals;
using namespace fukayomi;

namespace {

constexpr int DEEPEST_PERFT = 20;

// A piece of the board as Python sees it.
struct BoardPiece {
    Piece piece;
};

// A Python string may hold lone surrogates (bytes that a terminal or a pipe sent and that are no UTF-8): they come out
// as \udcXX in the message instead of a TypeError.
std::string utf8(const nb::str& text) {
    const nb::object bytes =
        nb::steal(PyUnicode_AsEncodedString(text.ptr(), "utf-8", "backslashreplace"));
    if (!bytes.is_valid()) throw nb::python_error();
    return {PyBytes_AsString(bytes.ptr()), static_cast<std::size_t>(PyBytes_Size(bytes.ptr()))};
}

Square checked_square(int square) {
    if (square < 0 || square >= SQUARES)
        throw nb::value_error(("square " + std::to_string(square) + " is not in 0 to 80").c_str());
    return square;
}

Move checked_move(std::uint16_t raw) {
    const Move m(raw);
    const bool possible = m.is_drop() ? m.dropped() <= GOLD && !m.is_promotion() : m.from() != m.to();
    if (!possible || m.to() >= SQUARES || raw >= 1U << 15)
        throw ParseError(ParseError::Kind::MOVE,
                         "invalid raw move " + std::to_string(raw) + ": it is no move of the hcpe format");
    return m;
}

std::vector<Move> to_vector(const MoveList& moves) { return {moves.begin(), moves.end()}; }

std::vector<Move> played_moves(const Game& game) {
    std::vector<Move> moves;
    for (const Undo& undo : game.moves()) moves.push_back(undo.move);
    return moves;
}

bool same_position(const Position& a, const Position& b) {
    if (a.key() != b.key() || a.turn() != b.turn()) return false;
    for (const Color c : {BLACK, WHITE})
        if (!(a.hand(c) == b.hand(c))) return false;
    for (Square s = 0; s < SQUARES; ++s)
        if (a.piece_on(s) != b.piece_on(s)) return false;
    return true;
}

nb::dict hand_counts(const Game& game, Color color) {
    nb::dict counts;
    for (const PieceType t : HAND_ORDER)
        if (const int count = game.position().hand(color).count(t); count != 0) counts[nb::cast(t)] = count;
    return counts;
}

std::uint64_t perft_of(const Game& game, int depth) {
    if (depth < 0 || depth > DEEPEST_PERFT)
        throw nb::value_error(("depth " + std::to_string(depth) + " is not in 0 to 20").c_str());
    Position pos = game.position();
    const nb::gil_scoped_release release;
    return perft(pos, depth);
}

// The start and the moves as raw numbers: enough to build the game again, its past included.
using GameState = std::tuple<std::string, std::vector<std::uint16_t>>;

GameState state_of(const Game& game) {
    std::vector<std::uint16_t> raw;
    for (const Undo& undo : game.moves()) raw.push_back(undo.move.raw());
    return {game.start().sfen(), raw};
}

Game game_from_state(const GameState& state) {
    Game game(Position::from_sfen(std::get<0>(state), true));
    for (const std::uint16_t raw : std::get<1>(state)) game.push(checked_move(raw));
    return game;
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
    const nb::object base =
        add("ShogiError", "A text or a record from outside is not what it should be; the message quotes it.",
            PyExc_ValueError);
    add("InvalidSfenError", "A text is no SFEN, or its position cannot come from a game.", base);
    add("InvalidMoveError", "A text or a number is no move.", base);
    add("IllegalMoveError", "The rules forbid the move in this position.", base);
    add("InvalidPackedError", "Packed bytes are no position.", base);
    // The module holds the classes, so nothing else has to.
    nb::register_exception_translator(
        [](const std::exception_ptr& pointer, void* module) {
            try {
                std::rethrow_exception(pointer);
            } catch (const ParseError& error) {
                const nb::object type = nb::borrow(static_cast<PyObject*>(module)).attr(error_name(error.kind()));
                PyErr_SetString(type.ptr(), error.what());
            }
        },
        m.ptr());
}

void bind_enums(nb::module_& m) {
    nb::enum_<Color>(m, "Color", nb::is_arithmetic(), "A side: Black (先手) moves first.")
        .value("BLACK", BLACK)
        .value("WHITE", WHITE)
        .def_prop_ro("opponent", [](Color c) { return ~c; }, "The other side.");
    nb::enum_<PieceType>(m, "PieceType", nb::is_arithmetic(),
                         "A kind of piece; the numbers are those of the hcpe format.")
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
        .def_prop_ro("is_promoted", [](PieceType t) { return is_promoted(t); },
                     "Whether it stands on its promoted side.")
        .def_prop_ro("unpromoted", [](PieceType t) { return unpromote(t); }, "The same piece, as it is in a hand.");
    nb::enum_<DeclarationRule>(m, "DeclarationRule",
                               "Who may declare a win by entering kings (入玉宣言), and with how many points.")
        .value("NONE", DeclarationRule::NONE, "No declaration.")
        .value("POINTS_24", DeclarationRule::POINTS_24, "31 points.")
        .value("POINTS_27", DeclarationRule::POINTS_27, "Black 28, White 27 points.");
    nb::enum_<Repetition>(m, "Repetition", "What a position that came back means for the side to move (千日手).")
        .value("NONE", Repetition::NONE)
        .value("DRAW", Repetition::DRAW)
        .value("WIN", Repetition::WIN, "The opponent gave perpetual check.")
        .value("LOSE", Repetition::LOSE, "The side to move gave perpetual check.")
        .value("SUPERIOR", Repetition::SUPERIOR, "The same board with more in hand; only the search asks.")
        .value("INFERIOR", Repetition::INFERIOR, "The same board with less in hand; only the search asks.");
}

void bind_move(nb::module_& m) {
    using State = std::tuple<std::uint16_t>;
    nb::class_<Move>(m, "Move", "A move, without the position it is played in. Immutable and hashable.")
        .def_static("from_usi", [](const nb::str& text) { return move_from_usi(utf8(text)); }, "text"_a,
                    "Read a move like 7g7f, 8h2b+ or P*5e.\n\nRaises:\n    InvalidMoveError: The text is no move.")
        .def_static("from_raw", &checked_move, "raw"_a,
                    "A move from the 16 bits of the hcpe format.\n\nRaises:\n    InvalidMoveError: They are no move.")
        .def("usi", [](Move move) { return usi(move); }, "The move as USI writes it.")
        .def_prop_ro("raw", &Move::raw, "The 16 bits of the hcpe format: to | from << 7 | promotion << 14.")
        .def_prop_ro("from_square",
                     [](Move move) { return move.is_drop() ? std::nullopt : std::optional<int>(move.from()); },
                     "Where the piece comes from, 0 to 80; None for a drop.")
        .def_prop_ro("to_square", &Move::to, "Where the piece goes, 0 to 80.")
        .def_prop_ro("is_drop", &Move::is_drop, "Whether a piece from the hand is put on the board.")
        .def_prop_ro("is_promotion", &Move::is_promotion, "Whether the piece promotes.")
        .def_prop_ro("dropped", [](Move move) { return move.is_drop() ? std::optional(move.dropped()) : std::nullopt; },
                     "The piece that is dropped; None for a move on the board.")
        .def("__eq__", [](Move a, Move b) { return a == b; }, "other"_a, nb::is_operator())
        .def("__hash__", &Move::raw)
        .def("__str__", [](Move move) { return usi(move); })
        .def("__repr__", [](Move move) { return "Move.from_usi('" + usi(move) + "')"; })
        .def("__getstate__", [](Move move) { return State(move.raw()); })
        .def("__setstate__", [](Move& move, const State& state) {
            new (&move) Move(checked_move(std::get<0>(state)));
        });
}

void bind_piece(nb::module_& m) {
    nb::class_<BoardPiece>(m, "Piece", "A piece on the board: its side and its type. Immutable and hashable.")
        .def_prop_ro("color", [](BoardPiece p) { return color_of(p.piece); }, "Whose it is.")
        .def_prop_ro("type", [](BoardPiece p) { return type_of(p.piece); }, "What it is.")
        .def("sfen", [](BoardPiece p) { return piece_text(p.piece); }, "The piece as SFEN writes it: P, +r.")
        .def("__eq__", [](BoardPiece a, BoardPiece b) { return a.piece == b.piece; }, "other"_a, nb::is_operator())
        .def("__hash__", [](BoardPiece p) { return static_cast<int>(p.piece); })
        .def("__repr__", [](BoardPiece p) { return "<Piece " + piece_text(p.piece) + ">"; });
}

void bind_position_moves(nb::class_<Game>& position) {
    position
        .def_prop_ro("legal_moves", [](const Game& game) {
            MoveList moves;
            generate_legal(game.position(), moves);
            return to_vector(moves);
        }, "Every legal move, needless non-promotions included.")
        .def_prop_ro("legal_move_count", [](const Game& game) { return count_legal(game.position()); },
                     "How many legal moves there are; faster than their list.")
        .def_prop_ro("useful_moves", [](const Game& game) {
            MoveList moves;
            generate_useful(game.position(), moves);
            return to_vector(moves);
        }, "The legal moves without needless non-promotions of pawn, lance, bishop and rook, as the search sees them.")
        .def("is_legal", [](const Game& game, Move move) { return game.position().is_legal(move); }, "move"_a,
             "Whether the rules allow the move now.")
        .def("gives_check", [](const Game& game, Move move) {
            require_legal(game.position(), move);
            return game.position().gives_check(move);
        }, "move"_a, "Whether a legal move gives check.\n\nRaises:\n    IllegalMoveError: It is not legal.")
        .def("push", [](Game& game, Move move) { game.push(move); }, "move"_a,
             "Play a move.\n\nRaises:\n    IllegalMoveError: The rules forbid it; the position stays as it was.")
        .def("push_usi", [](Game& game, const nb::str& text) {
            const Move move = move_from_usi(utf8(text));
            game.push(move);
            return move;
        }, "text"_a,
             "Play a move given as USI text, and return it.\n\nRaises:\n    InvalidMoveError: The text is no move.\n"
             "    IllegalMoveError: The rules forbid it; the position stays as it was.")
        .def("pop", &Game::pop, "Take the last move back and return it.\n\nRaises:\n    IndexError: There is none.")
        .def("peek", [](const Game& game) {
            if (game.moves().empty()) throw nb::index_error("no move was played");
            return game.moves().back().move;
        }, "The last move.\n\nRaises:\n    IndexError: There is none.")
        .def_prop_ro("moves", &played_moves, "The moves that led here from the start.")
        .def("find_mate_in_one", [](const Game& game) {
            const Move move = find_mate_in_one(game.position());
            return move ? std::optional(move) : std::nullopt;
        }, "A move that mates at once, or None.")
        .def("perft", &perft_of, "depth"_a,
             "Count the positions after `depth` plies (0 to 20); the last ply is counted, not played.");
}

void bind_position_questions(nb::class_<Game>& position) {
    position
        .def_prop_ro("turn", [](const Game& game) { return game.position().turn(); }, "The side to move.")
        .def_prop_ro("ply", [](const Game& game) { return game.position().ply(); },
                     "The number of the next move; a game begins at 1.")
        .def_prop_ro("key", [](const Game& game) { return game.position().key(); },
                     "A 64-bit hash of board, hands and side to move, the same in every run.")
        .def("is_check", [](const Game& game) { return game.position().is_check(); },
             "Whether the side to move is in check.")
        .def("is_mated", [](const Game& game) { return !has_legal_move(game.position()); },
             "Whether the side to move has no legal move and so has lost.")
        .def("repetition", [](const Game& game) { return game.history().fourfold(); },
             "Whether the position has now occurred four times, and what that means for the side to move.")
        .def("first_recurrence", [](const Game& game, int window) { return game.history().first_recurrence(window); },
             "window"_a = 16,
             "What the search makes of the position if it, or the same board with other hands, occurred in the last\n"
             "plies.\n\n"
             "Args:\n    window: How many plies to look back.")
        .def("occurrences", [](const Game& game) { return game.history().occurrences(); },
             "How often the position has occurred in this game, now included.")
        .def("can_declare_win",
             [](const Game& game, DeclarationRule rule) { return game.position().can_declare_win(rule); },
             "rule"_a, "Whether the side to move may declare a win (入玉宣言).")
        .def("piece_on", [](const Game& game, int square) {
            const Piece piece = game.position().piece_on(checked_square(square));
            return piece == NO_PIECE ? std::nullopt : std::optional(BoardPiece{piece});
        }, "square"_a, "The piece on a square (0 to 80), or None.\n\nRaises:\n    ValueError: There is no such square.")
        .def("hand", &hand_counts, "color"_a, nb::sig("def hand(self, color: Color) -> dict[PieceType, int]"),
             "The pieces in a side's hand, from pawn to rook, and how many; those it lacks are left out.")
        .def("king_square", [](const Game& game, Color color) {
            const Square s = game.position().king(color);
            return s == NO_SQUARE ? std::nullopt : std::optional<int>(s);
        }, "color"_a, "Where a side's king stands, or None if the position has none.");
}

void bind_position(nb::module_& m) {
    nb::class_<Game> position(m, "Position",
        "A position of a game with the moves that led to it.\n\n"
        "    >>> pos = Position()\n"
        "    >>> pos.push_usi('7g7f')\n"
        "    Move.from_usi('7g7f')\n"
        "    >>> pos.legal_move_count\n"
        "    30\n\n"
        "Two positions are equal if board, hands and side to move are; the past and the ply number do not count. It\n"
        "changes as moves are played, so it is not hashable: use `key`.");
    position.def(nb::init<>(), "The start position of an even game.")
        .def_static("from_sfen", [](const nb::str& sfen, bool allow_missing_king) {
            return Game(Position::from_sfen(utf8(sfen), allow_missing_king));
        }, "sfen"_a, nb::kw_only(), "allow_missing_king"_a = false,
             "Read an SFEN; a missing ply number reads as 1. Mate problems may lack a king.\n\n"
             "Raises:\n    InvalidSfenError: The text is no SFEN, or no game could reach its position.")
        .def_static("from_usi", [](const nb::str& text) { return Game::from_usi(utf8(text)); }, "text"_a,
             "Read what follows `position` in USI: `startpos moves 7g7f` or `sfen SFEN moves ...`.\n\n"
             "Raises:\n    InvalidSfenError: The start is neither `startpos` nor a good SFEN.\n"
             "    InvalidMoveError: A word among the moves is no move.\n"
             "    IllegalMoveError: The rules forbid a move.")
        .def("sfen", [](const Game& game) { return game.position().sfen(); }, "The position as SFEN.")
        .def("usi", &Game::usi, "The start and the moves, as they follow `position` in USI.")
        .def("start_sfen", [](const Game& game) { return game.start().sfen(); },
             "The position before the first move as SFEN.")
        .def("copy", [](const Game& game) { return Game(game); }, "An independent copy, the past included.")
        .def("__copy__", [](const Game& game) { return Game(game); })
        .def("__deepcopy__", [](const Game& game, const nb::dict&) { return Game(game); }, "memo"_a)
        .def("__eq__", [](const Game& a, const Game& b) { return same_position(a.position(), b.position()); },
             "other"_a, nb::is_operator())
        .def("__str__", [](const Game& game) { return board_text(game.position()); })
        .def("__repr__", [](const Game& game) { return "Position.from_sfen('" + game.position().sfen() + "')"; })
        .def("__getstate__", &state_of)
        .def("__setstate__", [](Game& game, const GameState& state) { new (&game) Game(game_from_state(state)); });
    position.attr("__hash__") = nb::none();
    bind_position_moves(position);
    bind_position_questions(position);
}

}  // namespace

void bind_shogi(nb::module_& m) {
    bind_errors(m);
    bind_enums(m);
    bind_move(m);
    bind_piece(m);
    bind_position(m);
    m.attr("START_SFEN") = std::string(START_SFEN);
    m.def("square_from_usi", [](const nb::str& text) { return square_from_usi(utf8(text)); }, "text"_a,
          "The number of a square like 7g: (file - 1) * 9 + (rank - 1).\n\n"
          "Raises:\n    InvalidMoveError: There is no such square.");
    m.def("square_name", [](int square) { return usi(checked_square(square)); }, "square"_a,
          "The name of a square, 0 to 80.\n\nRaises:\n    ValueError: There is no such square.");
}
