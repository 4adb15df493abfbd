#include "sparse/batch.hpp"

#include <array>
#include <utility>

#include "shogi/movegen.hpp"
#include "sparse/share_out.hpp"

namespace fukayomi {

namespace {

constexpr std::size_t PART = 256;  // positions that one thread reads at a time
constexpr std::size_t USUAL_ROWS = 256, USUAL_MOVES = 128;  // of a position; more are no error

class PartReader {
public:
    SparseBatch read(const SparsePositions& all, std::size_t first, std::size_t last) {
        SparseBatch part;
        part.row_offsets.push_back(0);
        part.move_offsets.push_back(0);
        part.rows.reserve((last - first) * USUAL_ROWS);
        part.labels.reserve((last - first) * USUAL_MOVES);
        part.groups.reserve((last - first) * USUAL_MOVES * MOVE_GROUPS);
        part.policy.reserve((last - first) * USUAL_MOVES);
        for (std::size_t n = first; n < last; ++n) add(all, n, part);
        return part;
    }

private:
    void add(const SparsePositions& all, std::size_t n, SparseBatch& part) {
        const Board pos = decode_hcp(HcpView(all.hcps.data() + n * HCP_BYTES, HCP_BYTES));
        reader_.read(pos);
        part.rows.insert(part.rows.end(), rows_.begin(), rows_.begin() + static_cast<std::ptrdiff_t>(reader_.rows(rows_)));
        part.row_offsets.push_back(static_cast<std::int64_t>(part.rows.size()));
        MoveList moves;
        if (pos.is_check())
            generate_legal(pos, moves);
        else
            generate_useful(pos, moves);
        for (const Move m : moves) {
            const MoveFeatures found = reader_.move(m);
            part.labels.push_back(found.label);
            part.groups.insert(part.groups.end(), found.rows.begin(), found.rows.end());
        }
        part.move_offsets.push_back(static_cast<std::int64_t>(part.labels.size()));
        add_policy(all, n, moves, part);
    }

    static void add_policy(const SparsePositions& all, std::size_t n, const MoveList& moves, SparseBatch& part) {
        const std::size_t start = part.policy.size();
        part.policy.resize(start + moves.size());
        float sum = 0.0F;
        for (auto c = static_cast<std::size_t>(all.offsets[n]); c < static_cast<std::size_t>(all.offsets[n + 1]); ++c) {
            const Move played(all.moves[c]), promoted(static_cast<std::uint16_t>(all.moves[c] | 1 << 14));
            for (const Move wanted : {played, promoted}) {
                std::size_t i = 0;
                while (i < moves.size() && !(moves[i] == wanted)) ++i;
                if (i == moves.size()) continue;
                part.policy[start + i] += all.visits[c];
                sum += all.visits[c];
                break;
            }
        }
        if (sum > 0.0F)
            for (std::size_t i = start; i < part.policy.size(); ++i) part.policy[i] /= sum;
    }

    SparseReader reader_;
    std::array<std::uint16_t, MAX_SPARSE_ROWS> rows_;
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

}  // namespace

SparseBatch read_sparse_batch(const SparsePositions& positions, std::size_t threads) {
    const std::size_t count = positions.hcps.size() / HCP_BYTES;
    std::vector<SparseBatch> parts((count + PART - 1) / PART);
    share_out(parts.size(), threads, [&](std::size_t part) {
        PartReader reader;
        parts[part] = reader.read(positions, part * PART, std::min(count, (part + 1) * PART));
    });
    SparseBatch batch;
    batch.row_offsets.push_back(0);
    batch.move_offsets.push_back(0);
    for (const SparseBatch& part : parts) {
        append_offsets(batch.row_offsets, part.row_offsets);
        append_offsets(batch.move_offsets, part.move_offsets);
    }
    join(parts, &SparseBatch::rows, batch.rows);
    join(parts, &SparseBatch::labels, batch.labels);
    join(parts, &SparseBatch::groups, batch.groups);
    join(parts, &SparseBatch::policy, batch.policy);
    return batch;
}

}  // namespace fukayomi
