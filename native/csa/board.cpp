#include "csa/board.hpp"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "csa/text.hpp"
#include "shogi/board.hpp"
#include "shogi/board_text.hpp"
#include "shogi/validate.hpp"

namespace fukayomi {

namespace {

constexpr std::array<std::string_view, PIECE_TYPES> NAMES = {"",   "FU", "KY", "KE", "GI", "KA", "HI", "KI",
                                                             "OU", "TO", "NY", "NK", "NG", "UM", "RY"};
constexpr std::array<PieceType, HAND_TYPES> SFEN_HAND_ORDER = {ROOK, BISHOP, GOLD, SILVER, KNIGHT, LANCE, PAWN};

[[noreturn]] void refuse(CsaMessage why) { throw CsaRefusal{std::move(why)}; }

struct Placing {
    std::string square;
    std::string piece;
};

// "77FU00AL": squares and pieces.
std::vector<Placing> placings(std::string_view text) {
    text = strip(text);
    const std::vector<std::string_view> letters = characters(text);
    if (letters.size() % 4 != 0) refuse({"", std::string(text), " is no list of squares and pieces"});
    std::vector<Placing> found;
    for (std::size_t i = 0; i < letters.size(); i += 4) {
        Placing& placing = found.emplace_back();
        placing.square.append(letters[i]).append(letters[i + 1]);
        placing.piece.append(letters[i + 2]).append(letters[i + 3]);
    }
    return found;
}

Square checked_square(const std::string& text) {
    const Square square = square_from_csa(text);
    if (square == NO_SQUARE) refuse({"", text, " is not a square"});
    return square;
}

}  // namespace

PieceType piece_from_csa(std::string_view name) {
    if (name.size() != 2) return NO_PIECE_TYPE;
    for (int type = PAWN; type < PIECE_TYPES; ++type) {
        const std::string_view candidate = NAMES[static_cast<std::size_t>(type)];
        if (candidate[0] == name[0] && candidate[1] == name[1]) return static_cast<PieceType>(type);
    }
    return NO_PIECE_TYPE;
}

std::string_view csa_name(PieceType t) { return NAMES[t]; }

Square square_from_csa(std::string_view text) {
    const auto is_digit = [](char c) { return c >= '1' && c <= '9'; };
    if (text.size() != 2 || !is_digit(text[0]) || !is_digit(text[1])) return NO_SQUARE;
    return make_square(text[0] - '1', text[1] - '1');
}

void CsaBoard::set_even() {
    static const Board start;
    for (Square s = 0; s < SQUARES; ++s) at(s) = start.piece_on(s);
}

void CsaBoard::set_up(std::string_view statement) {
    const char kind = statement.size() > 1 ? statement[1] : '\0';
    if (kind == 'I') {
        set_even();
        take_away(statement.substr(2));
    } else if (kind == '+' || kind == '-') {
        put_pieces(kind == '+' ? BLACK : WHITE, statement.substr(2));
    } else if (kind >= '1' && kind <= '9') {
        set_any_row(kind - '1', statement.substr(2));
    } else {
        refuse({"no such way to set up a board"});
    }
}

void CsaBoard::take_away(std::string_view pieces) {
    for (const Placing& removed : placings(pieces)) {
        Piece& standing = at(checked_square(removed.square));
        if (csa_name(type_of(standing)) != removed.piece)
            refuse({"there is no " + removed.piece + " on " + removed.square + " to take away"});
        standing = NO_PIECE;
    }
}

void CsaBoard::set_any_row(int rank, std::string_view row) {
    const std::vector<Piece> squares = visible_squares(row);
    if (squares.size() > 9) refuse({std::to_string(squares.size()) + " squares instead of 9"});
    if (squares.size() < 9) {  // empty squares may be blanks, or left out at the end
        set_row(rank, characters(row));
        return;
    }
    for (int column = 0; column < 9; ++column) at(make_square(8 - column, rank)) = squares[static_cast<std::size_t>(column)];
}

// Squares, each a star or a piece, however many blanks stand between them. None if the text is anything else.
std::vector<Piece> CsaBoard::visible_squares(std::string_view row) {
    std::vector<Piece> squares;
    while (!(row = strip(row)).empty()) {
        Piece& square = squares.emplace_back(NO_PIECE);
        if (row[0] == '*') {
            row.remove_prefix(1);
            continue;
        }
        const PieceType type = row.size() < 3 ? NO_PIECE_TYPE : piece_from_csa(row.substr(1, 2));
        if ((row[0] != '+' && row[0] != '-') || type == NO_PIECE_TYPE) return {};
        square = make_piece(row[0] == '+' ? BLACK : WHITE, type);
        row.remove_prefix(3);
    }
    return squares;
}

// Three characters a square; blanks alone are an empty one, too.
void CsaBoard::set_row(int rank, const Characters& row) {
    for (std::size_t column = 0; column < 9; ++column) {
        std::string cell;
        for (std::size_t i = 3 * column; i < std::min(3 * column + 3, row.size()); ++i) cell += row[i];
        cell.resize(strip_end(cell).size());
        Piece& square = at(make_square(8 - static_cast<int>(column), rank));
        if (cell.empty() || cell == "*" || cell == " *") {
            square = NO_PIECE;
            continue;
        }
        const PieceType type = piece_from_csa(std::string_view(cell).substr(1));
        if ((cell[0] != '+' && cell[0] != '-') || type == NO_PIECE_TYPE) refuse({"", cell, " is neither a piece nor an empty square"});
        square = make_piece(cell[0] == '+' ? BLACK : WHITE, type);
    }
    for (std::size_t i = 27; i < row.size(); ++i)
        if (!strip(row[i]).empty()) refuse({"a row has more than nine squares"});
}

void CsaBoard::put_pieces(Color color, std::string_view pieces) {
    for (const Placing& placing : placings(pieces)) {
        const PieceType type = piece_from_csa(placing.piece);
        if (placing.square == "00" && placing.piece == "AL") {
            give_the_rest(color);
        } else if (placing.square == "00") {
            if (type == NO_PIECE_TYPE || type >= KING) refuse({"", placing.piece, " is not a piece for a hand"});
            ++hands_[color][type];
        } else if (type != NO_PIECE_TYPE) {
            at(checked_square(placing.square)) = make_piece(color, type);
        } else {
            refuse({"", placing.piece, " is not a piece"});
        }
    }
}

void CsaBoard::give_the_rest(Color color) {
    for (const PieceType type : HAND_ORDER) {
        std::size_t used = hands_[BLACK][type] + hands_[WHITE][type];
        for (const Piece piece : board_) used += piece != NO_PIECE && unpromote(type_of(piece)) == type;
        const auto total = static_cast<std::size_t>(pieces_in_set(type));
        hands_[color][type] += total > used ? total - used : 0;
    }
}

std::string CsaBoard::sfen(Color turn) const {
    std::string out;
    for (int rank = 0; rank < 9; ++rank) {
        if (rank > 0) out += '/';
        int empty = 0;
        for (int file = 8; file >= -1; --file) {
            const Piece piece = file < 0 ? NO_PIECE : board_[static_cast<std::size_t>(make_square(file, rank))];
            if (file >= 0 && piece == NO_PIECE) {
                ++empty;
                continue;
            }
            if (empty > 0) out += static_cast<char>('0' + empty);
            if (piece != NO_PIECE) out += piece_text(piece);
            empty = 0;
        }
    }
    out += turn == BLACK ? " b " : " w ";
    const std::size_t board_end = out.size();
    for (const Color color : {BLACK, WHITE})
        for (const PieceType type : SFEN_HAND_ORDER) {
            const std::size_t count = hands_[color][type];
            if (count > 1) out += std::to_string(count);
            if (count > 0) out += piece_text(make_piece(color, type));
        }
    return out + (out.size() == board_end ? "- 1" : " 1");
}

}  // namespace fukayomi
