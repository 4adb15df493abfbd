#include "shogi/board_text.hpp"

namespace fukayomi {

namespace {

std::string hand_text(Hand hand) {
    std::string out;
    for (const PieceType t : {ROOK, BISHOP, GOLD, SILVER, KNIGHT, LANCE, PAWN}) {
        const int count = hand.count(t);
        if (count == 0) continue;
        if (!out.empty()) out += ' ';
        out += piece_text(make_piece(BLACK, t));
        if (count > 1) out += std::to_string(count);
    }
    return out.empty() ? "-" : out;
}

}  // namespace

std::string piece_text(Piece p) {
    constexpr std::string_view LETTERS = " PLNSBRGK";
    if (p == NO_PIECE) return ".";
    const char letter = LETTERS[unpromote(type_of(p))];
    std::string out(is_promoted(type_of(p)) ? 1 : 0, '+');
    out += color_of(p) == BLACK ? letter : static_cast<char>(letter - 'A' + 'a');
    return out;
}

std::string board_text(const Board& pos) {
    std::string out = "White's hand: " + hand_text(pos.hand(WHITE)) + "\n  9  8  7  6  5  4  3  2  1\n";
    for (int rank = 0; rank < 9; ++rank) {
        for (int file = 8; file >= 0; --file) {
            const std::string piece = piece_text(pos.piece_on(make_square(file, rank)));
            out.append(3 - piece.size(), ' ');
            out += piece;
        }
        out += "  ";
        out += static_cast<char>('a' + rank);
        out += '\n';
    }
    out += "Black's hand: " + hand_text(pos.hand(BLACK)) + "\n";
    return out + (pos.turn() == BLACK ? "Black" : "White") + " to move, ply " + std::to_string(pos.ply());
}

}  // namespace fukayomi
