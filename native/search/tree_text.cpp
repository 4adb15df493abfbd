// The whole tree as text, for tests: a line for each node that was visited or proven, below its parent's.
#include <cstdio>
#include <string>

#include "search/ranking.hpp"
#include "search/tree.hpp"
#include "shogi/usi_move.hpp"

namespace fukayomi {

namespace {

std::string line_of(const Node& node, const Child& entry, std::size_t depth) {
    static constexpr const char* RESULTS[] = {"", " win", " loss", " draw"};
    const double mean = node.visits > 0 ? node.value_sum / node.visits : 0.0;
    char numbers[64];
    std::snprintf(numbers, sizeof numbers, " %u %.4f %.4f", node.visits, mean, static_cast<double>(entry.prior));
    std::string line(depth, ' ');
    line += depth == 0 ? "root" : usi(Move(node.move));
    line += numbers;
    line += RESULTS[static_cast<std::size_t>(node.proof)];
    if (node.recurrence != Proof::NONE) line += " recurrence" + std::string(RESULTS[static_cast<std::size_t>(node.recurrence)]);
    if (node.proof == Proof::WIN || node.proof == Proof::LOSS) line += ' ' + std::to_string(node.distance);
    return line + '\n';
}

}  // namespace

void Tree::write(const Child& entry, std::size_t depth, std::string& text) const {
    const Node& node = nodes_[entry.node];
    if (!is_known(node)) return;
    text += line_of(node, entry, depth);
    if (node.children == NOWHERE) return;
    const Child* entries = children(entry.node).begin();
    for (std::size_t slot = 0; slot < node.child_count; ++slot) write(entries[slot], depth + 1, text);
}

std::string Tree::text() const {
    std::string text;
    write(root_, 0, text);
    return text;
}

}  // namespace fukayomi
