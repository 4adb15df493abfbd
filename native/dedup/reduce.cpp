#include "dedup/reduce.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <limits>
#include <stdexcept>
#include <string>

#include "codec/evaluation.hpp"

namespace fukayomi {

namespace {

constexpr std::size_t EVAL = 32, MOVE = 34, RESULT = 36, COUNT = 38;  // in records and sights

template <class T>
T load(const std::uint8_t* bytes) {
    T value;
    std::memcpy(&value, bytes, sizeof value);
    return value;
}

template <class T>
void store(std::uint8_t* bytes, T value) {
    std::memcpy(bytes, &value, sizeof value);
}

std::uint8_t* append(std::vector<std::uint8_t>& rows, std::size_t width) {
    rows.resize(rows.size() + width);
    return rows.data() + rows.size() - width;
}

void add_keys(std::vector<const std::uint8_t*>& keys, RowView rows) {
    for (std::size_t row = 0; row < rows.count; ++row) keys.push_back(rows[row]);
}

std::size_t result_of(const std::uint8_t* record) {
    if (record[RESULT] > 2) throw std::out_of_range("a result is 0, 1 or 2, not " + std::to_string(record[RESULT]));
    return record[RESULT];
}

std::uint32_t narrow(std::uint64_t count) {
    if (count > std::numeric_limits<std::uint32_t>::max()) throw std::out_of_range("a position was seen more often than 32 bits can count");
    return static_cast<std::uint32_t>(count);
}

// What tells rows of the same position apart, as a number; rows in the order of it, equal ones in their own.
struct Tail {
    std::uint64_t value;
    std::uint32_t index;
};

void sort_tails(std::vector<Tail>& tails) {
    std::sort(tails.begin(), tails.end(),
              [](const Tail& a, const Tail& b) { return a.value != b.value ? a.value < b.value : a.index < b.index; });
}

std::uint64_t tail_of(const std::uint8_t* record, bool by_all_fields) {
    const std::uint64_t move = load<std::uint16_t>(record + MOVE);
    if (!by_all_fields) return move;
    return move << 32 | std::uint64_t{load<std::uint16_t>(record + EVAL)} << 16 | load<std::uint16_t>(record + RESULT);
}

struct Sum {
    std::array<std::uint64_t, 3> results{};  // draws, Black's wins, White's wins
    std::int64_t eval = 0;

    void add_record(const std::uint8_t* record) {
        ++results[result_of(record)];
        eval += load<std::int16_t>(record + EVAL);
    }

