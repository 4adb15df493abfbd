// SFEN: the board by ranks from the top, the side to move, the pieces in hand, and the number of the next move.
#include <algorithm>
#include <charconv>
#include <vector>

#include "shogi/board.hpp"
#include "shogi/board_text.hpp"
#include "shogi/errors.hpp"
#include "shogi/validate.hpp"

namespace fukayomi {

namespace {

constexpr std::string_view LETTERS = " PLNSBRGK";  // indexed by unpromoted piece type; White's are small
constexpr std::string_view SPACES = " \t\r\n";
constexpr int LARGEST_PLY = 1'000'000;

[[noreturn]] void reject(const std::string& reason) { throw ParseError(ParseError::Kind::SFEN, reason); }

std::vector<std::string_view> ranks_of(std::string_view board) {
    std::vector<std::string_view> ranks;
    for (;;) {
        const std::size_t end = board.find('/');
        ranks.push_back(board.substr(0, end));
        if (end == std::string_view::npos) return ranks;
        board.remove_prefix(end + 1);
    }
}

std::vector<std::string_view> fields_of(std::string_view sfen) {
    std::vector<std::string_view> fields;
    for (std::size_t at = 0;;) {
        at = sfen.find_first_not_of(SPACES, at);
        if (at == std::string_view::npos) return fields;
        const std::size_t end = std::min(sfen.find_first_of(SPACES, at), sfen.size());
        fields.push_back(sfen.substr(at, end - at));
        at = end;
    }
}

bool is_digit(char c) { return c >= '0' && c <= '9'; }

// The type and colour of a letter, or no piece.
Piece piece_of(char letter) {
    const bool small = letter >= 'a' && letter <= 'z';
    const std::size_t type = LETTERS.find(small ? static_cast<char>(letter - 'a' + 'A') : letter, 1);
    if (type == std::string_view::npos) return NO_PIECE;
    return make_piece(small ? WHITE : BLACK, static_cast<PieceType>(type));
}

void parse_rank(Board& pos, std::string_view text, int rank) {
    const auto where = [rank] { return " in rank " + std::to_string(rank + 1); };
    int file = 8;
    for (std::size_t i = 0; i < text.size(); ++i) {
        if (is_digit(text[i])) {
            if (text[i] == '0') reject("'0' empty squares" + where());
            file -= text[i] - '0';
            continue;
        }
        const bool promoted = text[i] == '+';
        if (promoted && ++i == text.size()) reject("no piece after '+'" + where());
        const Piece plain = piece_of(text[i]);
        if (plain == NO_PIECE) reject(quoted_character(text.substr(i)) + " is not a piece" + where());
        if (promoted && !can_promote(type_of(plain))) reject(quoted(text.substr(i - 1, 2)) + " is not a piece" + where());
        if (file < 0) break;
        const PieceType type = promoted ? promote(type_of(plain)) : type_of(plain);
        const Color color = color_of(plain);
        if (type == KING && pos.pieces(color, KING).any()) reject("a side has two kings");
        pos.put(make_piece(color, type), make_square(file, rank));
        --file;
    }
    if (file != -1) reject("rank " + std::to_string(rank + 1) + " (" + quoted(text) + ") does not fill nine squares");
}

void parse_board(Board& pos, std::string_view text) {
    const std::vector<std::string_view> ranks = ranks_of(text);
    if (ranks.size() != 9) reject("the board has " + std::to_string(ranks.size()) + " ranks instead of 9");
    for (int rank = 0; rank < 9; ++rank) parse_rank(pos, ranks[static_cast<std::size_t>(rank)], rank);
}

void parse_hands(Board& pos, std::string_view text) {
    if (text == "-") return;
    for (std::size_t i = 0; i < text.size(); ++i) {
        int count = 1;
        if (is_digit(text[i])) {
            count = 0;
            for (; i < text.size() && is_digit(text[i]) && count < 100; ++i) count = 10 * count + (text[i] - '0');
            if (count == 0) reject("a count of 0 in the hands " + quoted(text));
            if (i == text.size()) reject("no piece after the count in the hands " + quoted(text));
        }
        const Piece piece = piece_of(text[i]);
        const PieceType type = type_of(piece);
        if (piece == NO_PIECE || type == KING)
            reject(quoted_character(text.substr(i)) + " is not a piece that can be in hand, in " + quoted(text));
        const int sum = pos.hand(color_of(piece)).count(type) + count;
        if (sum > pieces_in_set(type))
            reject(std::to_string(sum) + " pieces of the type " + piece_name(type) + " in a hand, but a set has only " +
                   std::to_string(pieces_in_set(type)));
        pos.set_hand(color_of(piece), type, sum);
    }
}

int parse_ply(std::string_view text) {
    int ply = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), ply);
    if (error != std::errc() || end != text.data() + text.size() || ply < 0 || ply > LARGEST_PLY)
        reject("the move number " + quoted(text) + " is not a number from 1 to " + std::to_string(LARGEST_PLY));
    return std::max(ply, 1);  // some programs count from 0
}

Board parse(std::string_view sfen, bool allow_missing_king) {
    const std::vector<std::string_view> fields = fields_of(sfen);
    if (fields.size() != 3 && fields.size() != 4)
        reject("expected board, side to move, hands and move number, found " + std::to_string(fields.size()) + " fields");
    Board pos = Board::empty();
    parse_board(pos, fields[0]);
    if (fields[1] != "b" && fields[1] != "w") reject("the side to move is " + quoted(fields[1]) + ", not 'b' or 'w'");
    pos.set_turn(fields[1] == "b" ? BLACK : WHITE);
    parse_hands(pos, fields[2]);
    pos.set_ply(fields.size() == 4 ? parse_ply(fields[3]) : 1);
    pos.finish(allow_missing_king);
    return pos;
}

std::string rank_text(const Board& pos, int rank) {
    std::string out;
    int gap = 0;
    const auto close_gap = [&] {
        if (gap != 0) out += static_cast<char>('0' + gap);
        gap = 0;
    };
    for (int file = 8; file >= 0; --file) {
        const Piece piece = pos.piece_on(make_square(file, rank));
        if (piece == NO_PIECE) {
            ++gap;
            continue;
        }
        close_gap();
        out += piece_text(piece);
    }
    close_gap();
    return out;
}

std::string hands_text(const Board& pos) {
    std::string out;
    for (Color c : {BLACK, WHITE})
        for (PieceType t : {ROOK, BISHOP, GOLD, SILVER, KNIGHT, LANCE, PAWN}) {
            const int count = pos.hand(c).count(t);
            if (count > 1) out += std::to_string(count);
            if (count > 0) out += piece_text(make_piece(c, t));
        }
    return out.empty() ? "-" : out;
}

}  // namespace

Board Board::from_sfen(std::string_view sfen, bool allow_missing_king) {
    try {
        return parse(sfen, allow_missing_king);
    } catch (const ParseError& error) {
        throw ParseError(ParseError::Kind::SFEN, "invalid SFEN " + quoted(sfen) + ": " + error.what());
    }
}

std::string Board::sfen() const {
    std::string out;
    for (int rank = 0; rank < 9; ++rank) {
        if (rank != 0) out += '/';
        out += rank_text(*this, rank);
    }
    out += turn_ == BLACK ? " b " : " w ";
    out += hands_text(*this);
    out += ' ';
    out += std::to_string(ply_);
    return out;
}

}  // namespace fukayomi
