#include "encode/batch.hpp"

#include <algorithm>
#include <cstring>
#include <stdexcept>
#include <string>

#include "codec/averages.hpp"
#include "encode/labels.hpp"
#include "shogi/errors.hpp"
#include "shogi/illegal.hpp"
#include "shogi/movegen.hpp"
#include "shogi/usi_move.hpp"

namespace fukayomi {
namespace {

constexpr std::size_t EVAL_OFFSET = 32;
constexpr std::size_t MOVE_OFFSET = 34;
constexpr std::size_t RESULT_OFFSET = 36;
enum GameResult : std::uint8_t { DRAW = 0, BLACK_WINS = 1, WHITE_WINS = 2 };

constexpr std::size_t FEATURES1_FLOATS = static_cast<std::size_t>(FEATURES1) * SQUARES;

Packed1 packed1(std::uint8_t* planes, std::size_t i) { return Packed1(planes + i * PACKED1_BYTES, PACKED1_BYTES); }
Packed2 packed2(std::uint8_t* planes, std::size_t i) { return Packed2(planes + i * PACKED2_BYTES, PACKED2_BYTES); }

[[noreturn]] void reject(const std::string& why) { throw ParseError(ParseError::Kind::PACKED, why); }

// Calls f(i) for every record; errors get the record's index.
template <class F>
void for_each_record(std::size_t n, F&& f) {
    std::size_t i = 0;
    try {
        for (; i < n; ++i) f(i);
    } catch (const ParseError& e) {
        throw ParseError(e.kind(), "record " + std::to_string(i) + ": " + e.what());
    }
}

template <class T>
T load(const std::uint8_t* bytes) {
    T value;
    std::memcpy(&value, bytes, sizeof value);
    return value;
}

// Whether the side to move has the piece that moves and may put it where it goes, as far as the sets alone tell. They
// are as that side sees them, and so is the move.
bool is_plausible(const PieceSets& sets, Move m) {
    Bitboard own;
    Bitboard opponents;
    for (std::size_t t = PAWN; t < PIECE_TYPES; ++t) {
        own |= sets.of(BLACK, static_cast<PieceType>(t));
        opponents |= sets.of(WHITE, static_cast<PieceType>(t));
    }
    if (m.is_drop()) return sets.hands[BLACK].has(m.dropped()) && !(own | opponents).has(m.to());
    return own.has(m.from()) && !own.has(m.to());
}

Move seen_by(Color turn, Move m) {
    if (turn == BLACK) return m;
    return m.is_drop() ? Move::drop(m.dropped(), rotate(m.to())) : Move::normal(rotate(m.from()), rotate(m.to()), m.is_promotion());
}

std::uint16_t label_of(const PieceSets& sets, Move m) {
    if (!has_policy_label(sets.turn, m)) reject("the move " + std::to_string(m.raw()) + " is no move");
    const Move seen = seen_by(sets.turn, m);
    if (!is_plausible(sets, seen)) reject("the move " + usi(m) + " is not possible in its position");
    return policy_label(BLACK, seen);
}

// An averaged position, and its moves.
class Average {
  public:
    Average(const std::uint8_t* position, const std::uint8_t* moves, std::size_t moves_there)
        : position_(position), moves_(moves), count_(load<std::uint32_t>(position + POSITION_MOVES)) {
        if (count_ == 0 || count_ > moves_there) reject("its " + std::to_string(count_) + " moves are not there");
        if (seen() == 0) reject("it was never seen");
        if (value() > 1) reject("its values are more than it was seen");
        for (std::size_t i = 0; i < count_; ++i) searched_ |= visits(i) > 0;
        for (std::size_t i = 1; i < count_; ++i)
            if (weight(i) > weight(best_)) best_ = i;
        if (count_ > 1 && weight(best_) == 0) reject("none of its moves was played or visited");
    }

    std::size_t count() const { return count_; }
    std::size_t best() const { return best_; }
    Move move(std::size_t i) const { return Move(load<std::uint16_t>(moves_ + i * MOVE_BYTES)); }
    double weight(std::size_t i) const {
        return searched_ ? static_cast<double>(visits(i)) : static_cast<double>(load<std::uint32_t>(moves_ + i * MOVE_BYTES + MOVE_PLAYED));
    }
    double value() const {
        return static_cast<double>(load<std::uint64_t>(position_ + POSITION_VALUE)) / static_cast<double>(VALUE_ONE) / seen();
    }
    double result_for(Color turn) const { return (games(turn == BLACK ? 1 : 2) + 0.5 * games(0)) / seen(); }

  private:
    double games(std::size_t result) const { return load<std::uint32_t>(position_ + POSITION_RESULTS + 4 * result); }
    double seen() const { return games(0) + games(1) + games(2); }
    std::uint64_t visits(std::size_t i) const { return load<std::uint64_t>(moves_ + i * MOVE_BYTES + MOVE_VISITS); }

