// NumPy arrays in and out.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <cstring>
#include <initializer_list>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace fukayomi {

namespace nb = nanobind;

// Whole rows in one piece of memory; nothing is converted or copied on the way in.
template <class T, nb::ssize_t... COLUMNS>
using Rows = nb::ndarray<T, nb::numpy, nb::shape<-1, COLUMNS...>, nb::c_contig, nb::device::cpu>;

template <class First, class... Others>
std::size_t common_rows(const First& first, const Others&... others) {
    const std::size_t n = first.shape(0);
    const auto check = [n](std::size_t rows) {
        if (rows != n)
            throw std::invalid_argument("the arrays differ in their number of rows: " + std::to_string(n) + " and " + std::to_string(rows));
    };
    (check(others.shape(0)), ...);
    return n;
}

// A new array that owns the values.
template <class T, nb::ssize_t... COLUMNS>
nb::ndarray<T, nb::numpy, nb::shape<-1, COLUMNS...>> owned_array(std::vector<T>&& values) {
    const std::size_t rows = values.size() / (1 * ... * COLUMNS);
    auto kept = std::make_unique<std::vector<T>>(std::move(values));
    nb::capsule owner(kept.get(), [](void* p) noexcept { delete static_cast<std::vector<T>*>(p); });
    return {kept.release()->data(), {rows, static_cast<std::size_t>(COLUMNS)...}, owner};
}

// A new array that owns a copy of the values.
template <class T, class Shape>
nb::ndarray<T, nb::numpy, Shape> new_array(const T* values, std::size_t count, std::initializer_list<std::size_t> shape) {
    auto copy = std::make_unique<T[]>(count);
    if (count > 0) std::memcpy(copy.get(), values, count * sizeof(T));
    nb::capsule owner(copy.get(), [](void* p) noexcept { delete[] static_cast<T*>(p); });
    return nb::ndarray<T, nb::numpy, Shape>(copy.release(), shape, owner);
}

}  // namespace fukayomi
