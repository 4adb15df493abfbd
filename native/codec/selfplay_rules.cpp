#include "codec/selfplay_rules.hpp"

#include <array>
#include <cmath>
#include <cstdlib>
#include <memory>
#include <optional>
#include <utility>

#include "codec/evaluation.hpp"
#include "codec/hcp.hpp"
#include "shogi/history.hpp"
#include "shogi/movegen.hpp"

namespace fukayomi {
namespace {

constexpr unsigned RESULT_BITS = 0x03;
constexpr unsigned REPETITION_FLAG = 0x04;
constexpr unsigned DECLARATION_FLAG = 0x08;
constexpr unsigned MAX_PLIES_FLAG = 0x10;
constexpr unsigned DRAW = 0;
constexpr unsigned MOST_OPPONENTS = 2;

constexpr unsigned win_of(Color c) { return c == BLACK ? 1U : 2U; }
constexpr const char* RESULT_NAMES[] = {"a draw", "a win for Black", "a win for White"};

// Centipawns that rounding can cost an evaluation, that of the scale (dlshogi's books take 756) included.
constexpr double EVAL_SLACK = 2.0;

// The evaluation from which on a side may resign.
double least_eval(double threshold) {
    if (threshold >= 1.0) return MATE_CP;
    return std::fmin(EVAL_SCALE * std::log((1.0 + threshold) / (1.0 - threshold)) - EVAL_SLACK, MATE_CP);
}

// What the repetition of the current position makes of the game, as a result; nothing if it does not end the game.
std::optional<unsigned> repeated_result(Repetition found, Color turn) {
    switch (found) {
        case Repetition::DRAW: return DRAW;
        case Repetition::WIN: return win_of(turn);
        case Repetition::LOSE: return win_of(~turn);
        default: return std::nullopt;
    }
}

class GameCheck {
  public:
    GameCheck(const GameColumns& games, const SelfplayRules& rules)
        : games_(games), rules_(rules), resign_eval_(least_eval(rules.resign_threshold)) {}

    // The end of a game; NONE with a fault.
    EndReason check(std::size_t game) {
        begin_ = games_.plies[game];
        plies_ = static_cast<int>(games_.plies[game + 1] - begin_);
        result_ = games_.results[game] & RESULT_BITS;
        flags_ = games_.results[game] & ~RESULT_BITS;
        opponent_ = games_.opponents[game];
        fault_.reset();
        check_head();
        Board pos = decode_hcp(games_.starts[game]);
        history_.clear();
        history_.push(pos);
        repeated_before_ = -1;
        const int line = mating_line();
        for (int ply = 0; ply < plies_ && !fault_; ++ply) play(pos, ply, line);
        if (fault_) return EndReason::NONE;
        const EndReason end = end_of(pos);
        if (end != EndReason::MATE && repeated_before_ >= 0) went_on(repeated_before_);
        return fault_ ? EndReason::NONE : end;
    }

    GameFault fault(std::size_t game) const { return {game, fault_->first, fault_->second}; }

  private:
    void fail(int ply, std::string reason) {
        if (!fault_) fault_.emplace(ply, std::move(reason));
    }

    void check_head() {
        if (opponent_ > MOST_OPPONENTS) return fail(-1, "opponent " + std::to_string(opponent_) + " is not 0, 1 or 2");
        if (plies_ < rules_.least_plies || plies_ > rules_.most_plies)
            fail(-1, std::to_string(plies_) + " moves; the settings allow " + std::to_string(rules_.least_plies) + " to " +
                         std::to_string(rules_.most_plies));
    }

    bool is_other_program(Color c) const { return opponent_ == win_of(c); }

    // The move from which on the game may follow a mate that was found; the number of moves if there is none.
    int mating_line() const {
        int ply = plies_;
        while (ply > 0) {
            const std::size_t at = begin_ + static_cast<std::size_t>(ply) - 1;
            if (games_.candidates[at] != games_.candidates[at + 1] || std::abs(int{games_.evals[at]}) != MATE_CP) break;
            --ply;
        }
        return ply;
    }

    void went_on(int ply) { fail(ply, "the position before this move is a repetition, but the game goes on"); }

    void play(Board& pos, int ply, int line) {
        const std::size_t at = begin_ + static_cast<std::size_t>(ply);
        if (std::abs(int{games_.evals[at]}) > MATE_CP)
            return fail(ply, "evaluation " + std::to_string(games_.evals[at]) + " is beyond that of a mate");
        check_candidates(pos.turn(), ply, at);
        pos.do_move(Move(games_.moves[at]));
        history_.push(pos);
        if (ply + 1 == plies_ || !repeated_result(history_.first_recurrence(), pos.turn())) return;
        if (ply + 1 < line)
            went_on(ply + 1);
        else if (repeated_before_ < 0)
            repeated_before_ = ply + 1;
    }

