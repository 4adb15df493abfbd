#include "shogi/usi_move.hpp"

#include "shogi/errors.hpp"

namespace fukayomi {

namespace {

constexpr std::string_view DROP_LETTERS = " PLNSBRG";  // indexed by piece type

bool is_square(std::string_view text) { return text.size() == 2 && text[0] >= '1' && text[0] <= '9' && text[1] >= 'a' && text[1] <= 'i'; }

Square to_square(std::string_view text) { return make_square(text[0] - '1', text[1] - 'a'); }

[[noreturn]] void reject(std::string_view text, const std::string& reason) {
    throw ParseError(ParseError::Kind::MOVE, "invalid USI move " + quoted(text) + ": " + reason);
}

Square parse_square(std::string_view move, std::string_view square) {
    if (!is_square(square)) reject(move, quoted(square) + " is not a square (1a to 9i)");
    return to_square(square);
}

}  // namespace

Move move_from_usi(std::string_view text) {
    if (text.size() >= 2 && text[1] == '*') {
        const std::size_t type = DROP_LETTERS.find(text[0], 1);
        if (type == std::string_view::npos)
            reject(text, quoted_character(text) + " is not a piece that can be dropped (one of P L N S G B R)");
        return Move::drop(static_cast<PieceType>(type), parse_square(text, text.substr(2)));
    }
    const bool promotion = text.size() == 5 && text[4] == '+';
    if (text.size() != 4 && !promotion) reject(text, "expected a move like 7g7f, 8h2b+ or P*5e");
    const Square from = parse_square(text, text.substr(0, 2));
    const Square to = parse_square(text, text.substr(2, 2));
    if (from == to) reject(text, "it starts and ends on the same square");
    return Move::normal(from, to, promotion);
}

std::string usi(Move m) {
    if (!m) return "none";
    if (m.is_drop()) return std::string(1, DROP_LETTERS[m.dropped()]) + "*" + usi(m.to());
    return usi(m.from()) + usi(m.to()) + (m.is_promotion() ? "+" : "");
}

std::string usi(Square s) { return {static_cast<char>('1' + file_of(s)), static_cast<char>('a' + rank_of(s))}; }

Square square_from_usi(std::string_view text) {
    if (!is_square(text)) throw ParseError(ParseError::Kind::MOVE, "invalid square " + quoted(text) + ": expected 1a to 9i");
    return to_square(text);
}

}  // namespace fukayomi
