#include "csa/reader.hpp"

#include <algorithm>

#include "csa/moves.hpp"
#include "csa/protocol.hpp"
#include "csa/text.hpp"
#include "shogi/errors.hpp"
#include "shogi/illegal.hpp"

namespace fukayomi {

namespace {

constexpr std::string_view OTHER_ENDING = "other";
constexpr std::string_view ILLEGAL_MOVE = "illegal_move";
constexpr std::string_view ILLEGAL_MOVE_WORD = "ILLEGAL_MOVE";

std::string_view termination_of(std::string_view word) {
    const auto is_word = [word](const auto& ending) { return ending.first == word; };
    const auto found = std::find_if(CSA_ENDINGS.begin(), CSA_ENDINGS.end(), is_word);
    return found == CSA_ENDINGS.end() ? OTHER_ENDING : found->second;
}

// Quick answers for the usual lines.
bool is_plain(std::string_view line) { return !line.empty() && line[0] > ' ' && line[0] <= '~'; }

bool may_be_protocol(std::string_view line) {
    return line.size() > 1 && line[0] >= 'A' && line[0] <= 'z' && (line[1] > '9' || line[1] == '+' || line[1] == '-');
}

// Whether a line below the end begins with a move: other lines with a sign are for people.
bool is_move(std::string_view text) {
    constexpr std::size_t MOVE = 7;
    const auto is_capital = [](char c) { return c >= 'A' && c <= 'Z'; };
    const auto is_part_of_word = [](char c) { return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z'); };
    return text.size() >= MOVE && (text[0] == '+' || text[0] == '-') && count_digits(text.substr(1, 4)) == 4 && is_capital(text[5]) &&
           is_capital(text[6]) && (text.size() == MOVE || !is_part_of_word(text[MOVE]));
}

// Whether a line below the end has information about the game: "N+alice", "$END_TIME:12:00", "V2.2".
bool is_information(std::string_view line) {
    return line.starts_with("N+") || line.starts_with("N-") || is_csa_version(line) || (line[0] == '$' && line.find(':') < line.find(' '));
}

std::string with_sign(Color color, PieceType type) { return csa_sign(color) + std::string(csa_name(type)); }

// One game as it is read, statement by statement.
class GameParser {
  public:
    explicit GameParser(CsaGame& game) : game_(game) {
        constexpr std::size_t USUAL_MOVES = 160;
        game.moves.reserve(USUAL_MOVES);
        game.scores.reserve(USUAL_MOVES);
        game.times_ms.reserve(USUAL_MOVES);
        game.pvs.reserve(USUAL_MOVES);
    }

    bool is_empty() const { return is_empty_; }

    // Throws CsaDamage; so does finish.
    void read_line(std::string_view line, std::size_t number) {
        line_ = number;
        while (line.ends_with('\r')) line.remove_suffix(1);
        if (!is_plain(line) && begins_with_space(line)) line = strip(line);
        if (is_ended() && !line.empty() && line[0] != '\'' && !is_information(line)) return read_after_end(line);
        if (may_be_protocol(line) && is_protocol(line)) return read_protocol(line);
        switch (line.empty() ? '\0' : line[0]) {
            case '+':
            case '-':
            case '%':
            case 'T':
            case 'P':
                if (line.find(',') == std::string_view::npos)
                    read_statement(line);
                else
                    read_joined(line);
                break;
            case '\'': read_comment(line); break;
            case '#': read_notice(line); break;
            case 'N':
            case '$':
            case 'V': read_header(line); break;
            default:
                if (!strip(line).empty()) fail({"no CSA statement"}, line);
        }
    }

    void finish() {
        if (!position_) start();
        const bool mover_lost = game_.outcome == (position_->turn() == BLACK ? CSA_WHITE_WIN : CSA_BLACK_WIN);
        if (illegal_ && !game_.ending && mover_lost) game_.ending = ILLEGAL_MOVE_WORD;
        if (illegal_ && !game_.ending) throw *illegal_;
        game_.turn = position_->turn();
        give_plain_scores();
    }

  private:
    [[noreturn]] void fail(CsaMessage what, std::string_view text) const {
        what.back() += ": ";
        what.emplace_back(text);
        throw CsaDamage{line_, false, std::move(what)};
    }

    std::string ply() const { return "ply " + std::to_string(game_.moves.size() + 1) + ": "; }

    void read_joined(std::string_view rest) {
        while (!rest.empty()) {
            if (rest[0] == '\'') {  // a comment may have commas
                has_joined_comments_ = true;
                return read_comment(rest);
            }
            if (is_ended()) return read_after_end(rest);
            const std::size_t comma = rest.find(',');
            read_statement(rest.substr(0, comma));
            rest.remove_prefix(comma == std::string_view::npos ? rest.size() : comma + 1);
        }
    }

    void read_statement(std::string_view text) {
        is_empty_ = false;
        switch (text.empty() ? '\0' : text[0]) {
            case '+':
            case '-':
                if (strip_end(text).size() == 1)
                    read_turn(text);
                else
                    read_move(text);
                break;
            case 'T': read_time(text); break;
            case '%': end_with(strip(text.substr(1))); break;
            case 'P': read_setup(text); break;
            default: fail({"no CSA statement"}, text);
        }
    }

    void read_setup(std::string_view text) {
        if (position_) fail({"the board is set up after the first move"}, text);
        if (!board_) board_.emplace();
        try {
            board_->set_up(text);
        } catch (CsaRefusal& refusal) {
            fail(std::move(refusal.why), text);
        }
    }

    void read_turn(std::string_view text) {
        if (position_) fail({"a line for the side to move after the first move"}, text.substr(0, 1));
        turn_ = text[0] == '+' ? BLACK : WHITE;
    }

    // Fixes the first position, once all that sets it up was read.
    void start() {
        if (!board_) board_.emplace().set_even();
        game_.initial_sfen = board_->sfen(turn_.value_or(BLACK));
        try {
            position_ = Board::from_sfen(game_.initial_sfen, true);  // mate problems lack a king
        } catch (const ParseError& error) {
            fail({"the first position is impossible (" + std::string(error.what()) + ")"}, game_.initial_sfen);
        }
        game_.start = *position_;
    }

    void read_move(std::string_view text) {
        if (illegal_) throw *illegal_;
        const Color mover = text[0] == '+' ? BLACK : WHITE;
        if (!position_) {
            if (!turn_) turn_ = mover;
            start();
        }
        if (mover != position_->turn())
            fail({std::string("it is the turn of '") + csa_sign(~mover) + "', but there is a move of the other side"}, text);
        try {
            play(decode_move(strip_end(text.substr(1))), text);
        } catch (CsaRefusal& refusal) {
            refusal.why.front().insert(0, ply());
            fail(std::move(refusal.why), text);
        }
    }

    void play(const WrittenMove& written, std::string_view text) {
        const std::optional<Move> move = find_move(written, *position_);
        if (!move) {
            const Piece standing = position_->piece_on(written.from);
            const std::string found = standing == NO_PIECE ? "nothing" : with_sign(color_of(standing), type_of(standing));
            meet_illegal_move(text, found + " stands there, no " + with_sign(position_->turn(), written.piece));
            return;
        }
        if (!position_->is_legal(*move)) {
            try {
                require_legal(*position_, *move);
            } catch (const ParseError& error) {
                meet_illegal_move(text, error.what());
            }
            return;
        }
        if (game_.moves.size() >= MOST_PLIES) fail({"a game may have at most " + std::to_string(MOST_PLIES) + " plies"}, text);
        position_->do_move(*move);
        game_.moves.push_back(move->raw());
        game_.scores.push_back(CsaGame::NO_SCORE);
        game_.times_ms.push_back(CsaGame::NO_TIME);
        game_.pvs.emplace_back();
    }

    // The game may have ended because of it, which what follows will tell.
    void meet_illegal_move(std::string_view text, const std::string& why) {
        illegal_ = CsaDamage{line_, true, {ply() + "illegal move ", std::string(text), " (" + why + ")"}};
        game_.illegal_move = text;
    }

    // What is no time is left out, and so is a negative one, which a server with a fault wrote.
    void read_time(std::string_view text) {
        if (game_.moves.empty() && !is_over()) return;
        std::int64_t& time_ms = is_ended() ? game_.ending_time_ms : illegal_ ? game_.illegal_move_time_ms : game_.times_ms.back();
        if (const std::optional<std::int64_t> read = time_of(text)) time_ms = *read;
    }

    // "T12" or "T1.5" in milliseconds.
    static std::optional<std::int64_t> time_of(std::string_view text) {
        constexpr std::size_t MOST_DIGITS = 9;
        const std::string_view number = strip(text.substr(1));
        const std::size_t whole = count_digits(number);
        std::string_view fraction = number.substr(whole);
        if (!fraction.empty()) {
            fraction.remove_prefix(1);
            if (number[whole] != '.' || fraction.empty() || count_digits(fraction) != fraction.size()) return {};
        }
        if (number.empty() || whole > MOST_DIGITS) return {};
        std::string milliseconds(fraction.substr(0, 3));
        milliseconds.resize(3, '0');
        return 1000 * to_number(number.substr(0, whole)) + to_number(milliseconds);
    }

    void end_with(std::string_view word) {
        if (!position_) start();
        if (illegal_ && termination_of(word) != ILLEGAL_MOVE) throw *illegal_;
        game_.ending = word;
        is_guess_ = false;
    }

    // What the server said about the end: "#TIME_UP", then "#SENTE_WIN". False for other lines with #, which are for people.
    bool read_notice(std::string_view line) {
        const std::string_view word = strip(line.substr(1));
        if (const std::string_view outcome = outcome_of_notice(word); !outcome.empty()) {
            is_empty_ = false;
            if (game_.outcome.empty()) game_.outcome = outcome;
        } else if (const std::string_view ending = ending_of_notice(word); !ending.empty()) {
            is_empty_ = false;
            if (!game_.ending || is_guess_) end_with(ending);
        } else if (is_notice(line) && !is_over() && (!game_.moves.empty() || turn_)) {
            end_with(word);
            is_guess_ = true;
        } else {
            return false;
        }
        return true;
    }

    // The end of the game counts; another end, a board or a remark below it is kept as a comment.
    void read_after_end(std::string_view line) {
        if (is_move(line)) {
            if (!is_guess_) fail({"a move after the end of the game"}, line);
            take_back_end();
            return read_line(line, line_);
        }
        if (line[0] == '#' && read_notice(line)) return;
        if (line[0] == '%' && take_ending(strip(line.substr(1)))) return;
        if (line[0] == 'T' && time_of(line)) return read_time(line);
        if (strip_end(line) == "+" || strip_end(line) == "-" || is_farewell(line)) return;
        add_comment(line);
    }

    // Whether the word after % below the end is the end, or the end again.
    bool take_ending(std::string_view word) {
        const bool is_first = !game_.ending || (is_guess_ && word != *game_.ending);
        if (is_first) end_with(word);
        return is_first || word == *game_.ending;
    }

    // A word after # that nobody listed ended no game if a move follows.
    void take_back_end() {
        game_.ending.reset();
        game_.ending_time_ms = CsaGame::NO_TIME;
        is_guess_ = false;
        for (std::string& comment : game_.ending_comments) game_.comments.emplace_back(game_.moves.size(), std::move(comment));
        game_.ending_comments.clear();
    }

    // The names stand in what a server sends before a game, the rest is for the client.
    void read_protocol(std::string_view line) {
        for (const std::string_view key : {"Name+:", "Name-:"})
            if (line.starts_with(key)) game_.headers.emplace_back(std::string("N") + key[4], strip(line.substr(key.size())));
    }

    void read_comment(std::string_view line) {
        if (line.starts_with("'**")) {
            if (!read_score(line.substr(3))) add_comment(line.substr(3));
        } else if (line.starts_with("'*")) {
            if (!is_over()) note_plain_score(line.substr(2));
            add_comment(line.substr(2));
        } else if (!game_.moves.empty() && !is_ended() && is_visits(line.substr(1))) {  // after the move on its line
            add_comment(line.substr(1));
        } else if (line.starts_with("'black_rate:") || line.starts_with("'white_rate:")) {
            read_rating(line);
        } else {
            for (const std::string_view key : {"'summary", "'$END_TIME", "'Max_Moves"})
                if (line.starts_with(key) && line.substr(key.size()).starts_with(':'))
                    game_.headers.emplace_back(key, strip(line.substr(key.size() + 1)));
        }
    }

    // A score and a line, for the last move. False if there is no score or no move.
    bool read_score(std::string_view text) {
        constexpr std::size_t MOST_DIGITS = 9;
        text = strip(text);
        const bool has_sign = text.starts_with('+') || text.starts_with('-');
        const std::string_view digits = text.substr(has_sign, count_digits(text.substr(has_sign)));
        const std::string_view line = text.substr(has_sign + digits.size());
        if (game_.moves.empty() || digits.empty() || digits.size() > MOST_DIGITS) return false;
        if (!line.empty() && strip(line).size() == line.size()) return false;  // no space after the number
        const auto score = static_cast<std::int32_t>(to_number(digits));
        game_.scores.back() = text[0] == '-' ? -score : score;
        game_.pvs.back() = strip(line);
        return true;
    }

    // "'* 30" or "'* 30 -3334FU", as clients send it to floodgate. Whose it is, give_plain_scores says.
    void note_plain_score(std::string_view text) {
        constexpr std::size_t MOST_DIGITS = 9;
        if (!begins_with_space(text)) return;
        text = strip(text);
        const bool has_sign = text.starts_with('+') || text.starts_with('-');
        const std::size_t digits = count_digits(text.substr(has_sign));
        const std::string_view line = text.substr(has_sign + digits);
        if (digits == 0 || digits > MOST_DIGITS || (!line.empty() && !is_line_of_moves(line))) return;
        const auto score = static_cast<std::int32_t>(to_number(text.substr(has_sign, digits)));
        plain_scores_.push_back({game_.comments.size(), text[0] == '-' ? -score : score, strip(line)});
    }

    // Gives the scores of note_plain_score to the moves on their lines or above them. Where the first stands above the
    // first move and none below the last, they belong to the moves below them.
    void give_plain_scores() {
        if (plain_scores_.empty() || game_.moves.empty()) return;
        const auto before = [this](const PlainScore& noted) { return game_.comments[noted.comment].first; };
        const bool stand_above =
            !has_joined_comments_ && before(plain_scores_.front()) == 0 && before(plain_scores_.back()) < game_.moves.size();
        for (const PlainScore& noted : plain_scores_) {
            auto& [count, text] = game_.comments[noted.comment];
            const std::size_t move = count - !stand_above;  // of the first, none
            if (move >= game_.moves.size() || game_.scores[move] != CsaGame::NO_SCORE) continue;
            game_.scores[move] = noted.score;
            game_.pvs[move] = noted.pv;
            text.clear();
            count = TAKEN;
        }
        std::erase_if(game_.comments, [](const auto& comment) { return comment.first == TAKEN; });
    }

    // "'black_rate:NAME:3563.2"; a name may have colons.
    void read_rating(std::string_view line) {
        constexpr std::size_t KEY = std::string_view("'black_rate").size();
        const std::size_t colon = line.rfind(':');
        if (colon == KEY) return;
        const std::string_view number = strip(line.substr(colon + 1));
        const bool has_sign = number.starts_with('+') || number.starts_with('-');
        const std::size_t whole = count_digits(number.substr(has_sign));
        const std::string_view rest = number.substr(has_sign + whole);
        const bool is_fraction = rest.starts_with('.') && rest.size() > 1 && count_digits(rest.substr(1)) + 1 == rest.size();
        if (whole > 0 && (rest.empty() || is_fraction)) game_.headers.emplace_back(line.substr(0, KEY), number);
    }

    bool is_ended() const { return game_.ending || !game_.outcome.empty(); }
    bool is_over() const { return is_ended() || illegal_; }

    void add_comment(std::string_view text) {
        if (is_over())
            game_.ending_comments.emplace_back(strip(text));
        else
            game_.comments.emplace_back(game_.moves.size(), strip(text));
    }

    void read_header(std::string_view line) {
        if (line.starts_with("N+") || line.starts_with("N-")) {
            is_empty_ = false;
            game_.headers.emplace_back(line.substr(0, 2), strip(line.substr(2)));
        } else if (line[0] == '$') {
            const std::size_t colon = std::min(line.find(':'), line.size());
            const std::string_view key = line.substr(0, colon);
            const std::string_view value = strip(line.substr(std::min(colon + 1, line.size())));
            if (key == "$NOTE")
                add_note(value);
            else
                game_.headers.emplace_back(key, value);
        } else if (line[0] != 'V') {
            fail({"no CSA statement"}, line);
        }
    }

    // A comment on one line, with \n for the ends of its lines.
    void add_note(std::string_view text) {
        std::string note;
        for (std::size_t at = 0; at < text.size(); ++at) {
            const bool is_line_end = text.substr(at).starts_with("\\n");
            note += is_line_end ? '\n' : text[at];
            at += is_line_end;
        }
        add_comment(note);
    }

    static constexpr std::size_t TAKEN = std::numeric_limits<std::size_t>::max();
    struct PlainScore {
        std::size_t comment;  // its number among the comments
        std::int32_t score;
        std::string_view pv;
    };

    CsaGame& game_;
    std::vector<PlainScore> plain_scores_;
    std::size_t line_ = 0;
    std::optional<CsaBoard> board_;
    std::optional<Color> turn_;      // as long as nothing says it, none
    std::optional<Board> position_;  // from the first move on
    std::optional<CsaDamage> illegal_;
    bool is_guess_ = false;  // the end is a word after # that nobody listed
    bool is_empty_ = true;
    bool has_joined_comments_ = false;
};

}  // namespace

std::vector<Hcp> CsaGame::hcps() const {
    std::vector<Hcp> found;
    found.reserve(moves.size() + 1);
    Board pos = start;
    found.push_back(encode_hcp(pos));
    for (const std::uint16_t raw : moves) {
        pos.do_move(Move(raw));
        found.push_back(encode_hcp(pos));
    }
    return found;
}

std::optional<CsaGame> CsaReader::next() {
    const std::lock_guard lock(mutex_);
    while (at_ <= text_->size()) {
        CsaGame game;
        if (read_game(game)) return game;
    }
    return std::nullopt;
}

// The game up to the next line with nothing but a slash, the next version line, or the end. False if there is none.
bool CsaReader::read_game(CsaGame& game) {
    game.text = text_;
    GameParser parser(game);
    std::string_view line;
    const auto is_game = [this, &line, &parser, &game] {
        const std::size_t before = at_;
        if (!take_line(line) || (line.starts_with('/') && strip(line) == "/")) return false;
        const bool is_next = is_csa_version(line) && (game.damage || !parser.is_empty());
        if (is_next) {
            at_ = before;
            --line_;
        }
        return !is_next;
    };
    bool goes_on = true;
    try {
        while ((goes_on = is_game())) parser.read_line(line, line_);
        if (parser.is_empty()) return false;
        parser.finish();
    } catch (CsaDamage& damage) {
        game.damage = std::move(damage);
        while (goes_on) goes_on = is_game();
    }
    return true;
}

bool CsaReader::take_line(std::string_view& line) {
    const std::string_view text = *text_;
    if (at_ > text.size()) return false;
    const std::size_t end = std::min(text.find('\n', at_), text.size());
    line = text.substr(at_, end - at_);
    at_ = end + 1;
    ++line_;
    return true;
}

}  // namespace fukayomi