    std::uint64_t count() const { return results[0] + results[1] + results[2]; }
};

constexpr std::size_t SUM_RESULTS = 40, SUM_EVAL = 64;

void add_sum(Sum& sum, const std::uint8_t* row) {
    for (std::size_t result = 0; result < 3; ++result) sum.results[result] += load<std::uint64_t>(row + SUM_RESULTS + 8 * result);
    sum.eval += load<std::int64_t>(row + SUM_EVAL);
}

void append_sum(std::vector<std::uint8_t>& out, const std::uint8_t* key, std::uint64_t move, const Sum& sum) {
    std::uint8_t* row = append(out, SUM_BYTES);
    std::memcpy(row, key, KEY_BYTES);
    store(row + KEY_BYTES, move);
    for (std::size_t result = 0; result < 3; ++result) store(row + SUM_RESULTS + 8 * result, sum.results[result]);
    store(row + SUM_EVAL, sum.eval);
}

std::uint8_t mean_result(const Sum& sum) {
    const std::uint64_t numbers = sum.results[1] + 2 * sum.results[2];
    return 2 * numbers >= 3 * sum.count() ? 2 : numbers > 0 ? 1 : 0;
}

std::uint8_t most_frequent_result(const Sum& sum) {
    const auto [draws, black, white] = sum.results;
    return black > draws && black > white ? 1 : white > draws && white > black ? 2 : 0;
}

// visit(key, move, sum) for each (position, move), in the order of (hash, key bytes, move).
template <class Visit>
void for_each_sum(RowView records, RowView sums, unsigned hash_bits, Visit visit) {
    std::vector<const std::uint8_t*> keys;
    keys.reserve(records.count + sums.count);
    add_keys(keys, records);
    add_keys(keys, sums);
    const Groups groups = group_keys(keys, hash_bits);
    const auto move_of = [&](std::uint32_t index) -> std::uint64_t {
        return load<std::uint16_t>(keys[index] + (index < records.count ? MOVE : KEY_BYTES));
    };
    const auto add = [&](Sum& sum, std::uint32_t index) {
        if (index < records.count)
            sum.add_record(keys[index]);
        else
            add_sum(sum, keys[index]);
    };
    std::vector<Tail> tails;
    groups.for_each(keys, [&](std::span<const std::uint32_t> members) {
        if (members.size() == 1) {  // most are
            Sum sum;
            add(sum, members[0]);
            return visit(keys[members[0]], move_of(members[0]), sum);
        }
        tails.clear();
        for (const std::uint32_t index : members) tails.push_back({move_of(index), index});
        sort_tails(tails);
        for (std::size_t begin = 0, end; begin < tails.size(); begin = end) {
            Sum sum;
            for (end = begin; end < tails.size() && tails[end].value == tails[begin].value; ++end) add(sum, tails[end].index);
            visit(keys[tails[begin].index], tails[begin].value, sum);
        }
    });
}

// What each evaluation, from -32768, adds to the value of a position.
std::vector<std::uint64_t> all_values() {
    constexpr int LOWEST = std::numeric_limits<std::int16_t>::min(), HIGHEST = std::numeric_limits<std::int16_t>::max();
    std::vector<std::uint64_t> values;
    values.reserve(HIGHEST - LOWEST + 1);
    for (int eval = LOWEST; eval <= HIGHEST; ++eval)
        values.push_back(static_cast<std::uint64_t>(std::llround(win_probability(eval, EVAL_SCALE) * static_cast<double>(VALUE_ONE))));
    return values;
}

std::uint64_t value_of(std::int16_t eval) {
    static const std::vector<std::uint64_t> values = all_values();
    return values[static_cast<std::size_t>(eval - std::numeric_limits<std::int16_t>::min())];
}

// A candidate of a search, and what it is given so that all candidates have EVEN_VISITS: by largest remainders.
struct Share {
    std::uint16_t move;
    std::uint64_t visits;
    std::uint64_t rest;
};

// Whole shares, which depend on moves and visits alone, and not on their order; 0 where there are no visits.
void share_out(std::span<Share> shares) {
    std::uint64_t sum = 0;
    for (const Share& share : shares) sum += share.visits;
    if (sum == 0) return;
    std::uint64_t left = EVEN_VISITS;
    for (Share& share : shares) {
        const std::uint64_t parts = share.visits * EVEN_VISITS;  // 48 bits
        share.visits = parts / sum;
        share.rest = parts % sum;
        left -= share.visits;
    }
    if (left == 0) return;
    const auto end = shares.begin() + static_cast<std::ptrdiff_t>(left);  // fewer are left than have a rest
    std::nth_element(shares.begin(), end, shares.end(),
                     [](const Share& a, const Share& b) { return a.rest != b.rest ? a.rest > b.rest : a.move < b.move; });
    std::for_each(shares.begin(), end, [](Share& share) { ++share.visits; });
}

struct MoveSum {
    std::uint16_t move;
    std::uint64_t played;
    std::uint64_t visits;
};

// Adds up one position after the other.
class Averager {
  public:
    Averager(const Seen& seen, Weighing weighing) : seen_(seen), weighing_(weighing), first_candidate_(seen.sights.count + 1) {
        for (std::size_t row = 0; row < seen.sights.count; ++row)
            first_candidate_[row + 1] = first_candidate_[row] + load<std::uint16_t>(seen.sights[row] + COUNT);
        if (first_candidate_.back() != seen.candidates.count)
            throw std::out_of_range("the sights have " + std::to_string(first_candidate_.back()) + " candidates, not " +
                                    std::to_string(seen.candidates.count));
    }

