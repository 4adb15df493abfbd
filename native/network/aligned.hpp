// Memory for vectors: zeros that begin at a cache line. A large piece lies in large pages where the system has them, since rows from all
// over it would otherwise often wait for the address of their page.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>

#if defined(__linux__)
#include <sys/mman.h>
#endif

namespace fukayomi {

template <class Number>
class Aligned {
  public:
    Aligned() = default;

    explicit Aligned(std::size_t count) : count_(count), memory_(allocate(count * sizeof(Number)), Delete{alignment(count * sizeof(Number))}) {
        std::fill_n(memory_.get(), count, Number{0});
    }

    Number* data() { return memory_.get(); }
    const Number* data() const { return memory_.get(); }
    std::size_t size() const { return count_; }
    std::size_t bytes() const { return count_ * sizeof(Number); }

  private:
    static constexpr std::size_t LINE = 64, LARGE_PAGE = std::size_t{1} << 21, LARGE = 4 * LARGE_PAGE;

    struct Delete {
        std::align_val_t alignment{LINE};
        void operator()(Number* memory) const { ::operator delete(memory, alignment); }
    };

    static std::align_val_t alignment(std::size_t bytes) { return std::align_val_t{bytes < LARGE ? LINE : LARGE_PAGE}; }
    static Number* allocate(std::size_t bytes) {
        void* const memory = ::operator new(bytes, alignment(bytes));
#if defined(MADV_HUGEPAGE)
        if (bytes >= LARGE) madvise(memory, bytes / LARGE_PAGE * LARGE_PAGE, MADV_HUGEPAGE);  // a wish; the memory is good without it
#endif
        return static_cast<Number*>(memory);
    }

    std::size_t count_ = 0;
    std::unique_ptr<Number, Delete> memory_;
};

using AlignedFloats = Aligned<float>;
using AlignedShorts = Aligned<std::int16_t>;

}  // namespace fukayomi