    void check_candidates(Color turn, int ply, std::size_t at) {
        const std::size_t first = games_.candidates[at];
        const std::size_t end = games_.candidates[at + 1];
        if (first == end) return;
        if (is_other_program(turn)) return fail(ply, "candidates for a move of another program");
        ++stamp_;
        std::uint32_t visits = 0;
        for (std::size_t i = first; i < end; ++i) {
            std::uint64_t& seen = seen_[games_.candidate_moves[i]];
            if (seen == stamp_) return fail(ply, "a move is among the candidates more than once");
            seen = stamp_;
            visits += games_.candidate_visits[i];
        }
        if (seen_[games_.moves[at]] != stamp_) return fail(ply, "the move played is not a candidate");
        if (visits == 0) return fail(ply, "candidates without a single visit");
        if (visits > rules_.most_visits)
            fail(ply, std::to_string(visits) + " visits; the settings allow " + std::to_string(rules_.most_visits));
    }

    EndReason end_of(const Board& pos) {
        const Color turn = pos.turn();
        if (!has_legal_move(pos)) return expect(EndReason::MATE, win_of(~turn), 0, "the last move mates");
        switch (flags_) {
            case 0: return resigned();
            case REPETITION_FLAG: {
                const auto result = repeated_result(history_.first_recurrence(), turn);
                if (result) return expect(EndReason::REPETITION, *result, flags_, "the repetition at the end");
                fail(-1, "flagged as a repetition, but the last position does not repeat one of the 16 plies before");
                return EndReason::NONE;
            }
            case DECLARATION_FLAG:
                if (pos.can_declare_win(rules_.declaration)) return expect(EndReason::DECLARATION, win_of(turn), flags_, "the declaration");
                fail(-1, "flagged as a declaration, but the side to move cannot declare a win");
                return EndReason::NONE;
            case MAX_PLIES_FLAG:
                if (plies_ == rules_.most_plies) return expect(EndReason::MAX_PLIES, DRAW, flags_, "the maximum of plies");
                fail(-1, "flagged as stopped at the maximum of plies, which is " + std::to_string(rules_.most_plies) + ", after " +
                             std::to_string(plies_));
                return EndReason::NONE;
            default: fail(-1, "flagged with several reasons for its end"); return EndReason::NONE;
        }
    }

    EndReason expect(EndReason end, unsigned result, unsigned flags, const char* cause) {
        if (result_ != result)
            fail(-1, std::string(cause) + " makes it " + RESULT_NAMES[result] + ", but the result is " + RESULT_NAMES[result_]);
        else if (flags_ != flags)
            fail(-1, std::string(cause) + ", but the flags say otherwise");
        return end;
    }

    // The game just ends: the last evaluation shows why.
    EndReason resigned() {
        if (result_ == DRAW) {
            fail(-1, "a draw without a repetition or the maximum of plies");
        } else if (!is_other_program(result_ == win_of(BLACK) ? WHITE : BLACK)) {
            check_resignation();
        }
        return EndReason::RESIGNATION;
    }

    void check_resignation() {
        const int last = plies_ - 1;
        if (last < 0) return fail(-1, "a resignation without an evaluation");
        const int eval = games_.evals[begin_ + static_cast<std::size_t>(last)];
        const Color better = eval > 0 ? mover(last) : ~mover(last);
        if (std::abs(eval) < resign_eval_)
            fail(last, "the game ends with the evaluation " + std::to_string(eval) + ", too small to resign");
        else if (result_ != win_of(better))
            fail(last, "the evaluation " + std::to_string(eval) + " makes it " + RESULT_NAMES[win_of(better)] + ", but the result is " +
                           RESULT_NAMES[result_]);
    }

    Color mover(int ply) const {
        const Color first = hcp_turn(games_.hcps[begin_]);
        return ply % 2 == 0 ? first : ~first;
    }

    const GameColumns& games_;
    const SelfplayRules& rules_;
    const double resign_eval_;
    std::size_t begin_ = 0;
    int plies_ = 0;
    unsigned result_ = 0;
    unsigned flags_ = 0;
    unsigned opponent_ = 0;
    int repeated_before_ = -1;  // the first move of the mating line after a repetition
    History history_;
    std::array<std::uint64_t, 1 << 16> seen_{};  // by move: the stamp of the position in which it was last a candidate
    std::uint64_t stamp_ = 0;
    std::optional<std::pair<int, std::string>> fault_;
};

}  // namespace

SelfplayCheck check_selfplay(const GameColumns& games, const SelfplayRules& rules) {
    SelfplayCheck found;
    const auto check = std::make_unique<GameCheck>(games, rules);  // too large for some stacks
    for (std::size_t g = 0; g < games.results.size(); ++g) {
        const EndReason end = check->check(g);
        found.ends.push_back(static_cast<std::uint8_t>(end));
        if (end == EndReason::NONE) found.faults.push_back(check->fault(g));
    }
    return found;
}

}  // namespace fukayomi
