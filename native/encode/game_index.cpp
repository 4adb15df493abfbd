#include "encode/game_index.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <mutex>
#include <stdexcept>

#include "encode/labels.hpp"
#include "shogi/errors.hpp"

namespace fukayomi {
namespace {

constexpr std::size_t KEYFRAME_MOVES = 16;  // bits of Keyframe::taken

struct Changed {};  // the bytes are not what they were when they were indexed

std::uint16_t read_u16(const std::uint8_t* bytes) { return static_cast<std::uint16_t>(bytes[0] | (bytes[1] << 8)); }

// The moves of a game, one after the other.
class MoveCursor {
  public:
    MoveCursor(std::span<const std::uint8_t> data, std::size_t offset) : data_(data), at_(offset) { require_whole(); }

    Move move() const { return Move(read_u16(here())); }
    std::int16_t eval() const { return static_cast<std::int16_t>(read_u16(here() + 2)); }
    std::size_t candidates() const { return read_u16(here() + 4); }
    Move candidate(std::size_t i) const { return Move(read_u16(pair(i))); }
    unsigned visits(std::size_t i) const { return read_u16(pair(i) + 2); }
    void next() {
        at_ += bytes();
        require_whole();
    }
    bool next_before(std::size_t end) {  // false at the end of the game
        at_ += bytes();
        if (at_ >= end) {
            if (at_ > end) throw Changed();
            return false;
        }
        require_whole();
        return true;
    }

  private:
    std::size_t bytes() const { return HCPE3_MOVE_BYTES + candidates() * HCPE3_CANDIDATE_BYTES; }
    const std::uint8_t* here() const { return data_.data() + at_; }
    const std::uint8_t* pair(std::size_t i) const { return here() + HCPE3_MOVE_BYTES + i * HCPE3_CANDIDATE_BYTES; }
    void require_whole() const {
        const bool has_move = at_ <= data_.size() && data_.size() - at_ >= HCPE3_MOVE_BYTES;
        if (!has_move || candidates() > MAX_MOVES) throw Changed();
        if (data_.size() - at_ < bytes()) throw Changed();
    }

    std::span<const std::uint8_t> data_;
    std::size_t at_;
};

// Plays a move of `mover` on the sets as `viewer` sees them. Throws for a move that no piece can make, so that the sets stay
// valid; whether the move is legal was checked when it was indexed.
void play(PieceSets& sets, Color viewer, Color mover, Move move) {
    if (!has_policy_label(mover, move)) throw Changed();
    const Color us = mover == viewer ? BLACK : WHITE;
    const auto seen = [viewer](Square s) { return viewer == BLACK ? s : rotate(s); };
    const auto piece_on = [&sets](Color c, Square s) {
        for (std::size_t t = PAWN; t < PIECE_TYPES; ++t)
            if (sets.of(c, static_cast<PieceType>(t)).has(s)) return static_cast<PieceType>(t);
        return NO_PIECE_TYPE;
    };
    const Square to = seen(move.to());
    const PieceType captured = piece_on(~us, to);
    PieceType arrives = NO_PIECE_TYPE;
    if (move.is_drop()) {
        arrives = move.dropped();
        if (captured != NO_PIECE_TYPE || !sets.hands[us].has(arrives)) throw Changed();
        sets.hands[us].remove(arrives);
    } else {
        const Square from = seen(move.from());
        const PieceType moved = piece_on(us, from);
        if (moved == NO_PIECE_TYPE || captured == KING || (move.is_promotion() && !can_promote(moved))) throw Changed();
        sets.pieces[make_piece(us, moved)].toggle(from);
        arrives = move.is_promotion() ? promote(moved) : moved;
        if (captured != NO_PIECE_TYPE) {
            sets.pieces[make_piece(~us, captured)].toggle(to);
            sets.hands[us].add(unpromote(captured));
        }
    }
    sets.pieces[make_piece(us, arrives)].set(to);
}

std::size_t nth_bit(unsigned bits, std::size_t n) {  // the place of the n-th bit that is set, from 0
    for (; n > 0; --n) bits &= bits - 1;
    return static_cast<std::size_t>(std::countr_zero(bits));
}

// The candidate with the most visits; of several, the move played or else the first.
std::size_t most_visited(const MoveCursor& at) {
    std::size_t best = 0;
    for (std::size_t i = 1; i < at.candidates(); ++i) {
        const bool more = at.visits(i) > at.visits(best);
        if (more || (at.visits(i) == at.visits(best) && at.candidate(i) == at.move() && at.candidate(best) != at.move())) best = i;
    }
    return best;
}

std::int32_t place_of(std::size_t row, Color turn, Move move) {
    if (!has_policy_label(turn, move)) throw Changed();
    return static_cast<std::int32_t>(row * POLICY_LABELS + policy_label(turn, move));
}

// The label of a move of `turn` for a network that looks at the board from the other side: the square is turned around.
std::int32_t reply_label(Color turn, Move move) {
    if (!has_policy_label(turn, move)) throw Changed();
    const std::int32_t label = policy_label(turn, move);
    return label + SQUARES - 1 - 2 * (label % SQUARES);
}

// Exponential averages of values that come one after the other: each has the weight 1/m of what is left.
class Averages {
  public:
    explicit Averages(std::span<const double> horizons) : horizons_(horizons), left_(horizons.size()), sums_(horizons.size()) {}