    const std::uint8_t* position_;
    const std::uint8_t* moves_;
    std::size_t count_;
    std::size_t best_ = 0;
    bool searched_ = false;
};

}  // namespace

float result_for(Color turn, unsigned result) {
    if (result > WHITE_WINS) reject("the result " + std::to_string(result) + " is not 0 (draw), 1 (Black won) or 2 (White won)");
    if (result == DRAW) return 0.5F;
    return (result == BLACK_WINS) == (turn == BLACK) ? 1.0F : 0.0F;
}

void decode_hcp_batch(std::size_t n, const std::uint8_t* hcps, std::uint8_t* planes1, std::uint8_t* planes2) {
    for_each_record(
        n, [&](std::size_t i) { encode_packed_hcp(HcpView(hcps + i * HCP_BYTES, HCP_BYTES), packed1(planes1, i), packed2(planes2, i)); });
}

void write_hcp_batch(std::size_t n, const std::uint8_t* hcps, SlotInput& input, std::uint16_t* moves, std::uint16_t* labels) {
    for_each_record(n, [&](std::size_t i) {
        const Board pos = decode_hcp(HcpView(hcps + i * HCP_BYTES, HCP_BYTES));
        MoveList found;
        generate_legal(pos, found);
        input.write(i, pos, found);
        for (std::size_t j = 0; j < found.size(); ++j) {
            moves[i * MAX_MOVES + j] = found[j].raw();
            labels[i * MAX_MOVES + j] = policy_label(pos.turn(), found[j]);
        }
    });
}

void decode_hcpe_batch(std::size_t n, const std::uint8_t* records, const double* eval_scales, const Targets& out) {
    for_each_record(n, [&](std::size_t i) {
        const std::uint8_t* record = records + i * HCPE_BYTES;
        const PieceSets sets = encode_packed_hcp(HcpView(record, HCP_BYTES), packed1(out.planes1, i), packed2(out.planes2, i));
        const auto eval = load<std::int16_t>(record + EVAL_OFFSET);
        const Move move(load<std::uint16_t>(record + MOVE_OFFSET));
        out.labels[i] = move ? label_of(sets, move) : NO_POLICY_LABEL;
        out.results[i] = result_for(sets.turn, record[RESULT_OFFSET]);
        out.values[i] = static_cast<float>(win_probability(eval, eval_scales == nullptr ? EVAL_SCALE : eval_scales[i]));
    });
}

SoftPolicy decode_average_batch(std::size_t n, const std::uint8_t* positions, std::size_t moves, const std::uint8_t* move_rows,
                                double temperature, const Targets& out) {
    SoftPolicy policy;
    policy.places.reserve(moves);
    policy.weights.reserve(moves);
    std::size_t first = 0;
    for_each_record(n, [&](std::size_t i) {
        const std::uint8_t* position = positions + i * POSITION_BYTES;
        const Average average(position, move_rows + first * MOVE_BYTES, moves - first);
        const PieceSets sets = encode_packed_hcp(HcpView(position, HCP_BYTES), packed1(out.planes1, i), packed2(out.planes2, i));
        add_candidates(
            policy, average.count(), average.best(), temperature, [&](std::size_t m) { return average.weight(m); },
            [&](std::size_t m) { return static_cast<std::int32_t>(i * POLICY_LABELS + label_of(sets, average.move(m))); });
        out.labels[i] = label_of(sets, average.move(average.best()));
        out.results[i] = static_cast<float>(average.result_for(sets.turn));
        out.values[i] = static_cast<float>(average.value());
        first += average.count();
    });
    if (first != moves) throw std::out_of_range("there are more moves than those of the positions");
    return policy;
}

void unpack_batch(std::size_t n, const std::uint8_t* planes1, const std::uint8_t* planes2, std::size_t count2, float* features1,
                  float* features2) {
    for (std::size_t i = 0; i < n; ++i)
        unpack_float(std::span<const std::uint8_t, PACKED1_BYTES>(planes1 + i * PACKED1_BYTES, PACKED1_BYTES),
                     std::span<const std::uint8_t, PACKED2_BYTES>(planes2 + i * PACKED2_BYTES, PACKED2_BYTES), count2,
                     features1 + i * FEATURES1_FLOATS, features2 + i * count2 * SQUARES);
}

void gather_batch(std::size_t n, const float* policy, const std::uint16_t* labels, const std::uint16_t* counts, float* logits) {
    for (std::size_t i = 0; i < n; ++i) {
        const float* row = policy + i * POLICY_LABELS;
        if (counts[i] > MAX_MOVES)
            throw std::out_of_range("row " + std::to_string(i) + ": the count " + std::to_string(counts[i]) + " is above 593");
        for (std::size_t j = 0; j < counts[i]; ++j) {
            const std::uint16_t label = labels[i * MAX_MOVES + j];
            if (label >= POLICY_LABELS)
                throw std::out_of_range("row " + std::to_string(i) + ", move " + std::to_string(j) + ": the label " +
                                        std::to_string(label) + " is above 2186");
            logits[i * MAX_MOVES + j] = row[label];
        }
    }
}

std::vector<Hcp> replay_hcps(const Board& start, std::size_t moves, const std::uint16_t* raw_moves) {
    std::vector<Hcp> hcps;
    hcps.reserve(moves + 1);
    Board pos = start;
    for (std::size_t i = 0; i < moves; ++i) {
        hcps.push_back(encode_hcp(pos));
        const Move m(raw_moves[i]);
        if (!has_policy_label(pos.turn(), m))
            throw ParseError(ParseError::Kind::ILLEGAL_MOVE, "move " + std::to_string(i) + ": " + std::to_string(m.raw()) + " is no move");
        try {
            require_legal(pos, m);
        } catch (const ParseError& e) {
            throw ParseError(e.kind(), "move " + std::to_string(i) + ": " + e.what());
        }
        pos.do_move(m);
    }
    hcps.push_back(encode_hcp(pos));
    return hcps;
}

}  // namespace fukayomi
