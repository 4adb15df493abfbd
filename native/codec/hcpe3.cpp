#include "codec/hcpe3.hpp"

#include <cstring>
#include <optional>
#include <stdexcept>

#include "codec/move_bits.hpp"
#include "shogi/errors.hpp"
#include "shogi/illegal.hpp"

namespace fukayomi {
namespace {

constexpr std::size_t MOST_MOVES = 65'535;
constexpr std::uint8_t RESULT_BITS = 0x03;
constexpr std::uint8_t KNOWN_BITS = 0x1f;  // the result, then repetition, declaration, maximum of moves

std::uint16_t read_u16(const std::uint8_t* bytes) { return static_cast<std::uint16_t>(bytes[0] | (bytes[1] << 8)); }

bool is_result(std::uint8_t byte) { return (byte & RESULT_BITS) != RESULT_BITS && (byte & ~KNOWN_BITS) == 0; }

// Enough to pass over most bytes that are no header without decoding them.
bool may_be_header(const std::uint8_t* bytes) {
    const unsigned black = bytes[0] >> 1;
    const unsigned white = bytes[1] & 127U;
    return black < SQUARES && white < SQUARES && black != white && is_result(bytes[34]);
}

struct Fault {
    int ply;
    std::string reason;
};

// Takes one game off the bytes.
class GameReader {
  public:
    enum class Outcome { WHOLE, UNFINISHED, DAMAGED };

    explicit GameReader(std::span<const std::uint8_t> data) : data_(data) {}

    // Adds the game that begins at `offset` to the columns, or nothing.
    Outcome read(std::size_t offset, GameColumns& out) {
        const std::size_t plies = out.moves.size();
        const std::size_t candidates = out.candidate_moves.size();
        cursor_ = offset;
        fault_.reset();
        const Outcome outcome = read_game(offset, out);
        if (outcome != Outcome::WHOLE) {
            out.hcps.resize(plies);
            out.moves.resize(plies);
            out.evals.resize(plies);
            out.candidates.resize(plies + 1);
            out.candidate_moves.resize(candidates);
            out.candidate_visits.resize(candidates);
        }
        return outcome;
    }

    std::size_t end() const { return cursor_; }  // of the game that was whole
    const Fault& fault() const { return *fault_; }

  private:
    bool has(std::size_t bytes) const { return data_.size() - cursor_ >= bytes; }

    Outcome damaged(int ply, std::string reason) {
        fault_ = Fault{ply, std::move(reason)};
        return Outcome::DAMAGED;
    }
    Outcome unfinished(int ply, const char* where) {
        fault_ = Fault{ply, std::string("the data end ") + where};
        return Outcome::UNFINISHED;
    }

    Outcome read_game(std::size_t offset, GameColumns& out) {
        if (!has(HCPE3_HEADER_BYTES)) return unfinished(-1, "inside a game's header");
        const std::uint8_t* header = data_.data() + offset;
        Hcp start;
        std::memcpy(start.data(), header, HCP_BYTES);
        const int moves = read_u16(header + 32);
        if (!is_result(header[34])) return damaged(-1, "invalid result " + std::to_string(header[34]));
        Board pos = Board::empty();
        try {
            pos = decode_hcp(start);
        } catch (const ParseError& e) {
            return damaged(-1, e.what());
        }
        cursor_ += HCPE3_HEADER_BYTES;
        for (int ply = 0; ply < moves; ++ply) {
            const Outcome outcome = read_move(ply, pos, out);
            if (outcome != Outcome::WHOLE) return outcome;
        }
        out.offsets.push_back(offset);
        out.starts.push_back(start);
        out.results.push_back(header[34]);
        out.opponents.push_back(header[35]);
        out.plies.push_back(out.moves.size());
        return Outcome::WHOLE;
    }

    Outcome read_move(int ply, Board& pos, GameColumns& out) {
        if (!has(HCPE3_MOVE_BYTES)) return unfinished(ply, "before the game's last move");
        const std::uint8_t* bytes = data_.data() + cursor_;
        const Move move(read_u16(bytes));
        const std::size_t candidates = read_u16(bytes + 4);
        if (candidates > MAX_MOVES) return damaged(ply, std::to_string(candidates) + " candidates are more than any position has");
        if (!pos.is_legal(move)) return damaged(ply, forbidden("move", pos, move));
        cursor_ += HCPE3_MOVE_BYTES;
        out.hcps.push_back(encode_hcp(pos));
        out.moves.push_back(move.raw());
        out.evals.push_back(static_cast<std::int16_t>(read_u16(bytes + 2)));
        for (std::size_t i = 0; i < candidates; ++i) {
            if (!has(HCPE3_CANDIDATE_BYTES)) return unfinished(ply, "among the candidates of a move");
            const Move candidate(read_u16(data_.data() + cursor_));
            if (!pos.is_legal(candidate)) return damaged(ply, forbidden("candidate", pos, candidate));
            out.candidate_moves.push_back(candidate.raw());
            out.candidate_visits.push_back(read_u16(data_.data() + cursor_ + 2));
            cursor_ += HCPE3_CANDIDATE_BYTES;
        }
        out.candidates.push_back(out.candidate_moves.size());
        pos.do_move(move);
        return Outcome::WHOLE;
    }