    void restart() {
        std::ranges::fill(left_, 1.0);
        std::ranges::fill(sums_, 0.0);
    }
    void add(double value) {
        for (std::size_t h = 0; h < horizons_.size(); ++h) {
            const double weight = left_[h] / horizons_[h];
            sums_[h] += weight * value;
            left_[h] -= weight;
        }
    }
    void end(double value, float* out) const {  // which has the weight that is left
        for (std::size_t h = 0; h < horizons_.size(); ++h) out[h] = static_cast<float>(sums_[h] + left_[h] * value);
    }

  private:
    std::span<const double> horizons_;
    std::vector<double> left_;
    std::vector<double> sums_;
};

// Goes on to the end of a game from a move of `turn`: the values as that side sees them, its opponent's next move, and the
// number of moves.
std::int32_t play_on(MoveCursor at, std::size_t end, Color turn, double eval_scale, Averages& values, std::int32_t& reply) {
    std::int32_t plies = 0;
    double value = 0.5;  // of a ply that was not searched: the one before it
    Color mover = turn;
    do {
        if (plies == 1) reply = reply_label(mover, at.move());
        if (at.candidates() > 0) {
            const double won = win_probability(at.eval(), eval_scale);
            value = mover == turn ? won : 1 - won;
        }
        values.add(value);
        mover = ~mover;
        ++plies;
    } while (at.next_before(end));
    return plies;
}

// The win probability `plies` later, for the side to move now: that of the last searched move up to there, or the result
// if the game ends before.
float later_value(MoveCursor at, std::size_t end, unsigned plies, double eval_scale, float result) {
    int eval = at.eval();
    for (unsigned ply = 1; ply <= plies; ++ply) {
        if (!at.next_before(end)) return result;
        if (at.candidates() > 0) eval = ply % 2 == 0 ? at.eval() : -at.eval();
    }
    return static_cast<float>(win_probability(eval, eval_scale));
}

[[noreturn]] void refuse(const std::string& file, std::size_t game, int ply, std::size_t offset, const std::string& reason) {
    const std::string move = ply < 0 ? "" : ", move " + std::to_string(ply);
    throw ParseError(ParseError::Kind::PACKED,
                     file + ", game " + std::to_string(game) + move + " (offset " + std::to_string(offset) + "): " + reason);
}

}  // namespace

void GameIndex::add_file(std::span<const std::uint8_t> data, std::string name) {
    const std::unique_lock lock(mutex_);
    files_.push_back({data, std::move(name)});
    cursor_ = games_ = 0;
    eval_counts_.assign(EVALUATIONS, {0, 0, 0});
}

bool GameIndex::read_on(std::size_t bytes) {
    const std::unique_lock lock(mutex_);
    if (files_.empty()) return false;
    const File& file = files_.back();
    const auto rest = file.data.subspan(cursor_);
    DecodedGames found;
    for (std::size_t part = bytes;; part *= 2) {  // until a game is whole
        part = std::min(std::max<std::size_t>(part, 1), rest.size());
        found = decode_hcpe3(rest.first(part), part == rest.size());
        if (found.consumed > 0 || part == rest.size()) break;
    }
    if (!found.damages.empty()) {
        const GameDamage& damage = found.damages.front();
        const auto& offsets = found.games.offsets;
        const auto before = std::lower_bound(offsets.begin(), offsets.end(), damage.offset) - offsets.begin();
        refuse(file.name, games_ + static_cast<std::size_t>(before), damage.ply, cursor_ + damage.offset, damage.reason);
    }
    for (std::size_t g = 0; g < found.games.results.size(); ++g) add_game(found.games, g);
    cursor_ += found.consumed;
    return cursor_ < file.data.size();
}

void GameIndex::add_game(const GameColumns& games, std::size_t g) {
    std::size_t offset = cursor_ + games.offsets[g] + HCPE3_HEADER_BYTES;
    std::size_t keyframe_at = 0;  // its move
    bool has_keyframe = false;
    const std::size_t moves = games.plies[g + 1] - games.plies[g];
    const bool is_whole = moves > 1;
    const std::uint64_t end = offset + moves * HCPE3_MOVE_BYTES +
                              (games.candidates[games.plies[g + 1]] - games.candidates[games.plies[g]]) * HCPE3_CANDIDATE_BYTES;
    Board pos = decode_hcp(games.starts[g]);
    past_.clear();
    past_.push(pos);
    for (std::size_t p = games.plies[g]; p < games.plies[g + 1]; ++p) {
        const std::size_t first = games.candidates[p];
        const std::size_t count = games.candidates[p + 1] - first;
        const Color turn = pos.turn();
        const bool repeats = leads_to_repetition(pos, Move(games.moves[p]));
        if (repeats && count > 0) left_out_.push_back(size_);
        if (count > 0 && !repeats) {
            const auto visits = std::span(games.candidate_visits).subspan(first, count);
            if (count > 1 && std::ranges::all_of(visits, [](std::uint16_t n) { return n == 0; }))
                refuse(files_.back().name, games_, static_cast<int>(p - games.plies[g]), cursor_ + games.offsets[g],
                       "none of the " + std::to_string(count) + " candidates has visits");
            if (!has_keyframe) {
                game_starts_.push_back(size_);
                game_ends_.push_back(is_whole ? end : 0);
            }
            if (!has_keyframe || p - keyframe_at >= KEYFRAME_MOVES) {
                has_keyframe = true;
                keyframe_at = p;
                const auto file = static_cast<std::uint32_t>(files_.size() - 1);
                keyframes_.push_back({games.hcps[p], offset, file, 0, games.results[g]});
                firsts_.push_back(size_);
            }
            keyframes_.back().taken |= static_cast<std::uint16_t>(1U << (p - keyframe_at));
            count_evaluation(turn, games.results[g], games.evals[p]);
            ++size_;
            continued_ += is_whole;
            choices_ += count > 1;
        }
        offset += HCPE3_MOVE_BYTES + count * HCPE3_CANDIDATE_BYTES;
    }
    ++games_;
}

bool GameIndex::leads_to_repetition(Board& pos, Move move) {
    pos.do_move(move);
    past_.push(pos);
    switch (past_.first_recurrence()) {
        case Repetition::DRAW:
        case Repetition::SUPERIOR:
        case Repetition::INFERIOR: return true;
        default: return false;
    }
}

void GameIndex::count_evaluation(Color turn, std::uint8_t result, std::int16_t eval) {
    const auto outcome = static_cast<std::size_t>(2 * result_for(turn, result & RESULT_BITS));
    ++eval_counts_[static_cast<std::size_t>(eval + 32'768)][outcome];
}

std::size_t GameIndex::bytes() const {
    const std::size_t numbers = firsts_.capacity() + game_starts_.capacity() + game_ends_.capacity() + left_out_.capacity();
    return keyframes_.capacity() * sizeof(Keyframe) + numbers * sizeof(std::uint64_t);
}

void GameIndex::require_number(std::int64_t number) const {
    if (number < 0 || static_cast<std::uint64_t>(number) >= size_)
        throw std::out_of_range("number " + std::to_string(number) + " of " + std::to_string(size_) + " positions");
}

std::size_t GameIndex::keyframe_of(std::size_t number) const {
    return static_cast<std::size_t>(std::upper_bound(firsts_.begin(), firsts_.end(), number) - firsts_.begin() - 1);
}

void GameIndex::refuse_changed(const Keyframe& key) const {
    throw ParseError(ParseError::Kind::PACKED,
                     files_[key.file].name + ": the file was changed while it was in use, after offset " + std::to_string(key.offset));
}

GameIndex::Found GameIndex::find(std::int64_t number) const {
    const std::shared_lock lock(mutex_);
    require_number(number);
    const std::size_t k = keyframe_of(static_cast<std::size_t>(number));
    const Keyframe& key = keyframes_[k];
    try {
        MoveCursor at(files_[key.file].data, key.offset);
        Board pos = decode_hcp(key.position);
        for (std::size_t i = nth_bit(key.taken, static_cast<std::size_t>(number) - firsts_[k]); i > 0; --i, at.next()) {
            if (!pos.is_legal(at.move())) throw Changed();
            pos.do_move(at.move());
        }
        return {encode_hcp(pos), at.move(), at.eval()};
    } catch (const Changed&) {
        refuse_changed(key);
    }
}

SoftPolicy GameIndex::decode(std::size_t n, const std::int64_t* numbers, double temperature, unsigned n_step, const double* eval_scales,
                             const Targets& out) const {
    const std::shared_lock lock(mutex_);
    SoftPolicy policy;
    policy.places.reserve(n);
    policy.weights.reserve(n);
    for (std::size_t i = 0; i < n; ++i) {
        require_number(numbers[i]);
        decode_one(i, static_cast<std::size_t>(numbers[i]), temperature, n_step, eval_scales, out, policy);
    }
    return policy;
}

void GameIndex::decode_one(std::size_t row, std::size_t number, double temperature, unsigned n_step, const double* eval_scales,
                           const Targets& out, SoftPolicy& policy) const {
    const std::size_t k = keyframe_of(number);
    const Keyframe& key = keyframes_[k];
    const File& file = files_[key.file];
    const Packed1 planes1(out.planes1 + row * PACKED1_BYTES, PACKED1_BYTES);
    const Packed2 planes2(out.planes2 + row * PACKED2_BYTES, PACKED2_BYTES);
    try {
        MoveCursor at(file.data, key.offset);
        Color turn = hcp_turn(key.position);
        const std::size_t moves = nth_bit(key.taken, number - firsts_[k]);
        const Color viewer = moves % 2 == 0 ? turn : ~turn;
        PieceSets sets = read_hcp(key.position, viewer);
        for (std::size_t i = 0; i < moves; ++i, at.next(), turn = ~turn) play(sets, viewer, turn, at.move());
        sets.turn = turn;
        if (!encode_packed_sets(sets, planes1, planes2)) throw Changed();
        if (at.candidates() == 0) throw Changed();
        const std::size_t best = most_visited(at);
        if (at.visits(best) == 0 && at.candidates() > 1) throw Changed();
        add_candidates(
            policy, at.candidates(), best, temperature, [&](std::size_t i) { return at.visits(i); },
            [&](std::size_t i) { return place_of(row, turn, at.candidate(i)); });
        out.labels[row] = policy_label(turn, at.candidate(best));
        out.results[row] = result_for(turn, key.result & RESULT_BITS);
        const std::uint64_t end = n_step > 0 ? game_end(number) : 0;
        out.values[row] = later_value(at, end, end > 0 ? n_step : 0, eval_scales[key.file], out.results[row]);
    } catch (const Changed&) {
        refuse_changed(key);
    }
}

std::uint64_t GameIndex::game_end(std::size_t number) const {
    const auto after = std::upper_bound(game_starts_.begin(), game_starts_.end(), number);
    return game_ends_[static_cast<std::size_t>(after - game_starts_.begin() - 1)];
}

void GameIndex::follow(std::size_t n, const std::int64_t* numbers, std::span<const double> horizons, const double* eval_scales,
                       const Continuations& out) const {
    const std::shared_lock lock(mutex_);
    Averages averages(horizons);
    for (std::size_t i = 0; i < n; ++i) {
        require_number(numbers[i]);
        const auto number = static_cast<std::size_t>(numbers[i]);
        const std::size_t k = keyframe_of(number);
        const Keyframe& key = keyframes_[k];
        out.replies[i] = -1;
        out.plies_left[i] = 0;
        float* values = out.values + i * horizons.size();
        const std::uint64_t end = game_end(number);
        if (end == 0) {
            std::fill_n(values, horizons.size(), std::numeric_limits<float>::quiet_NaN());
            continue;
        }
        try {
            MoveCursor at(files_[key.file].data, key.offset);
            const std::size_t before = nth_bit(key.taken, number - firsts_[k]);
            for (std::size_t m = 0; m < before; ++m) at.next();
            const Color turn = before % 2 == 0 ? hcp_turn(key.position) : ~hcp_turn(key.position);
            averages.restart();
            out.plies_left[i] = play_on(at, end, turn, eval_scales[key.file], averages, out.replies[i]);
            averages.end(result_for(turn, key.result & RESULT_BITS), values);
        } catch (const Changed&) {
            refuse_changed(key);
        }
    }
}

}  // namespace fukayomi