    void begin() {
        results_ = {};
        value_ = 0;
        moves_.clear();
    }

    void add(std::size_t index) {
        if (index < seen_.records.count) return add_record(seen_.records[index]);
        index -= seen_.records.count;
        if (index < seen_.sights.count) return add_sight(index);
        add_position(seen_.positions[index - seen_.sights.count]);
    }

    void finish(const std::uint8_t* key, Averages& out) {
        const std::uint64_t first = out.moves.size() / MOVE_BYTES;
        append_moves(out.moves);
        std::uint8_t* row = append(out.positions, POSITION_BYTES);
        std::memcpy(row, key, KEY_BYTES);
        narrow(results_[0] + results_[1] + results_[2]);  // or the sum of values would not fit either
        for (std::size_t result = 0; result < 3; ++result) store(row + POSITION_RESULTS + 4 * result, narrow(results_[result]));
        store(row + POSITION_MOVES, narrow(out.moves.size() / MOVE_BYTES - first));
        store(row + POSITION_VALUE, value_);
        store(row + POSITION_FIRST, first);
    }

  private:
    void add_targets(const std::uint8_t* record) {
        ++results_[result_of(record)];
        value_ += value_of(load<std::int16_t>(record + EVAL));
    }

    void add_record(const std::uint8_t* record) {
        add_targets(record);
        moves_.push_back({load<std::uint16_t>(record + MOVE), 1, weighing_ == Weighing::EVENLY ? EVEN_VISITS : 1});
    }

    void add_sight(std::size_t index) {
        const std::uint8_t* sight = seen_.sights[index];
        add_targets(sight);
        moves_.push_back({load<std::uint16_t>(sight + MOVE), 1, 0});
        shares_.clear();
        for (std::uint64_t row = first_candidate_[index]; row < first_candidate_[index + 1]; ++row) {
            const std::uint8_t* candidate = seen_.candidates[static_cast<std::size_t>(row)];
            shares_.push_back({load<std::uint16_t>(candidate), load<std::uint16_t>(candidate + 2), 0});
        }
        if (weighing_ == Weighing::EVENLY) share_out(shares_);
        for (const Share& share : shares_) moves_.push_back({share.move, 0, share.visits});
    }

    void add_position(const std::uint8_t* position) {
        std::uint64_t seen = 0;
        for (std::size_t result = 0; result < 3; ++result) {
            const auto games = load<std::uint32_t>(position + POSITION_RESULTS + 4 * result);
            results_[result] += games;
            seen += games;
        }
        const auto value = load<std::uint64_t>(position + POSITION_VALUE);
        if (value / VALUE_ONE > seen) throw std::out_of_range("a position's values are more than it was seen");
        value_ += value;
        const std::uint64_t first = load<std::uint64_t>(position + POSITION_FIRST);
        const std::uint64_t count = load<std::uint32_t>(position + POSITION_MOVES);
        if (count > seen_.moves.count || first > seen_.moves.count - count)
            throw std::out_of_range("a position has moves that are not there");
        for (std::uint64_t row = first; row < first + count; ++row) {
            const std::uint8_t* move = seen_.moves[static_cast<std::size_t>(row)];
            moves_.push_back({load<std::uint16_t>(move), load<std::uint32_t>(move + MOVE_PLAYED), load<std::uint64_t>(move + MOVE_VISITS)});
        }
    }

    void append_moves(std::vector<std::uint8_t>& out) {
        if (moves_.size() > 1) std::sort(moves_.begin(), moves_.end(), [](const MoveSum& a, const MoveSum& b) { return a.move < b.move; });
        for (std::size_t begin = 0, end; begin < moves_.size(); begin = end) {
            MoveSum total = moves_[begin];
            for (end = begin + 1; end < moves_.size() && moves_[end].move == total.move; ++end) {
                total.played += moves_[end].played;
                total.visits += moves_[end].visits;
            }
            std::uint8_t* row = append(out, MOVE_BYTES);
            store<std::uint32_t>(row, total.move);
            store(row + MOVE_PLAYED, narrow(total.played));
            store(row + MOVE_VISITS, total.visits);
        }
    }

