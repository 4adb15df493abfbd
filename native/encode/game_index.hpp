// The training positions of hcpe3 files by number, in any order.
//
// A position inside a game costs the moves that lead to it. So the index keeps a position every 16 moves (a keyframe), and
// reading one in between replays at most 15 moves from the file's bytes. That takes about 4 bytes per position in memory,
// and no space on disk.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <shared_mutex>
#include <span>
#include <string>
#include <vector>

#include "codec/hcpe3.hpp"
#include "encode/batch.hpp"
#include "encode/soft_policy.hpp"
#include "shogi/history.hpp"

namespace fukayomi {

class GameIndex {
  public:
    // The number of positions with each evaluation (from -32768) that the side to move lost, drew and won.
    static constexpr std::size_t EVALUATIONS = 65'536;
    using EvalCounts = std::vector<std::array<std::uint64_t, 3>>;

    // The bytes must neither move nor change. `name` is for messages.
    void add_file(std::span<const std::uint8_t> data, std::string name);

    // Reads about `bytes` more of the last file; false at its end. Each game is replayed as decode_hcpe3 does.
    // A training position has candidates, and its move does not lead into a repetition: a position that occurred in the
    // 16 plies before with the same pieces in hand, or more, or fewer. Throws ParseError(PACKED), which names file, game,
    // move and offset, for an incomplete game and for candidates without visits; the index cannot be used then.
    bool read_on(std::size_t bytes);

    std::size_t size() const { return size_; }
    std::size_t files() const { return files_.size(); }
    std::size_t repetitions() const { return left_out_.size(); }  // positions left out because their move leads into one
    // Positions with candidates left out because their move leads into a repetition: the number of the training position that
    // would follow each (size() at the end), ascending.
    const std::vector<std::uint64_t>& left_out() const { return left_out_; }
    std::size_t bytes() const;                                                      // of memory
    const EvalCounts& eval_counts() const { return eval_counts_; }                  // of the last file
    const std::vector<std::uint64_t>& game_starts() const { return game_starts_; }  // first positions of games with any

    // The position of a number with the move played and its evaluation in centipawns. Throws as decode does.
    struct Found {
        Hcp position;
        Move move;
        std::int16_t eval;
    };
    Found find(std::int64_t number) const;

    // Positions of these numbers, into rows of `out`; out.labels are those of the candidates with the most visits (if
    // several: the move played, else the first of them). Weights are visits^(1/temperature); temperature 0 takes the
    // label alone. `eval_scales` has the scale of each file. Throws std::out_of_range for a number, ParseError(PACKED) if
    // the bytes are no longer what they were.
    // With n_step > 0 out.values come from so many plies later: from the last move with candidates up to there, or from the
    // result if the game ends before. Games of one move are positions alone, and keep their own.
    SoftPolicy decode(std::size_t n, const std::int64_t* numbers, double temperature, unsigned n_step, const double* eval_scales,
                      const Targets& out) const;

    // How the games of positions go on, for targets of further heads; each [n, ...]. A game of one move is a position whose
    // game is not known: -1, 0 and NaN.
    struct Continuations {
        std::int32_t* replies;     // [n], label of the move after the position's: its direction as the opponent sees it, its
                                   // square as the side to move does; -1 after the last move
        std::int32_t* plies_left;  // [n], moves from the position's to the last one, both included
        float* values;             // [n, horizons]
    };

    // Continuations of positions. values[i, h] is the exponential average of the search values from the position on, from the
    // view of its side to move: ply k weighs (1/m) (1 - 1/m)^k with m = horizons[h]; a ply that was not searched has the value
    // before it; the result has the weight that is left at the end. `eval_scales` as for decode, which throws the same.
    void follow(std::size_t n, const std::int64_t* numbers, std::span<const double> horizons, const double* eval_scales,
                const Continuations& out) const;

    std::size_t continued() const { return continued_; }  // positions of games of several moves
    std::size_t choices() const { return choices_; }      // positions with several candidates

  private:
    struct File {
        std::span<const std::uint8_t> data;
        std::string name;
    };
    struct Keyframe {
        Hcp position;          // whose move is a training position
        std::uint64_t offset;  // of that move in its file
        std::uint32_t file;
        std::uint16_t taken;  // bit i: its i-th move from there is a training position
        std::uint8_t result;
    };

    void add_game(const GameColumns& games, std::size_t g);
    bool leads_to_repetition(Board& pos, Move move);
    void count_evaluation(Color turn, std::uint8_t result, std::int16_t eval);
    void require_number(std::int64_t number) const;
    std::size_t keyframe_of(std::size_t number) const;
    [[noreturn]] void refuse_changed(const Keyframe& key) const;
    std::uint64_t game_end(std::size_t number) const;
    void decode_one(std::size_t row, std::size_t number, double temperature, unsigned n_step, const double* eval_scales, const Targets& out,
                    SoftPolicy& policy) const;

    mutable std::shared_mutex mutex_;
    std::vector<File> files_;
    std::vector<Keyframe> keyframes_;
    std::vector<std::uint64_t> firsts_;  // by keyframe: the number of its first training position
    std::vector<std::uint64_t> game_starts_;
    std::vector<std::uint64_t> game_ends_;  // by game with positions: where it ends in its file; 0: it has one move
    std::size_t size_ = 0;
    std::size_t continued_ = 0;
    std::size_t choices_ = 0;
    std::vector<std::uint64_t> left_out_;
    std::size_t cursor_ = 0;  // in the last file
    std::size_t games_ = 0;   // of the last file
    EvalCounts eval_counts_;
    History past_;
};

}  // namespace fukayomi
