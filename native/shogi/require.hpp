// Checks of arguments, with one form of message.
#pragma once

#include <stdexcept>
#include <string>
#include <type_traits>

namespace fukayomi {

// Throws std::invalid_argument unless least <= value <= most. NaN fails.
template <class T>
void require_between(const char* name, T value, std::type_identity_t<T> least, std::type_identity_t<T> most) {
    if (value >= least && value <= most) return;
    throw std::invalid_argument(std::string(name) + " is " + std::to_string(value) + "; it must be between " + std::to_string(least) +
                                " and " + std::to_string(most));
}

}  // namespace fukayomi