    const Seen& seen_;
    Weighing weighing_;
    std::vector<std::uint64_t> first_candidate_;
    std::array<std::uint64_t, 3> results_{};  // draws, Black's wins, White's wins
    std::uint64_t value_ = 0;
    std::vector<Share> shares_;
    std::vector<MoveSum> moves_;
};

}  // namespace

std::vector<std::uint8_t> first_records(RowView records, bool by_all_fields, unsigned hash_bits) {
    std::vector<const std::uint8_t*> keys;
    keys.reserve(records.count);
    add_keys(keys, records);
    const Groups groups = group_keys(keys, hash_bits);
    std::vector<std::uint8_t> out;
    out.reserve(records.count * RECORD_BYTES);
    std::vector<Tail> tails;
    const auto emit = [&](std::uint32_t index) { std::memcpy(append(out, RECORD_BYTES), records[index], RECORD_BYTES); };
    groups.for_each(keys, [&](std::span<const std::uint32_t> members) {
        if (members.size() == 1) return emit(members[0]);
        tails.clear();
        for (const std::uint32_t index : members) tails.push_back({tail_of(records[index], by_all_fields), index});
        sort_tails(tails);
        for (std::size_t i = 0; i < tails.size(); ++i)
            if (i == 0 || tails[i].value != tails[i - 1].value) emit(tails[i].index);
    });
    return out;
}

bool are_possible(RowView records) {
    constexpr std::uint16_t LAST_MOVE = 0x4000 + 80 + 80 * 128;  // 9i9i with promotion
    bool good = true;                                            // without a way out of the loop, several rows are looked at together
    for (std::size_t row = 0; row < records.count; ++row) {
        const auto move = load<std::uint16_t>(records[row] + MOVE);
        good &= (move != 0) & (move <= LAST_MOVE) & (records[row][RESULT] <= 2);
    }
    return good;
}

std::vector<std::uint8_t> sum_records(RowView records, RowView sums, unsigned hash_bits) {
    std::vector<std::uint8_t> out;
    out.reserve((records.count + sums.count) * SUM_BYTES);
    for_each_sum(records, sums, hash_bits,
                 [&](const std::uint8_t* key, std::uint64_t move, const Sum& sum) { append_sum(out, key, move, sum); });
    return out;
}

std::vector<std::uint8_t> merge_records(RowView records, RowView sums, Merge by, unsigned hash_bits) {
    std::vector<std::uint8_t> out;
    out.reserve((records.count + sums.count) * RECORD_BYTES);
    for_each_sum(records, sums, hash_bits, [&](const std::uint8_t* key, std::uint64_t move, const Sum& sum) {
        std::uint8_t* row = append(out, RECORD_BYTES);
        std::memcpy(row, key, KEY_BYTES);
        store(row + EVAL, static_cast<std::int16_t>(sum.eval / static_cast<std::int64_t>(sum.count())));
        store(row + MOVE, static_cast<std::uint16_t>(move));
        row[RESULT] = by == Merge::MEAN ? mean_result(sum) : most_frequent_result(sum);
    });
    return out;
}

Averages average_rows(const Seen& seen, Weighing weighing, unsigned hash_bits) {
    std::vector<const std::uint8_t*> keys;
    keys.reserve(seen.records.count + seen.sights.count + seen.positions.count);
    add_keys(keys, seen.records);
    add_keys(keys, seen.sights);
    add_keys(keys, seen.positions);
    Averager averager(seen, weighing);
    const Groups groups = group_keys(keys, hash_bits);
    Averages out;
    out.positions.reserve(groups.ends.size() * POSITION_BYTES);
    out.moves.reserve(groups.order.size() * MOVE_BYTES);
    groups.for_each(keys, [&](std::span<const std::uint32_t> members) {
        averager.begin();
        for (const std::uint32_t index : members) averager.add(index);
        averager.finish(keys[members[0]], out);
    });
    return out;
}

}  // namespace fukayomi
