#include "codec/hcp.hpp"

#include <bit>
#include <cstring>
#include <string>

#include "codec/packed_code.hpp"
#include "shogi/errors.hpp"

namespace fukayomi {
namespace {

static_assert(std::endian::native == std::endian::little, "the bit cursor reads words as the file stores bytes");

constexpr int TOTAL_BITS = 256;
constexpr int OTHER_SQUARES = SQUARES - 2;  // all but the kings'
constexpr int ALL_PIECES = 40;

// Pieces are counted in the bytes of one word, by hand_index; the last byte is a bin for what is not counted.
constexpr std::array<int, HAND_TYPES> FULL_SET = {18, 4, 4, 4, 4, 2, 2};
constexpr std::uint64_t COUNTED = (1ULL << UNCOUNTED) - 1;
constexpr std::uint64_t FULL_COUNT = [] {
    std::uint64_t total = 0;
    for (std::size_t i = 0; i < HAND_TYPES; ++i) total |= static_cast<std::uint64_t>(FULL_SET[i]) << (8 * i);
    return total;
}();

[[noreturn]] void reject(const PackedCode& code, HcpView bytes, const std::string& why) {
    constexpr std::string_view digits = "0123456789abcdef";
    std::string hex;
    for (const std::uint8_t b : bytes) {
        hex += digits[b >> 4];
        hex += digits[b & 15];
    }
    throw ParseError(ParseError::Kind::PACKED, std::string(code.name) + " " + hex + ": " + why);
}

// A square as Black sees it, and as White does.
constexpr auto ONE_SQUARE = [] {
    std::array<std::array<Bitboard, SQUARES>, 2> sets{};
    for (Square s = 0; s < SQUARES; ++s) {
        sets[BLACK][static_cast<std::size_t>(s)] = Bitboard::of(s);
        sets[WHITE][static_cast<std::size_t>(s)] = Bitboard::of(rotate(s));
    }
    return sets;
}();

class Reader {
  public:
    // The sets must be empty.
    Reader(const PackedCode& code, HcpView bytes, Color viewer, PieceSets& sets) : code_(code), bytes_(bytes), sets_(sets) {
        std::memcpy(buffer_.data(), bytes.data(), HCP_BYTES);
        read_header(viewer);
        read_board();
        read_hands();
        if ((counts_ & COUNTED) != FULL_COUNT) reject(code_, bytes_, "not the 40 pieces of a shogi set");
    }

  private:
    // At least 57 bits from the cursor on, with zeros after the end.
    std::uint64_t peek() const {
        std::uint64_t word;
        std::memcpy(&word, buffer_.data() + (cursor_ >> 3), sizeof word);
        return word >> (cursor_ & 7);
    }

    void read_header(Color viewer) {
        const std::uint64_t header = peek();
        sets_.turn = static_cast<Color>(header & 1);
        swap_ = static_cast<unsigned>(viewer) << 4;
        seen_ = ONE_SQUARE[viewer].data();
        const auto black = static_cast<Square>((header >> 1) & 127);
        const auto white = static_cast<Square>((header >> 8) & 127);
        if (black >= SQUARES || white >= SQUARES) reject(code_, bytes_, "a king is not on the board");
        if (black == white) reject(code_, bytes_, "both kings on one square");
        low_king_ = black < white ? black : white;
        high_king_ = black < white ? white : black;
        place(make_piece(BLACK, KING), black);
        place(make_piece(WHITE, KING), white);
        cursor_ = 15;
    }

    void place(unsigned piece, Square s) { sets_.pieces[piece ^ swap_] |= seen_[static_cast<std::size_t>(s)]; }

    // The square of the i-th place that is not a king's.
    Square square_of(int i) const {
        const Square s = i + (i >= low_king_);
        return s + (s >= high_king_);
    }

    void read_board() {
        int done = 0;
        while (done < OTHER_SQUARES) {
            if (cursor_ > TOTAL_BITS) reject(code_, bytes_, "the board takes more than 256 bits");
            std::uint64_t word = peek();
            for (int n = 57 / PEEK_BITS; n > 0 && done < OTHER_SQUARES; --n) {
                const BoardStep step = code_.board_steps[word & ((1U << PEEK_BITS) - 1)];
                if (done + step.squares > OTHER_SQUARES) {  // the last squares are empty; what follows is the hands'
                    cursor_ += OTHER_SQUARES - done;
                    done = OTHER_SQUARES;
                    break;
                }
                done += step.squares;
                place(step.piece, square_of(done - 1));  // NO_PIECE has a set of its own, which nobody reads
                counts_ += 1ULL << step.count_shift;
                word >>= step.bits;
                cursor_ += step.bits;
            }
        }
        sets_.pieces[NO_PIECE] = sets_.pieces[16] = Bitboard();
    }

    void read_hands() {
        unsigned last = 0;
        while (cursor_ < TOTAL_BITS) {
            const HandStep step = code_.hand_steps[peek() & 127];
            if (step.bits == 0) reject(code_, bytes_, "no such code for a piece in hand");
            if (code_.hands_in_order && step.place < last) reject(code_, bytes_, "the pieces in hand are not in order");
            last = step.place;
            const std::size_t i = step.place % HAND_TYPES;
            const std::size_t owner = step.place / HAND_TYPES;
            counts_ += 1ULL << (8 * i);
            if (owner != BOX) sets_.hands[owner ^ (swap_ >> 4)].add(HAND_ORDER[i]);
            cursor_ += step.bits;
        }
        if (cursor_ != TOTAL_BITS) reject(code_, bytes_, "it ends in the middle of a piece");
    }

