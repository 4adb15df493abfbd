#include "sparse/batch.hpp"

#include <algorithm>
#include <array>
#include <string>
#include <utility>

#include "encode/labels.hpp"
#include "encode/planes.hpp"
#include "shogi/errors.hpp"
#include "shogi/movegen.hpp"
#include "sparse/share_out.hpp"

namespace fukayomi {

namespace {

constexpr std::size_t PART = 256;                           // positions that one thread reads at a time
constexpr std::size_t USUAL_ROWS = 256, USUAL_MOVES = 128;  // of a position; more are no error

// Reads positions one after another.
class PartReader {
  public:
    explicit PartReader(std::size_t count) {
        part_.row_offsets.push_back(0);
        part_.move_offsets.push_back(0);
        part_.rows.reserve(count * USUAL_ROWS);
        part_.labels.reserve(count * USUAL_MOVES);
        part_.groups.reserve(count * USUAL_MOVES * MOVE_GROUPS);
        part_.policy.reserve(count * USUAL_MOVES);
    }

    void add(const SparsePositions& all, std::size_t n) {
        const Board pos = decode_hcp(HcpView(all.hcps.data() + n * HCP_BYTES, HCP_BYTES));
        reader_.read(pos);
        add_rows();
        add_moves(pos);
        for (auto c = static_cast<std::size_t>(all.offsets[n]); c < static_cast<std::size_t>(all.offsets[n + 1]); ++c) {
            const Move played(all.moves[c]), promoted(static_cast<std::uint16_t>(all.moves[c] | 1 << 14));
            for (const Move wanted : {played, promoted}) {
                const auto found = std::find(moves_.begin(), moves_.end(), wanted);
                if (found == moves_.end()) continue;
                part_.policy[first_move_ + static_cast<std::size_t>(found - moves_.begin())] += all.visits[c];
                break;
            }
        }
        divide_by_sum();
    }

    void add(const SparsePlanes& all, std::size_t n) {
        const PieceSets sets = decode_packed(all.planes1.subspan(n * PACKED1_BYTES).first<PACKED1_BYTES>(),
                                             all.planes2.subspan(n * PACKED2_BYTES).first<PACKED2_BYTES>());
        reader_.read(sets);
        add_rows();
        const Board pos = board_of(sets);  // which throws if the rules do not allow it
        if (!all.has_moves) {
            part_.move_offsets.push_back(0);
            return;
        }
        add_moves(pos);
        const std::int32_t row = static_cast<std::int32_t>(n) * POLICY_LABELS;
        for (std::size_t i = 0; i < moves_.size(); ++i) {
            const std::uint16_t label = policy_label(BLACK, moves_[i]);
            part_.places.push_back(row + label);
            numbers_[label] = static_cast<std::int16_t>(i);
        }
        const std::int16_t played = all.labels[n] == NO_POLICY_LABEL ? NONE : number_of(all.labels[n]);
        part_.played.push_back(played == NONE ? NONE : static_cast<std::int64_t>(first_move_) + played);
        auto c = std::lower_bound(all.places.begin(), all.places.end(), row) - all.places.begin();
        for (; c < std::ssize(all.places) && all.places[static_cast<std::size_t>(c)] < row + POLICY_LABELS; ++c) {
            const std::int16_t number = number_of(all.places[static_cast<std::size_t>(c)] - row);
            if (number != NONE) part_.policy[first_move_ + static_cast<std::size_t>(number)] += all.weights[static_cast<std::size_t>(c)];
        }
        divide_by_sum();
        for (const Move m : moves_) numbers_[policy_label(BLACK, m)] = NONE;
    }

    SparseBatch part() { return std::move(part_); }

  private:
    static constexpr std::int16_t NONE = -1;
    static constexpr int PROMOTIONS = 10 * SQUARES;  // labels of promotions come after the same moves without

    static Board board_of(const PieceSets& sets) {
        Board pos = Board::empty();
        for (std::uint8_t p = 1; p < sets.pieces.size(); ++p) sets.pieces[p].for_each([&](Square s) { pos.put(static_cast<Piece>(p), s); });
        for (const Color c : {BLACK, WHITE})
            for (const PieceType t : HAND_ORDER) pos.set_hand(c, t, sets.hands[c].count(t));
        pos.finish(true);
        return pos;
    }

