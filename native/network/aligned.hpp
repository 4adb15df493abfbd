// Memory for vectors: zeros that begin at a cache line. Much of it lies in large pages where the system has them.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>

namespace fukayomi {

// Asks the system for pages of 2 MB, before the memory is used. It may have none.
void prefer_large_pages(void* memory, std::size_t bytes);

template <class Number>
class Aligned {
  public:
    Aligned() = default;

    explicit Aligned(std::size_t count)
        : count_(count), memory_(static_cast<Number*>(::operator new(bytes(), alignment(bytes()))), Delete{alignment(bytes())}) {
        if (bytes() >= LARGE) prefer_large_pages(memory_.get(), bytes());
        std::fill_n(memory_.get(), count, Number{0});
    }

    Number* data() { return memory_.get(); }
    const Number* data() const { return memory_.get(); }
    std::size_t size() const { return count_; }
    std::size_t bytes() const { return count_ * sizeof(Number); }

  private:
    static constexpr std::size_t LINE = 64, PAGE = std::size_t{2} << 20, LARGE = 2 * PAGE;
    static constexpr std::align_val_t alignment(std::size_t bytes) { return std::align_val_t{bytes >= LARGE ? PAGE : LINE}; }

    struct Delete {
        std::align_val_t alignment{LINE};
        void operator()(Number* memory) const { ::operator delete(memory, alignment); }
    };

    std::size_t count_ = 0;
    std::unique_ptr<Number, Delete> memory_;
};

using AlignedFloats = Aligned<float>;
using AlignedShorts = Aligned<std::int16_t>;

}  // namespace fukayomi
