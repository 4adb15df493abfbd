// Memory for vectors: zeros that begin at a cache line.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>

namespace fukayomi {

template <class Number>
class Aligned {
  public:
    Aligned() = default;

    explicit Aligned(std::size_t count)
        : count_(count), memory_(static_cast<Number*>(::operator new(count * sizeof(Number), LINE))) {
        std::fill_n(memory_.get(), count, Number{0});
    }

    Number* data() { return memory_.get(); }
    const Number* data() const { return memory_.get(); }
    std::size_t size() const { return count_; }
    std::size_t bytes() const { return count_ * sizeof(Number); }

  private:
    static constexpr std::align_val_t LINE{64};

    struct Delete {
        void operator()(Number* memory) const { ::operator delete(memory, LINE); }
    };

    std::size_t count_ = 0;
    std::unique_ptr<Number, Delete> memory_;
};

using AlignedFloats = Aligned<float>;
using AlignedShorts = Aligned<std::int16_t>;

}  // namespace fukayomi
