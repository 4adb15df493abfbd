#include "csa/moves.hpp"

#include <algorithm>
#include <string>

#include "csa/text.hpp"
#include "shogi/errors.hpp"
#include "shogi/usi_move.hpp"

namespace fukayomi {

namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }

[[noreturn]] void refuse_move(std::string_view text) {
    const std::vector<std::string_view> letters = characters(text);
    const auto pair = [&letters](std::size_t i) { return std::string(letters[i]).append(letters[i + 1]); };
    if (letters.size() == 6 && piece_from_csa(pair(4)) != NO_PIECE_TYPE)
        for (const std::size_t i : {2U, 0U})
            if (square_from_csa(pair(i)) == NO_SQUARE) throw CsaRefusal{{"", pair(i), " is not a square"}};
    throw CsaRefusal{{"not a move"}};
}

// A move of the side to move, without its sign. Throws ParseError(MOVE) if it is none, or if another piece stands there.
Move move_from_csa(std::string_view text, const Board& pos) {
    const auto reject = [text](const std::string& why) {
        return ParseError(ParseError::Kind::MOVE, "invalid CSA move " + quoted(text) + ": " + why);
    };
    try {
        if (const std::optional<Move> move = find_move(decode_move(text), pos)) return *move;
    } catch (const CsaRefusal& refusal) {
        std::string why;
        for (const std::string& part : refusal.why) why += part;
        throw reject(why);
    }
    throw reject("there is no such piece");
}

}  // namespace

std::size_t count_digits(std::string_view text) {
    return static_cast<std::size_t>(std::find_if_not(text.begin(), text.end(), is_digit) - text.begin());
}

std::int64_t to_number(std::string_view digits) {
    std::int64_t number = 0;
    for (const char c : digits) number = 10 * number + (c - '0');
    return number;
}

WrittenMove decode_move(std::string_view text) {
    if (text.size() != 6) refuse_move(text);
    const WrittenMove move{square_from_csa(text.substr(0, 2)), square_from_csa(text.substr(2, 2)), piece_from_csa(text.substr(4))};
    if (move.piece == NO_PIECE_TYPE || move.to == NO_SQUARE) refuse_move(text);
    if (move.from == NO_SQUARE) {
        if (!text.starts_with("00")) refuse_move(text);
        if (move.piece >= KING) throw CsaRefusal{{std::string(csa_name(move.piece)) + " cannot be dropped"}};
    } else if (move.from == move.to) {
        try {
            move_from_usi(usi(move.from) + usi(move.to) + (is_promoted(move.piece) ? "+" : ""));
        } catch (const ParseError& error) {
            throw CsaRefusal{{error.what()}};
        }
    }
    return move;
}

std::optional<Move> find_move(const WrittenMove& move, const Board& pos) {
    if (move.from == NO_SQUARE) return Move::drop(move.piece, move.to);
    const Piece standing = pos.piece_on(move.from);
    if (standing == make_piece(pos.turn(), move.piece)) return Move::normal(move.from, move.to, false);
    if (is_promoted(move.piece) && standing == make_piece(pos.turn(), unpromote(move.piece))) return Move::normal(move.from, move.to, true);
    return std::nullopt;
}

bool is_line_of_moves(std::string_view text) {
    constexpr std::size_t MOVE = 7;
    if (text[0] != ' ') return false;
    text = strip(text);
    return text.size() >= MOVE && (text[0] == '+' || text[0] == '-') && count_digits(text.substr(1)) == 4 &&
           piece_from_csa(text.substr(5, 2)) != NO_PIECE_TYPE;
}

bool is_visits(std::string_view text) {
    constexpr std::size_t MOST_DIGITS = 9;
    if (text.starts_with("v=")) return true;
    const std::size_t visits = count_digits(text);
    if (visits == 0 || visits > MOST_DIGITS) return false;
    text.remove_prefix(visits);
    const auto is_capital = [](char c) { return c >= 'A' && c <= 'Z'; };
    return text.size() >= 8 && text[0] == ',' && count_digits(text.substr(1, 4)) == 4 && is_capital(text[5]) && is_capital(text[6]) &&
           text[7] == ',';
}

std::vector<VisitedMove> read_visits(std::string_view text, const Board& pos) {
    constexpr std::size_t MOST_DIGITS = 12;  // so that no sum overflows
    const auto is_letter = [](char c) { return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z'); };
    std::vector<VisitedMove> found;
    const auto take_field = [&text] {
        const std::size_t comma = std::min(text.find(','), text.size());
        const std::string_view field = text.substr(0, comma);
        text.remove_prefix(std::min(comma + 1, text.size()));
        return field;
    };
    while (!text.empty()) {
        const std::string_view name = take_field();
        const std::string_view visits = take_field();
        const Move move = move_from_csa(name, pos);
        if (!pos.is_legal(move)) throw ParseError(ParseError::Kind::MOVE, std::string(name) + " is not legal");
        const std::size_t digits = count_digits(visits);
        if (digits == 0 || digits > MOST_DIGITS ||
            !std::all_of(visits.begin() + static_cast<std::ptrdiff_t>(digits), visits.end(), is_letter))
            throw ParseError(ParseError::Kind::MOVE, quoted(visits) + " is not a number of visits");
        const auto number = static_cast<std::uint64_t>(to_number(visits.substr(0, digits)));
        const auto same = std::find_if(found.begin(), found.end(), [move](const VisitedMove& v) { return v.move == move; });
        if (same == found.end())
            found.push_back({move, number});
        else
            same->visits += number;
    }
    return found;
}

}  // namespace fukayomi
