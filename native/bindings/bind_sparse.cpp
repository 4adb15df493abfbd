// What sparse networks read.
#include <nanobind/nanobind.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/vector.h>

#include <vector>

#include "arrays.hpp"
#include "bindings.hpp"
#include "shogi/movegen.hpp"
#include "shogi/position.hpp"
#include "shogi/usi_move.hpp"
#include "sparse/features.hpp"

namespace nb = nanobind;
using namespace nb::literals;
using namespace fukayomi;

namespace {

using RowsArray = nb::ndarray<std::uint16_t, nb::numpy, nb::shape<-1>>;
using MoveRowsArray = nb::ndarray<std::uint16_t, nb::numpy, nb::shape<-1, MOVE_GROUPS>>;

RowsArray rows_of(const Position& position) {
    SparseReader reader;
    reader.read(position.board());
    std::array<std::uint16_t, MAX_SPARSE_ROWS> rows;
    const std::size_t count = reader.rows(rows);
    return new_array<std::uint16_t, nb::shape<-1>>(rows.data(), count, {count});
}

std::pair<RowsArray, MoveRowsArray> moves_of(const Position& position, const std::vector<Move>& moves) {
    SparseReader reader;
    reader.read(position.board());
    std::vector<std::uint16_t> labels, rows;
    for (const Move m : moves) {
        if (!position.board().is_legal(m)) throw nb::value_error(("illegal move " + usi(m)).c_str());
        const MoveFeatures found = reader.move(m);
        labels.push_back(found.label);
        rows.insert(rows.end(), found.rows.begin(), found.rows.end());
    }
    return {new_array<std::uint16_t, nb::shape<-1>>(labels.data(), labels.size(), {labels.size()}),
            new_array<std::uint16_t, nb::shape<-1, MOVE_GROUPS>>(rows.data(), rows.size(), {moves.size(), MOVE_GROUPS})};
}

}  // namespace

void bind_sparse(nb::module_& m) {
    m.attr("SPARSE_FEATURES_VERSION") = SPARSE_FEATURES_VERSION;
    m.attr("SPARSE_ROWS") = SPARSE_ROWS;
    m.attr("SPARSE_LABELS") = SPARSE_LABELS;
    m.attr("MOVE_ROWS") = MOVE_ROWS;
    m.def("sparse_rows", &rows_of, "position"_a,
          "The rows of a position that a sparse network adds up: uint16 [N], each below `SPARSE_ROWS`; one that occurs twice\n"
          "counts twice.");
    m.def("sparse_moves", &moves_of, "position"_a, "moves"_a,
          "The features of legal moves to a sparse network.\n\n"
          "Returns:\n"
          "    Labels, uint16 [M], each below `SPARSE_LABELS`; and the rows of the eight groups, uint16 [M, 8], each below\n"
          "    `MOVE_ROWS`.\n\n"
          "Raises:\n    ValueError: A move is not legal.");
}