    const PackedCode& code_;
    HcpView bytes_;
    std::array<std::uint8_t, HCP_BYTES + 8> buffer_{};
    PieceSets& sets_;
    const Bitboard* seen_ = ONE_SQUARE[BLACK].data();  // by square, as whoever reads the sets sees it
    std::uint64_t counts_ = 0;
    int cursor_ = 0;
    Square low_king_ = 0;
    Square high_king_ = 0;
    unsigned swap_ = 0;
};

class Writer {
  public:
    void skip(int bits) {
        for (; bits > 32; bits -= 32) put({0, 32});
        put({0, static_cast<std::uint8_t>(bits)});
    }
    // At most 32 bits. What does not fit into 256 is counted, and not written.
    void put(BitCode code) {
        const std::uint64_t value = code.value;
        pending_ |= value << filled_;
        filled_ += code.bits;
        written_ += code.bits;
        if (filled_ < WORD) return;
        filled_ -= WORD;
        if (at_ < words_.size()) words_[at_++] = pending_;
        pending_ = value >> (code.bits - filled_);
    }
    bool is_exactly_full() const { return written_ == TOTAL_BITS; }
    Hcp bytes() const {
        Hcp hcp;
        std::memcpy(hcp.data(), words_.data(), HCP_BYTES);
        return hcp;
    }

  private:
    static constexpr int WORD = 64;
    std::array<std::uint64_t, TOTAL_BITS / WORD> words_{};
    std::size_t at_ = 0;
    std::uint64_t pending_ = 0;
    int filled_ = 0;
    int written_ = 0;
};

int set_aside(const Board& pos, std::size_t i) {
    const PieceType t = HAND_ORDER[i];
    Bitboard on_board = pos.pieces(t);
    if (can_promote(t)) on_board |= pos.pieces(promote(t));
    return FULL_SET[i] - on_board.count() - pos.hand(BLACK).count(t) - pos.hand(WHITE).count(t);
}

Hcp encode(const PackedCode& code, const Board& pos) {
    const auto fail = [&](const char* why) -> void {
        throw ParseError(ParseError::Kind::PACKED, "no " + std::string(code.name) + " for the position \"" + pos.sfen() + "\": " + why);
    };
    const Square black = pos.king(BLACK);
    const Square white = pos.king(WHITE);
    if (black == NO_SQUARE || white == NO_SQUARE) fail("a king is missing");
    Writer writer;
    writer.put({pos.turn(), 1});
    writer.put({static_cast<std::uint8_t>(black), 7});
    writer.put({static_cast<std::uint8_t>(white), 7});
    Square next = 0;  // the first square that is not written yet
    const auto skip_to = [&](Square s) {
        writer.skip(s - next - (black >= next && black < s) - (white >= next && white < s));
        next = s;
    };
    const Bitboard kings = Bitboard::of(black) | Bitboard::of(white);
    int pieces = 2;
    and_not(pos.occupied(), kings).for_each([&](Square s) {
        skip_to(s);
        writer.put(code.board[pos.piece_on(s)]);
        next = s + 1;
        ++pieces;
    });
    skip_to(SQUARES);
    for (std::size_t owner = BLACK; owner <= BOX; ++owner) {
        if (owner == BOX ? pieces == ALL_PIECES : pos.hand(static_cast<Color>(owner)).empty()) continue;
        for (std::size_t i = 0; i < HAND_TYPES; ++i) {
            int n = owner == BOX ? set_aside(pos, i) : pos.hand(static_cast<Color>(owner)).count(HAND_ORDER[i]);
            for (; n > 0; --n, ++pieces) writer.put(code.hand[owner][i]);
        }
    }
    if (!writer.is_exactly_full()) fail("more pieces than a shogi set has");
    return writer.bytes();
}

PieceSets read(const PackedCode& code, HcpView bytes, Color viewer) {
    PieceSets sets;
    Reader(code, bytes, viewer, sets);
    return sets;
}

Board decode(const PackedCode& code, HcpView bytes) {
    const PieceSets sets = read(code, bytes, BLACK);
    Board pos = Board::empty();
    for (std::uint8_t p = 1; p < sets.pieces.size(); ++p) sets.pieces[p].for_each([&](Square s) { pos.put(static_cast<Piece>(p), s); });
    for (const Color c : {BLACK, WHITE})
        for (const PieceType t : HAND_ORDER) pos.set_hand(c, t, sets.hands[c].count(t));
    pos.set_turn(sets.turn);
    try {
        pos.finish();
    } catch (const ParseError& e) {
        reject(code, bytes, e.what());
    }
    return pos;
}

}  // namespace

Hcp encode_hcp(const Board& pos) { return encode(HCP_CODE, pos); }
Board decode_hcp(HcpView bytes) { return decode(HCP_CODE, bytes); }
PieceSets read_hcp(HcpView bytes, Color viewer) { return read(HCP_CODE, bytes, viewer); }

Hcp encode_psfen(const Board& pos) { return encode(PSFEN_CODE, pos); }
Board decode_psfen(HcpView bytes) { return decode(PSFEN_CODE, bytes); }

}  // namespace fukayomi
