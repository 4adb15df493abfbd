// Memory for vectors: zeros that begin at a cache line.
#pragma once

#include <algorithm>
#include <cstddef>
#include <memory>
#include <new>

namespace fukayomi {

class AlignedFloats {
  public:
    AlignedFloats() = default;

    explicit AlignedFloats(std::size_t count)
        : count_(count), memory_(static_cast<float*>(::operator new(count * sizeof(float), LINE))) {
        std::fill_n(memory_.get(), count, 0.0f);
    }

    float* data() { return memory_.get(); }
    const float* data() const { return memory_.get(); }
    std::size_t size() const { return count_; }
    std::size_t bytes() const { return count_ * sizeof(float); }

  private:
    static constexpr std::align_val_t LINE{64};

    struct Delete {
        void operator()(float* memory) const { ::operator delete(memory, LINE); }
    };

    std::size_t count_ = 0;
    std::unique_ptr<float, Delete> memory_;
};

}  // namespace fukayomi
