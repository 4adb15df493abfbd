#include "sparse/recycled.hpp"

#include <algorithm>
#include <cstdint>
#include <mutex>
#include <new>
#include <vector>

namespace fukayomi {
namespace {

constexpr std::size_t MOST_FREE = 16;  // arrays that are kept
constexpr std::align_val_t ALIGNMENT{64};

struct Free {
    float* data;
    std::size_t capacity;
};

void release(float* data) { ::operator delete[](data, ALIGNMENT); }

class FreeList {
  public:
    // nullptr: there is none of about this size.
    Free take(std::size_t count) {
        const std::lock_guard lock(mutex_);
        const auto found = std::find_if(free_.begin(), free_.end(),
                                        [&](const Free& one) { return count <= one.capacity && one.capacity - count <= count / 2; });
        if (found == free_.end()) return {nullptr, 0};
        const Free taken = *found;
        free_.erase(found);
        return taken;
    }
    void give_back(const Free& one) {
        Free oldest{nullptr, 0};
        {
            const std::lock_guard lock(mutex_);
            free_.push_back(one);
            if (free_.size() > MOST_FREE) {
                oldest = free_.front();
                free_.erase(free_.begin());
            }
        }
        if (oldest.data != nullptr) release(oldest.data);
    }

  private:
    std::mutex mutex_;
    std::vector<Free> free_ = [] {
        std::vector<Free> none;
        none.reserve(MOST_FREE + 1);
        return none;
    }();
};

FreeList& free_list() {
    static FreeList& list = *new FreeList;  // never destroyed: arrays of Python may outlive it
    return list;
}

}  // namespace

Recycled::Recycled(std::size_t count) {
    const Free found = free_list().take(count);
    data_ = found.data;
    capacity_ = found.capacity;
    if (data_ != nullptr) return;
    if (count > SIZE_MAX / sizeof(float)) throw std::bad_array_new_length();
    data_ = static_cast<float*>(::operator new[](std::max<std::size_t>(1, count) * sizeof(float), ALIGNMENT));
    capacity_ = count;
}

Recycled::~Recycled() { free_list().give_back({data_, capacity_}); }

}  // namespace fukayomi
