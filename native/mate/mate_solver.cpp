#include "mate/mate_solver.hpp"

#include <algorithm>
#include <stdexcept>

#include "mate/checks.hpp"
#include "mate/defences.hpp"
#include "mate/mate_one.hpp"
#include "shogi/movegen.hpp"
#include "shogi/require.hpp"
#include "shogi/zobrist.hpp"

namespace fukayomi {

namespace {

constexpr std::uint64_t NODES_BETWEEN_CLOCKS = 256;
constexpr double LEAST_SHARE = 0.001;                    // less is a sleep of minutes
constexpr std::uint64_t NODES_BETWEEN_SIGNALS = 65'536;  // none in a short search, where asking Python takes a share
constexpr std::uint64_t NODES_FOR_LINE = 10'000;         // beside those of the proof
// A check with few answers is tried first. Many are no worse than four: most fall to the same move. Measured on collections
// of problems, as were the shares below.
constexpr int MOST_DEFENCES = 4;
// How far beyond the second best move's number the best is searched, so that the search does not jump between them (1 + ε):
// a quarter of small numbers, up to a half of great ones. What is next to infinite is searched to the end.
constexpr std::uint32_t widened(std::uint32_t second) {
    return second < PN_LARGEST / 2 ? second + std::max(second / 4 + 2, second / 2) - 1 : PN_INFINITE;
}

// What is left of a limit of a sum for one of its parts.
constexpr std::uint32_t rest(std::uint32_t limit, std::uint32_t sum, std::uint32_t part) {
    return limit == PN_INFINITE || sum == PN_LARGEST ? limit : limit - (sum - part);
}

struct After {
    std::uint64_t board_key;
    Piece captured;
};

// The key of the board after a move, without playing it.
After after(const Board& pos, Move m) {
    const Color us = pos.turn();
    const auto to = static_cast<std::size_t>(m.to());
    std::uint64_t key = pos.board_key() ^ ZOBRIST.turn;
    if (m.is_drop()) return {key ^ ZOBRIST.piece[make_piece(us, m.dropped())][to], NO_PIECE};
    const Piece moved = pos.piece_on(m.from());
    const Piece captured = pos.piece_on(m.to());
    if (captured != NO_PIECE) key ^= ZOBRIST.piece[captured][to];
    key ^= ZOBRIST.piece[moved][static_cast<std::size_t>(m.from())];
    return {key ^ ZOBRIST.piece[m.is_promotion() ? moved | PROMOTED : moved][to], captured};
}

std::uint32_t add(std::uint32_t a, std::uint32_t b) { return std::min(a + b, PN_LARGEST); }

}  // namespace

// A node's numbers, and the child to go on with.
struct MateSolver::Sum {
    std::uint32_t pn = 0, dn = 0;
    std::size_t best = 0;                // index in children_
    std::uint32_t second = PN_INFINITE;  // the second least number of those that the best child has the least of
};

MateSolution MateSolver::solve(const Board& board, const MateLimits& limits) {
    if (board.king(~board.turn()) == NO_SQUARE) throw std::invalid_argument("there is no king to mate");
    require_between("plies", limits.plies, 0, MAX_PLIES);
    if (!(limits.share >= LEAST_SHARE && limits.share <= 1)) throw std::invalid_argument("share must be 0.001 to 1");
    limits_ = limits;
    began_ = std::chrono::steady_clock::now();
    slept_ = {};
    if (limits.time) deadline_ = began_ + *limits.time;
    board_ = board;
    attacker_ = board.turn();
    nodes_ = 0;
    end_.reset();
    is_line_left_ = false;
    table_.clear();

    const int most = limits.plies == 0 ? MAX_PLIES : limits.plies;
    int plies = prove(most % 2 == 1 ? most : most - 1);
    MateSolution solution;
    if (plies > 0) {
        for (int shorter = plies; limits.shortest && shorter > 1 && shorter != 0;) {
            shorter = prove(shorter - 2);
            if (shorter != 0) plies = shorter;
        }
        solution.nodes = nodes_;
        solution.reason = MateReason::NODES;
        solution.line = line(plies);
        if (!solution.line.empty()) solution.reason = MateReason::MATE;
    } else {
        solution.nodes = nodes_;
        solution.reason = end_.value_or(MateReason::NO_MATE);
    }
    return solution;
}

void MateSolver::stop() {
    {
        const std::lock_guard lock(mutex_);
        is_stopped_.store(true, std::memory_order_relaxed);
    }
    stopped_.notify_all();
}

// Most plies to a proven mate of the position on the board, in `left` plies at most; 0 if none is proven.
int MateSolver::prove(int left) {
    if (left < 1) return 0;
    const MateValue value = search(left);
    return value.is_proof() ? value.plies : 0;
}

// The value of the position on the board, with the attacker to move.
MateValue MateSolver::search(int left) {
    path_.clear();
    children_.clear();
    MateValue value;
    if (table_.look_up(board_.board_key(), board_.hand(attacker_), left, value) && value.is_final()) return value;
    if (value = first_value(left); value.is_final()) return value;
    return visit<true>(left, PN_INFINITE, PN_INFINITE).value;
}

bool MateSolver::is_over() {
    if (end_) return true;
    if (nodes_ >= limits_.nodes)
        end_ = MateReason::NODES;
    else if (is_line_left_)
        return false;
    else if (is_stopped_.load(std::memory_order_relaxed))
        end_ = MateReason::STOPPED;
    else if (limits_.interrupted && (nodes_ + 1) % NODES_BETWEEN_SIGNALS == 0 && limits_.interrupted())
        end_ = MateReason::STOPPED;
    else if (limits_.time && nodes_ % NODES_BETWEEN_CLOCKS == 0 && std::chrono::steady_clock::now() >= deadline_)
        end_ = MateReason::TIME;
    else if (limits_.share < 1 && nodes_ % NODES_BETWEEN_CLOCKS == 0)
        pause();
    return end_.has_value();
}

// Sleep until the search has had no more than its share of the time since it began.
void MateSolver::pause() {
    using Clock = std::chrono::steady_clock;
    const Clock::time_point now = Clock::now();
    const Clock::duration worked = now - began_ - slept_;
    auto until = began_ + std::chrono::duration_cast<Clock::duration>(worked / limits_.share);
    if (limits_.time) until = std::min(until, deadline_);
    std::unique_lock lock(mutex_);
    stopped_.wait_until(lock, until, [this] { return is_stopped_.load(std::memory_order_relaxed); });
    slept_ += Clock::now() - now;
}

// A position that came back, with no more in the attacker's hand, is a disproof for as long as the first one is on the path.
std::optional<MateSolver::Outcome> MateSolver::repetition() const {
    const Visited now{board_.board_key(), board_.hand(attacker_)};
    for (std::size_t ply = path_.size(); ply >= 4;) {
        ply -= 2;
        const Visited& then = path_[ply];
        if (then.board_key == now.board_key && then.hand.covers(now.hand))
            return Outcome{{PN_INFINITE, 0, ANY_PLIES, then.hand}, static_cast<std::uint16_t>(ply)};
        if (ply < 2) break;
    }
    return std::nullopt;
}

// Searches the position on the board until it is decided or one of its numbers reaches its limit.
template <bool ATTACK>
MateSolver::Outcome MateSolver::visit(int left, std::uint32_t max_pn, std::uint32_t max_dn) {
    if (const auto repeated = repetition()) return *repeated;
    if (is_over()) return {{}, NO_LOOP};
    const std::uint64_t nodes_before = nodes_++;
    const std::uint64_t board_key = board_.board_key();
    const Hand hand = board_.hand(attacker_);
    path_.push_back({board_key, hand});
    const std::size_t first = children_.size();
    expand<ATTACK>(left);
    if (ATTACK && path_.size() == 1) try_mates_in_three(left);

    Outcome outcome{{}, NO_LOOP};
    std::size_t best = first;
    for (;;) {
        const Sum total = sum<ATTACK>(first);
        best = total.best;
        if (total.pn == 0 || total.dn == 0) {
            outcome = conclude<ATTACK>(total, first);
            break;
        }
        outcome.value = {total.pn, total.dn, 0, hand};
        if (total.pn >= max_pn || total.dn >= max_dn || end_) break;

        Child& child = children_[best];
        const std::uint32_t limit = widened(total.second);
        const std::uint32_t child_pn = ATTACK ? std::min(max_pn, limit) : rest(max_pn, total.pn, child.value.pn);
        const std::uint32_t child_dn = ATTACK ? rest(max_dn, total.dn, child.value.dn) : std::min(max_dn, limit);
        Undo undo;
        board_.do_move(child.move, undo);
        if (!ATTACK && child.is_estimate) {
            child.is_estimate = false;
            child.value = first_value(left - 1);
            if (child.value.is_final()) {
                board_.undo_move(undo);
                continue;
            }
        }
        const Outcome found = visit<!ATTACK>(left - 1, child_pn, child_dn);
        board_.undo_move(undo);
        if (end_ && !found.value.is_final()) break;
        Child& same = children_[best];  // the vector may have moved
        same.value = found.value;
        same.loop = found.loop;
    }
    const auto work = static_cast<std::uint32_t>(std::min<std::uint64_t>(nodes_ - nodes_before, 0xFFFFFFFF));
    if (!end_ || outcome.value.is_final()) {
        // What depends on the path is not stored as a disproof, but as a position to leave to the last.
        MateValue stored = outcome.value;
        if (outcome.loop != NO_LOOP) stored = {PN_LARGEST, 1, 0, hand};
        table_.store(board_key, hand, stored, ATTACK && stored.is_proof() ? children_[best].move : Move(), work);
    }
    children_.resize(first);
    path_.pop_back();
    return outcome;
}

// Looks at the defences of each check of the first position once, before any check is searched further. The children are
// the checks.
void MateSolver::try_mates_in_three(int left) {
    const auto has_fewer = [](const Child& a, const Child& b) { return a.value.pn < b.value.pn; };
    std::stable_sort(children_.begin(), children_.end(), has_fewer);
    for (std::size_t i = 0; i < children_.size(); ++i) {
        if (!children_[i].is_estimate) continue;
        Undo undo;
        board_.do_move(children_[i].move, undo);
        const Outcome found = visit<false>(left - 1, 1, 1);  // limits that every open position reaches at once
        board_.undo_move(undo);
        if (end_ && !found.value.is_final()) return;
        Child& same = children_[i];  // the vector may have moved
        same.value = found.value;
        same.loop = found.loop;
        same.is_estimate = false;
        if (found.value.is_proof()) return;
    }
}

// Puts the moves of the position on the board behind the other children, with what is known of them.
//
// Few defences that are not known allow a mate in one. So only those up to the first that does not are asked for one here;
// the others when they are chosen.
template <bool ATTACK>
void MateSolver::expand(int left) {
    MoveList moves;
    std::optional<Defences> defences;
    if (ATTACK) {
        generate_checks(board_, moves);
        defences.emplace(board_, MOST_DEFENCES);
    } else {
        generate_legal(board_, moves);
    }
    const Hand hand = board_.hand(attacker_);
    bool is_open = false;
    for (const Move m : moves) {
        const After next = after(board_, m);
        Child child{next.board_key, {}, hand, m, NO_LOOP, false};
        if (ATTACK) {
            if (m.is_drop())
                child.hand.remove(m.dropped());
            else if (next.captured != NO_PIECE)
                child.hand.add(unpromote(type_of(next.captured)));
        }
        // Near the limit of plies the first value decides; an estimate may come from a search that went further.
        const bool is_known = table_.look_up(child.board_key, child.hand, left - 1, child.value);
        if (ATTACK) {  // no mate in one, nor is it the last ply: first_value
            child.is_estimate = !is_known;
            if (!is_known) child.value = {static_cast<std::uint32_t>(defences->after(m)), 1, 0, child.hand};
        } else if (!is_known && is_open && left > 2) {
            child.is_estimate = true;
            child.value = {1, 1, 0, child.hand};
        } else if (!is_known || (left <= 2 && !child.value.is_final())) {
            Undo undo;
            board_.do_move(m, undo);
            child.value = first_value(left - 1);
            board_.undo_move(undo);
        }
        children_.push_back(child);
        is_open |= !child.value.is_proof();
        // One reply settles the node.
        if (ATTACK ? child.value.is_proof() : child.value.is_disproof()) return;
    }
}

// The first estimate of the position on the board, with the attacker to move.
MateValue MateSolver::first_value(int left) {
    const Hand hand = board_.hand(attacker_);
    if (const Move m = find_mate_in_one(board_)) {
        const MateValue value = prove_in_one(m);
        table_.store(board_.board_key(), hand, value, m, 1);
        return value;
    }
    return left > 1 ? MateValue{1, 1, 0, hand} : MateValue{PN_INFINITE, 0, 1, hand};
}

template <bool ATTACK>
MateSolver::Sum MateSolver::sum(std::size_t first) const {
    // `least` is the number that the side to move brings down by one move, `most` the one for which all moves count.
    Sum total;
    std::uint32_t least = PN_INFINITE, all = 0, tie = PN_INFINITE;
    for (std::size_t i = first; i < children_.size(); ++i) {
        const MateValue& v = children_[i].value;
        const std::uint32_t mine = ATTACK ? v.pn : v.dn;
        const std::uint32_t theirs = ATTACK ? v.dn : v.pn;
        if (theirs == PN_INFINITE) {
            return ATTACK ? Sum{0, PN_INFINITE, i, 0} : Sum{PN_INFINITE, 0, i, 0};
        }
        all = add(all, theirs);
        if (mine < least || (mine == least && theirs < tie)) {
            total.second = least;
            least = mine;
            tie = theirs;
            total.best = i;
        } else {
            total.second = std::min(total.second, mine);
        }
    }
    if (least == PN_INFINITE) all = 0;  // all moves fail, or there are none
    total.pn = ATTACK ? least : all;
    total.dn = ATTACK ? all : least;
    return total;
}

// The value of a decided position.
template <bool ATTACK>
MateSolver::Outcome MateSolver::conclude(const Sum& total, std::size_t first) {
    const Hand hand = board_.hand(attacker_);
    const Hand held = hand + board_.hand(~attacker_);
    const auto ply = static_cast<std::uint16_t>(path_.size() - 1);
    const auto longer = [](std::uint16_t plies) { return plies == ANY_PLIES ? plies : static_cast<std::uint16_t>(plies + 1); };
    const auto settled = [&](MateValue value, std::uint16_t loop) {  // a loop that comes back here is closed
        return Outcome{value, loop >= ply ? NO_LOOP : loop};
    };
    if (ATTACK ? total.pn == 0 : total.dn == 0) {  // one move decides
        const Child& c = children_[total.best];
        MateValue value = c.value;
        value.plies = longer(value.plies);
        value.hand = ATTACK ? hand_before(c.move, value.hand) : least(value.hand, held);
        return settled(value, ATTACK ? NO_LOOP : c.loop);
    }
    if (ATTACK) {
        MateValue value{PN_INFINITE, 0, ANY_PLIES, held};
        std::uint16_t loop = NO_LOOP;
        for (std::size_t i = first; i < children_.size(); ++i) {
            const Child& c = children_[i];
            value.plies = std::min(value.plies, longer(c.value.plies));
            value.hand = least(value.hand, hand_before(c.move, c.value.hand));
            loop = std::min(loop, c.loop);
        }
        value.hand = value.hand.where_has(hand);  // what the attacker lacks was not tried
        return settled(value, loop);
    }
    MateValue value{0, PN_INFINITE, 0, blocked()};
    for (std::size_t i = first; i < children_.size(); ++i) {
        const Child& c = children_[i];
        value.plies = std::max(value.plies, longer(c.value.plies));
        value.hand = most(value.hand, c.value.hand);
    }
    return {value, NO_LOOP};
}

// A hand of the attacker before its move on the board, by the one after it.
Hand MateSolver::hand_before(Move m, Hand next) const {
    if (m.is_drop()) {
        next.add(m.dropped());
    } else if (const Piece captured = board_.piece_on(m.to()); captured != NO_PIECE) {
        if (const PieceType t = unpromote(type_of(captured)); next.has(t)) next.remove(t);
    }
    return next;
}

// The proof of a mating move on the board.
MateValue MateSolver::prove_in_one(Move m) {
    Undo undo;
    board_.do_move(m, undo);
    const Hand after_it = blocked();
    board_.undo_move(undo);
    return {0, PN_INFINITE, 1, hand_before(m, after_it)};
}

// What the attacker must hold lest the defender, in check, has it to put in between.
Hand MateSolver::blocked() const {
    const Bitboard checkers = board_.checkers();
    if (checkers.more_than_one() || between(board_.king(~attacker_), checkers.first()).none()) return {};
    return board_.hand(attacker_).where_lacks(board_.hand(~attacker_));
}

// ------------------------------------------------------------------------------------------ the line

// A whole mate of the position on the board, which is proven in so many plies. Empty if the table has lost too much of the
// proof to find it again.
std::vector<Move> MateSolver::line(int plies) {
    const Board start = board_;
    is_line_left_ = true;
    std::vector<Move> moves;
    // If the shortest mate against every defence takes too long, the line has mates that are known.
    for (bool shortest = limits_.shortest;; shortest = false) {
        limits_.nodes = 2 * nodes_ + NODES_FOR_LINE;
        end_.reset();
        moves.clear();
        moves.reserve(static_cast<std::size_t>(plies));
        for (int left = plies; left > 0;) {
            const Move attack = proven_move(left);
            if (!attack) break;
            moves.push_back(attack);
            board_.do_move(attack);
            const auto [defence, rest] = longest_defence(left - 2, shortest);
            if (!defence) break;
            moves.push_back(defence);
            board_.do_move(defence);
            left = rest;
        }
        const bool is_mate = board_.turn() != attacker_ && !has_legal_move(board_);
        board_ = start;
        if (is_mate) return moves;
        if (!shortest) return {};
    }
}

Move MateSolver::proven_move(int left) {
    const std::uint64_t board_key = board_.board_key();
    const Hand hand = board_.hand(attacker_);
    if (const Move m = table_.proven_move(board_key, hand, left)) return m;
    return prove(left) > 0 ? table_.proven_move(board_key, hand, left) : Move();
}

// The defence after which the mate takes most plies, and their number; no move if there is none, or one is not proven.
std::pair<Move, int> MateSolver::longest_defence(int left, bool shortest) {
    MoveList moves;
    generate_legal(board_, moves);
    std::pair<Move, int> longest{Move(), 0};
    for (const Move m : moves) {
        Undo undo;
        board_.do_move(m, undo);
        int plies = prove(left);
        for (int shorter = plies; shortest && shorter > 1 && !end_;) {
            shorter = prove(shorter - 2);
            if (shorter != 0) plies = shorter;
        }
        board_.undo_move(undo);
        if (plies == 0 || (shortest && end_)) return {Move(), 0};
        if (plies > longest.second) longest = {m, plies};
    }
    return longest;
}

}  // namespace fukayomi
