// Bringing rows of the same position together. The functions take arrays of whole rows as bytes, check their shapes, and
// release the GIL.
#include <nanobind/nanobind.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/tuple.h>

#include <cstdint>
#include <span>
#include <stdexcept>
#include <tuple>
#include <utility>
#include <vector>

#include "arrays.hpp"
#include "bindings.hpp"
#include "dedup/groups.hpp"
#include "dedup/key_set.hpp"
#include "dedup/reduce.hpp"
#include "unlocked.hpp"

namespace nb = nanobind;
using namespace nb::literals;
using namespace fukayomi;

namespace {

template <nb::ssize_t WIDTH>
using RowArray = nb::ndarray<const std::uint8_t, nb::numpy, nb::shape<-1, WIDTH>, nb::c_contig, nb::device::cpu>;
template <nb::ssize_t WIDTH>
using OutArray = nb::ndarray<std::uint8_t, nb::numpy, nb::shape<-1, WIDTH>>;
using Target = nb::ndarray<std::uint8_t, nb::numpy, nb::shape<-1, -1>, nb::c_contig, nb::device::cpu>;
template <class T>
using OutColumn = nb::ndarray<T, nb::numpy, nb::shape<-1>>;

template <nb::ssize_t WIDTH>
RowView rows_of(const RowArray<WIDTH>& array) {
    return {array.data(), array.shape(0), array.shape(1)};
}

// Runs without the GIL; what does not fit is Python's ValueError.
template <class Run>
auto without_gil(Run run) {
    try {
        const Unlocked release;
        return run();
    } catch (const std::out_of_range& e) {
        throw std::invalid_argument(e.what());
    }
}

void check_bits(unsigned bits, unsigned most) {
    if (bits > most) throw std::invalid_argument("at most " + std::to_string(most) + " bits, not " + std::to_string(bits));
}

OutColumn<std::uint64_t> key_hashes(const RowArray<-1>& rows, unsigned hash_bits) {
    check_bits(hash_bits, HASH_BITS);
    if (rows.shape(1) < KEY_BYTES) throw std::invalid_argument("a row is at least the 32 bytes of its key");
    std::vector<std::uint64_t> hashes(rows.shape(0));
    for (std::size_t row = 0; row < hashes.size(); ++row) hashes[row] = hash_key(rows_of(rows)[row], hash_bits);
    return owned_array(std::move(hashes));
}

std::pair<OutColumn<std::uint32_t>, OutColumn<std::uint64_t>> bucket(const RowArray<-1>& rows, unsigned bucket_bits, unsigned hash_bits) {
    if (rows.shape(1) < KEY_BYTES) throw std::invalid_argument("a row is at least the 32 bytes of its key");
    check_bits(bucket_bits, 16);
    check_bits(hash_bits, HASH_BITS);
    Buckets found = without_gil([&] { return bucket_rows(rows_of(rows), bucket_bits, hash_bits); });
    return {owned_array(std::move(found.order)), owned_array(std::move(found.counts))};
}

OutColumn<std::uint64_t> spread(const RowArray<-1>& rows, const Target& out, unsigned bucket_bits, unsigned hash_bits) {
    if (rows.shape(1) < KEY_BYTES) throw std::invalid_argument("a row is at least the 32 bytes of its key");
    if (out.shape(0) < rows.shape(0) || out.shape(1) != rows.shape(1)) throw std::invalid_argument("the rows do not fit");
    check_bits(bucket_bits, 16);
    check_bits(hash_bits, HASH_BITS);
    return owned_array(without_gil([&] { return spread_rows(rows_of(rows), bucket_bits, hash_bits, out.data()); }));
}

bool possible(const RowArray<RECORD_BYTES>& records) {
    return without_gil([&] { return are_possible(rows_of(records)); });
}

OutArray<RECORD_BYTES> first(const RowArray<RECORD_BYTES>& records, bool by_all_fields, unsigned hash_bits) {
    check_bits(hash_bits, HASH_BITS);
    return owned_array<std::uint8_t, RECORD_BYTES>(without_gil([&] { return first_records(rows_of(records), by_all_fields, hash_bits); }));
}

OutArray<SUM_BYTES> sums(const RowArray<RECORD_BYTES>& records, const RowArray<SUM_BYTES>& before, unsigned hash_bits) {
    check_bits(hash_bits, HASH_BITS);
    return owned_array<std::uint8_t, SUM_BYTES>(without_gil([&] { return sum_records(rows_of(records), rows_of(before), hash_bits); }));
}

OutArray<RECORD_BYTES> merged(const RowArray<RECORD_BYTES>& records, const RowArray<SUM_BYTES>& before, bool by_mode, unsigned hash_bits) {
    check_bits(hash_bits, HASH_BITS);
    return owned_array<std::uint8_t, RECORD_BYTES>(
        without_gil([&] { return merge_records(rows_of(records), rows_of(before), by_mode ? Merge::MODE : Merge::MEAN, hash_bits); }));
}

std::pair<OutArray<POSITION_BYTES>, OutArray<MOVE_BYTES>> averages(const RowArray<RECORD_BYTES>& records,
                                                                   const RowArray<SIGHT_BYTES>& sights,
                                                                   const RowArray<CANDIDATE_BYTES>& candidates,
                                                                   const RowArray<POSITION_BYTES>& positions,
                                                                   const RowArray<MOVE_BYTES>& moves, bool evenly, unsigned hash_bits) {
    check_bits(hash_bits, HASH_BITS);
    const Seen seen{rows_of(records), rows_of(sights), rows_of(candidates), rows_of(positions), rows_of(moves)};
    const Weighing weighing = evenly ? Weighing::EVENLY : Weighing::BY_VISITS;
    Averages found = without_gil([&] { return average_rows(seen, weighing, hash_bits); });
    return {owned_array<std::uint8_t, POSITION_BYTES>(std::move(found.positions)),
            owned_array<std::uint8_t, MOVE_BYTES>(std::move(found.moves))};
}

}  // namespace

