#include "selfplay/record.hpp"

#include "codec/hcp.hpp"
#include "codec/hcpe3.hpp"

namespace fukayomi {

namespace {

constexpr std::uint8_t REPETITION_FLAG = 0x04, DECLARATION_FLAG = 0x08, MAX_PLIES_FLAG = 0x10;

}  // namespace

GameRecord::GameRecord(const Position& opening) : start_(opening.start()) {
    for (const Undo& undo : opening.moves()) add(undo.move, 0);
}

void GameRecord::add(Move move, int eval, std::span<const Candidate> taught, float weight, double surprise) {
    moves_.push_back(move);
    evals_.push_back(static_cast<std::int16_t>(eval));
    taught_.insert(taught_.end(), taught.begin(), taught.end());
    candidates_.push_back(taught_.size());
    if (taught.empty()) return;
    weights_.push_back(weight);
    surprises_.push_back(surprise);
}

std::vector<float> GameRecord::weights(double share) const {
    double all = 0.0, surprising = 0.0;
    for (std::size_t i = 0; i < weights_.size(); ++i) {
        all += weights_[i];
        surprising += weights_[i] * surprises_[i];
    }
    if (share == 0.0 || !(surprising > 0.0)) return weights_;
    std::vector<float> weights;
    for (std::size_t i = 0; i < weights_.size(); ++i)
        weights.push_back(static_cast<float>(weights_[i] * (1.0 - share + share * surprises_[i] * all / surprising)));
    return weights;
}

std::vector<std::uint8_t> GameRecord::hcpe3(std::uint8_t result, std::uint8_t opponent) const {
    const Hcp start = encode_hcp(start_);
    const std::uint64_t plies[2] = {0, moves_.size()};
    std::vector<std::uint16_t> moves, candidate_moves, candidate_visits;
    for (const Move m : moves_) moves.push_back(m.raw());
    for (const Candidate& taught : taught_) {
        candidate_moves.push_back(taught.move.raw());
        candidate_visits.push_back(taught.visits);
    }
    return encode_hcpe3({.starts = start,
                         .results = {&result, 1},
                         .opponents = {&opponent, 1},
                         .plies = plies,
                         .moves = moves,
                         .evals = evals_,
                         .candidates = candidates_,
                         .candidate_moves = candidate_moves,
                         .candidate_visits = candidate_visits});
}

std::uint8_t result_byte(std::optional<Color> winner, GameReason reason) {
    const int result = !winner ? 0 : *winner == BLACK ? 1 : 2;
    const int flag = reason == GameReason::REPETITION    ? REPETITION_FLAG
                     : reason == GameReason::DECLARATION ? DECLARATION_FLAG
                     : reason == GameReason::MAX_PLIES   ? MAX_PLIES_FLAG
                                                         : 0;
    return static_cast<std::uint8_t>(result | flag);
}

}  // namespace fukayomi
