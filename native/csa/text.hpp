// UTF-8 as Python sees it: by characters, and with all of Unicode's white space.
#pragma once

#include <string_view>
#include <vector>

namespace fukayomi {

// Without the white space at its end, or at both ends, as Python's str.rstrip and str.strip.
std::string_view strip_end(std::string_view text);
std::string_view strip(std::string_view text);

bool begins_with_space(std::string_view text);

// Its characters.
std::vector<std::string_view> characters(std::string_view text);

}  // namespace fukayomi
