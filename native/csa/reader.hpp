// Game records in CSA: floodgate's dialect, versions 1 to 2.2 and 3.0, several games a text. Every move is checked by the
// rules as it is read.
//
// Comments: `'** SCORE PV`, `'* TEXT` and AobaZero's visits belong to the move above them; other comments are for people
// and are left out, but for floodgate's ratings, summary and end time. `'* SCORE` is a score, too. What servers send to
// clients is left out, but for names and the end (csa/protocol.hpp).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "codec/hcp.hpp"
#include "csa/board.hpp"
#include "shogi/board.hpp"

namespace fukayomi {

// The words that follow %, and how such a game ended (values of Python's Termination).
inline constexpr std::array<std::pair<std::string_view, std::string_view>, 16> CSA_ENDINGS = {{
    {"TORYO", "resign"},
    {"CHUDAN", "interrupted"},
    {"SENNICHITE", "repetition"},
    {"OUTE_SENNICHITE", "perpetual_check"},
    {"TIME_UP", "time_up"},
    {"ILLEGAL_MOVE", "illegal_move"},
    {"+ILLEGAL_ACTION", "illegal_move"},
    {"-ILLEGAL_ACTION", "illegal_move"},
    {"JISHOGI", "impasse"},
    {"KACHI", "declaration"},
    {"HIKIWAKE", "draw"},
    {"MAX_MOVES", "max_plies"},
    {"MATTA", "taken_back"},
    {"TSUMI", "mate"},
    {"FUZUMI", "no_mate"},
    {"ERROR", "error"},
}};

// The most plies of a game in a record, in any format. No real game comes near it.
inline constexpr std::size_t MOST_PLIES = 10000;

// Why a game cannot be read.
struct CsaDamage {
    std::size_t line;  // from 1, in the whole text
    bool is_illegal_move;
    CsaMessage message;
};

struct CsaGame {
    static constexpr std::int32_t NO_SCORE = std::numeric_limits<std::int32_t>::min();
    static constexpr std::int64_t NO_TIME = -1;

    std::optional<CsaDamage> damage;  // nothing else counts if there is one
    // N+, N-, $EVENT ..., 'black_rate, 'white_rate, 'summary, '$END_TIME, 'Max_Moves: what follows each, in their order.
    std::vector<std::pair<std::string, std::string>> headers;
    std::string initial_sfen;
    Board start = Board::empty();
    std::vector<std::uint16_t> moves;
    std::vector<std::int32_t> scores;  // centipawns from Black's side
    std::vector<std::int64_t> times_ms;
    std::vector<std::string_view> pvs;                          // in `text`
    std::vector<std::pair<std::size_t, std::string>> comments;  // how many moves stand before each, and its text
    std::optional<std::string> ending;                          // the word after %
    std::string_view outcome;                                   // CSA_BLACK_WIN and so on, if a server told; empty otherwise
    std::int64_t ending_time_ms = NO_TIME;
    std::vector<std::string> ending_comments;  // what stands below the end
    std::string illegal_move;                  // the statement that ended the game
    std::int64_t illegal_move_time_ms = NO_TIME;
    Color turn = BLACK;  // to move at the end
    std::shared_ptr<const std::string> text;

    // The positions before each move, and the last. Throws ParseError(PACKED) for a start that has no hcp.
    std::vector<Hcp> hcps() const;
};

// Takes the games off a text in UTF-8, one after the other.
class CsaReader {
  public:
    explicit CsaReader(std::string text) : text_(std::make_shared<const std::string>(std::move(text))) {}
    // The next game, good or damaged; what has nothing but blank lines and comments is none. Games stand between lines with a
    // slash; a version line begins a game, too.
    std::optional<CsaGame> next();

  private:
    bool take_line(std::string_view& line);
    bool read_game(CsaGame& game);

    std::mutex mutex_;  // Python may call from several threads
    std::shared_ptr<const std::string> text_;
    std::size_t at_ = 0;
    std::size_t line_ = 0;  // the number of the line taken last
};

}  // namespace fukayomi
