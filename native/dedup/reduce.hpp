// Many rows of the same position become few. All sums are whole numbers, so neither the order of the rows nor how they
// are split into calls changes a byte. What comes out is in the order of (hash, key bytes, move).
//
// Byte layouts, little-endian; `docs/formats.md` has those that become files.
//   record     38  hcpe: hcp [32], eval int16, move uint16, result uint8 (0 draw, 1 Black, 2 White), one byte
//   sight      40  a position as one search saw it: a record, and how many candidates uint16
//   candidate   4  of a sight: move uint16, visits uint16
//   sum        72  hcp [32], move uint16, 6 bytes 0, draws, Black's and White's wins uint64 each, eval int64
// and the positions and moves of codec/averages.hpp.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "codec/averages.hpp"
#include "dedup/groups.hpp"

namespace fukayomi {

constexpr std::size_t RECORD_BYTES = 38;
constexpr std::size_t SIGHT_BYTES = 40;
constexpr std::size_t CANDIDATE_BYTES = 4;
constexpr std::size_t SUM_BYTES = 72;

// The first record of each (position, move), or, by all fields, of each kind of record.
std::vector<std::uint8_t> first_records(RowView records, bool by_all_fields, unsigned hash_bits);

// Whether all results and moves can be; the positions are checked where they are decoded.
bool are_possible(RowView records);

// The sums of each (position, move), from records and sums of other records.
// Throws std::out_of_range for a record whose result is none.
std::vector<std::uint8_t> sum_records(RowView records, RowView sums, unsigned hash_bits);

// One record of each (position, move), from records and sums of other records: the mean evaluation, cut towards 0, and
// MEAN: the mean of the results' numbers, of which 1.5 and more is White, above 0 is Black;
// MODE: the most frequent result, a draw where two are equally frequent.
enum class Merge { MEAN, MODE };
std::vector<std::uint8_t> merge_records(RowView records, RowView sums, Merge by, unsigned hash_bits);

// Positions with all that was seen of them: `first move` counts from 0 in `moves`.
struct Averages {
    std::vector<std::uint8_t> positions;
    std::vector<std::uint8_t> moves;
};

// What is to be averaged. A record is one visit of its move; a sight's move was played, its candidates have visits.
struct Seen {
    RowView records;
    RowView sights;
    RowView candidates;  // of all sights, in their order
    RowView positions;
    RowView moves;  // which the positions refer to
};
// How much a record or a sight says about moves: as many visits as it has, or EVEN_VISITS, dealt out by its visits.
enum class Weighing { BY_VISITS, EVENLY };
// Positions that were added up before stay as they are. Throws std::out_of_range where a count passes its field, or rows
// refer to others that are not there.
Averages average_rows(const Seen& seen, Weighing weighing, unsigned hash_bits);

}  // namespace fukayomi