    void add_rows() {
        part_.rows.insert(part_.rows.end(), rows_.begin(), rows_.begin() + static_cast<std::ptrdiff_t>(reader_.rows(rows_)));
        part_.row_offsets.push_back(static_cast<std::int64_t>(part_.rows.size()));
    }

    // The moves of the position with their features; no policy.
    void add_moves(const Board& pos) {
        moves_ = MoveList();
        if (pos.is_check())
            generate_legal(pos, moves_);
        else
            generate_useful(pos, moves_);
        first_move_ = part_.labels.size();
        features_.resize(moves_.size());
        reader_.moves({moves_.begin(), moves_.size()}, features_.data());
        for (const MoveFeatures& found : features_) {
            part_.labels.push_back(found.label);
            part_.groups.insert(part_.groups.end(), found.rows.begin(), found.rows.end());
        }
        part_.move_offsets.push_back(static_cast<std::int64_t>(part_.labels.size()));
        part_.policy.resize(part_.labels.size());
    }

    std::int16_t number_of(int label) const {
        const std::int16_t number = numbers_[static_cast<std::size_t>(label)];
        return number == NONE && label < PROMOTIONS ? numbers_[static_cast<std::size_t>(label + PROMOTIONS)] : number;
    }

    void divide_by_sum() {
        float sum = 0.0F;
        for (std::size_t i = first_move_; i < part_.policy.size(); ++i) sum += part_.policy[i];
        if (sum > 0.0F)
            for (std::size_t i = first_move_; i < part_.policy.size(); ++i) part_.policy[i] /= sum;
    }

    SparseBatch part_;
    SparseReader reader_;
    std::array<std::uint16_t, MAX_SPARSE_ROWS> rows_;
    MoveList moves_;                                         // of the position
    std::vector<MoveFeatures> features_;                     // of the moves
    std::size_t first_move_ = 0;                             // its place in the part
    std::array<std::int16_t, POLICY_LABELS> numbers_ = [] {  // of the position's moves, by label
        std::array<std::int16_t, POLICY_LABELS> none;
        none.fill(NONE);
        return none;
    }();
};

// All parts of one kind, one after another.
template <class T>
void join(const std::vector<SparseBatch>& parts, std::vector<T> SparseBatch::* kind, std::vector<T>& to) {
    std::size_t total = 0;
    for (const SparseBatch& part : parts) total += (part.*kind).size();
    to.reserve(total);
    for (const SparseBatch& part : parts) to.insert(to.end(), (part.*kind).begin(), (part.*kind).end());
}

void append_offsets(std::vector<std::int64_t>& to, const std::vector<std::int64_t>& from) {
    const std::int64_t base = to.back();
    for (std::size_t n = 1; n < from.size(); ++n) to.push_back(base + from[n]);
}

template <class Positions>
SparseBatch read_all(const Positions& positions, std::size_t count, std::size_t threads) {
    std::vector<SparseBatch> parts((count + PART - 1) / PART);
    share_out(parts.size(), threads, [&](std::size_t part) {
        const std::size_t first = part * PART, last = std::min(count, first + PART);
        PartReader reader(last - first);
        for (std::size_t n = first; n < last; ++n) {
            try {
                reader.add(positions, n);
            } catch (const ParseError& e) {
                throw ParseError(ParseError::Kind::PACKED, "position " + std::to_string(n) + ": " + e.what());
            }
        }
        parts[part] = reader.part();
    });
    SparseBatch batch;
    batch.row_offsets.push_back(0);
    batch.move_offsets.push_back(0);
    for (const SparseBatch& part : parts) {
        for (const std::int64_t played : part.played) batch.played.push_back(played < 0 ? played : played + batch.move_offsets.back());
        append_offsets(batch.row_offsets, part.row_offsets);
        append_offsets(batch.move_offsets, part.move_offsets);
    }
    join(parts, &SparseBatch::rows, batch.rows);
    join(parts, &SparseBatch::labels, batch.labels);
    join(parts, &SparseBatch::groups, batch.groups);
    join(parts, &SparseBatch::policy, batch.policy);
    join(parts, &SparseBatch::places, batch.places);
    return batch;
}

}  // namespace

SparseBatch read_sparse_batch(const SparsePositions& positions, std::size_t threads) {
    return read_all(positions, positions.hcps.size() / HCP_BYTES, threads);
}

SparseBatch read_sparse_planes(const SparsePlanes& positions, std::size_t threads) {
    return read_all(positions, positions.labels.size(), threads);
}

}  // namespace fukayomi