    static std::string forbidden(const char* what, const Board& pos, Move m) {
        const std::string start = std::string(what) + " " + std::to_string(m.raw()) + ": ";
        if (!is_move(m)) return start + "the bits are not a move";
        try {
            require_legal(pos, m);
        } catch (const ParseError& e) {
            return start + e.what();
        }
        return start + "not legal";
    }

    std::span<const std::uint8_t> data_;
    std::size_t cursor_ = 0;
    std::optional<Fault> fault_;
};

void require(bool condition, const std::string& what) {
    if (!condition) throw std::invalid_argument(what);
}

void require_steps(std::span<const std::uint64_t> starts, std::size_t rows, std::size_t end, std::size_t most, const char* what) {
    require(starts.size() == rows + 1 && starts.front() == 0 && starts.back() == end,
            std::string(what) + " must lead from 0 to the end of its column, one entry more than its rows");
    for (std::size_t i = 0; i < rows; ++i)
        require(starts[i] <= starts[i + 1] && starts[i + 1] - starts[i] <= most,
                std::string(what) + ", row " + std::to_string(i) + ": fewer than none, or more than " + std::to_string(most));
}

void put_u16(std::vector<std::uint8_t>& out, std::uint16_t value) {
    out.push_back(static_cast<std::uint8_t>(value));
    out.push_back(static_cast<std::uint8_t>(value >> 8));
}

}  // namespace

DecodedGames decode_hcpe3(std::span<const std::uint8_t> data, bool last, bool searching) {
    DecodedGames found;
    GameReader reader(data);
    std::size_t offset = 0;
    const auto end_damage = [&] {
        if (!searching) return;
        if (found.damages.empty())
            found.gap = offset;
        else
            found.damages.back().bytes = offset - found.damages.back().offset;
        searching = false;
    };
    while (offset < data.size()) {
        if (searching && data.size() - offset >= HCPE3_HEADER_BYTES && !may_be_header(data.data() + offset)) {
            ++offset;
            continue;
        }
        const GameReader::Outcome outcome = reader.read(offset, found.games);
        if (outcome == GameReader::Outcome::UNFINISHED && !last) break;
        if (outcome == GameReader::Outcome::WHOLE) {
            end_damage();
            offset = reader.end();
            continue;
        }
        if (!searching || reader.fault().ply >= 0) {  // with a good header it is another damaged game
            end_damage();
            found.damages.push_back({offset, 0, reader.fault().ply, reader.fault().reason});
        }
        searching = true;
        ++offset;
    }
    found.searching = searching;
    end_damage();
    found.consumed = offset;
    return found;
}

std::vector<std::uint8_t> encode_hcpe3(const GameRows& games) {
    const std::size_t count = games.results.size();
    require(games.starts.size() == count * HCP_BYTES && games.opponents.size() == count,
            "starts, results and opponents differ in their number of games");
    require(games.evals.size() == games.moves.size(), "moves and evals differ in their number");
    require(games.candidate_visits.size() == games.candidate_moves.size(), "the candidates' moves and visits differ in their number");
    require_steps(games.plies, count, games.moves.size(), MOST_MOVES, "plies");
    require_steps(games.candidates, games.moves.size(), games.candidate_moves.size(), MAX_MOVES, "candidates");
    std::vector<std::uint8_t> out;
    out.reserve(count * HCPE3_HEADER_BYTES + games.moves.size() * HCPE3_MOVE_BYTES + games.candidate_moves.size() * HCPE3_CANDIDATE_BYTES);
    for (std::size_t g = 0; g < count; ++g) {
        const auto start = games.starts.subspan(g * HCP_BYTES, HCP_BYTES);
        out.insert(out.end(), start.begin(), start.end());
        put_u16(out, static_cast<std::uint16_t>(games.plies[g + 1] - games.plies[g]));
        out.push_back(games.results[g]);
        out.push_back(games.opponents[g]);
        for (std::size_t p = games.plies[g]; p < games.plies[g + 1]; ++p) {
            put_u16(out, games.moves[p]);
            put_u16(out, static_cast<std::uint16_t>(games.evals[p]));
            put_u16(out, static_cast<std::uint16_t>(games.candidates[p + 1] - games.candidates[p]));
            for (std::size_t c = games.candidates[p]; c < games.candidates[p + 1]; ++c) {
                put_u16(out, games.candidate_moves[c]);
                put_u16(out, games.candidate_visits[c]);
            }
        }
    }
    return out;
}

}  // namespace fukayomi