void bind_dedup(nb::module_& m) {
    m.def("hash_keys", &key_hashes, "rows"_a.noconvert(), "hash_bits"_a = HASH_BITS,
          "The hash of the 32 bytes that each row begins with: uint8 [N, at least 32] to uint64 [N].");
    m.def("bucket_rows", &bucket, "rows"_a.noconvert(), "bucket_bits"_a, "hash_bits"_a = HASH_BITS,
          "Sort rows into buckets by the highest bits of the hash of their first 32 bytes.\n\n"
          "Args:\n    rows: uint8 [N, at least 32].\n    bucket_bits: There are 2 to the power of so many; at most 16.\n"
          "    hash_bits: How much of the hash counts; less than 64 in tests only.\n\n"
          "Returns:\n    The rows' numbers, bucket after bucket, in a bucket in their own order: uint32 [N];\n"
          "    and how many rows each bucket has: uint64 [buckets].");
    m.def("spread_rows", &spread, "rows"_a.noconvert(), "out"_a.noconvert(), "bucket_bits"_a, "hash_bits"_a = HASH_BITS,
          "Put rows, uint8 [N, at least 32], into `out`, uint8 [at least N, the same], in the order of `bucket_rows`.\n\n"
          "Returns:\n    How many rows each bucket has: uint64 [buckets].");
    m.def("are_possible", &possible, "records"_a.noconvert(), "Whether results and moves of hcpe records, uint8 [N, 38], can be.");
    m.def("first_records", &first, "records"_a.noconvert(), "by_all_fields"_a, "hash_bits"_a = HASH_BITS,
          "The first hcpe record of each position and move, or of each kind of record: uint8 [N, 38] to [G, 38].");
    m.def("sum_records", &sums, "records"_a.noconvert(), "sums"_a.noconvert(), "hash_bits"_a = HASH_BITS,
          "Add up hcpe records, uint8 [N, 38], by position and move, with sums made before, uint8 [S, 72]: uint8 [G, 72].\n\n"
          "Raises:\n    ValueError: A result is none.");
    m.def("merge_records", &merged, "records"_a.noconvert(), "sums"_a.noconvert(), "by_mode"_a, "hash_bits"_a = HASH_BITS,
          "One hcpe record of each position and move, from records and sums made before: uint8 [G, 38].\n\n"
          "Evaluations are averaged and cut towards 0. The result is the mean of the results' numbers, 1.5 and more White\n"
          "and above 0 Black; `by_mode` the most frequent one, a draw where two are equally frequent.\n\n"
          "Raises:\n    ValueError: A result is none.");
    m.def("average_rows", &averages, "records"_a.noconvert(), "sights"_a.noconvert(), "candidates"_a.noconvert(), "positions"_a.noconvert(),
          "moves"_a.noconvert(), "evenly"_a, "hash_bits"_a = HASH_BITS,
          "Add up all that was seen of each position.\n\n"
          "Args:\n    records: uint8 [N, 38], hcpe; each is one visit of its move.\n"
          "    sights: uint8 [S, 40], hcpe and the number of candidates of a search.\n"
          "    candidates: uint8 [C, 4], move and visits, of all sights.\n"
          "    positions: uint8 [P, 64], added up before.\n    moves: uint8 [M, 16], theirs.\n"
          "    evenly: Whether the visits of each record, and of each sight, are made to add up to 2^32.\n\n"
          "Returns:\n    Positions, uint8 [G, 64], and their moves, uint8 [H, 16], as `fukayomi.data.formats.averages` has them.\n\n"
          "Raises:\n    ValueError: A count is greater than its field, or rows that are referred to are not there.");
    // It keeps the GIL: what several threads did at once would damage the set, and an addition takes some hundred nanoseconds.
    nb::class_<KeySet>(
        m, "KeySet",
        "The positions that have been seen, by 64 bits of each: a set that only grows, up to a fixed number.\n\n"
        "Two positions whose 64 bits are equal count as one: among a hundred million that happens with a chance of 1 in 3 700.")
        .def(nb::init<std::size_t>(), "capacity"_a,
             "Args:\n    capacity: Maximum number of positions; each takes 11 bytes of memory.\n\n"
             "Raises:\n    MemoryError: There is not so much memory.\n    ValueError: The number is too large.")
        .def(
            "add_new",
            [](KeySet& set, const nb::bytes& games) {
                std::size_t count = 0;
                const std::vector<std::uint8_t> found =
                    add_new_positions(set, std::span(static_cast<const std::uint8_t*>(games.data()), games.size()), count);
                return std::tuple(nb::bytes(found.data(), found.size()), count);
            },
            "games"_a,
            "Add the positions of games of one move.\n\nArgs:\n    games: hcpe3.\n\n"
            "Returns:\n    The games whose positions were not in the set, the first of each, in their order; and their number.\n\n"
            "Raises:\n    ValueError: The bytes are not games of one move, and nothing was added; or the set is full.")
        .def("__len__", &KeySet::size)
        .def_prop_ro("capacity", &KeySet::capacity, "Maximum number of positions.");
}
