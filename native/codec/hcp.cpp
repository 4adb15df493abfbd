// The code, least significant bit first: the side to move (1 bit), the squares of Black's and White's king (7 bits
// each), the other 79 squares in order, Black's hand, White's hand, and the pieces that are set aside in handicap games
// (cshogi's addition). A piece in a hand takes one bit less than on the board, which pays for the square it left empty;
// so every complete set of pieces takes exactly 256 bits.
#include "codec/hcp.hpp"

#include <bit>
#include <cstring>
#include <string>

#include "shogi/errors.hpp"

namespace fukayomi {
namespace {

static_assert(std::endian::native == std::endian::little, "the bit cursor reads words as the file stores bytes");

constexpr int TOTAL_BITS = 256;
constexpr int OTHER_SQUARES = SQUARES - 2;  // all but the kings'
constexpr int BOX = 2;                      // after Black and White: whoever owns the pieces that are set aside

struct Code {
    std::uint8_t value;
    std::uint8_t bits;
};

constexpr Code board_code(Color c, PieceType t) {
    constexpr std::array<Code, 8> base = {{{0, 0}, {0b0001, 4}, {0b000011, 6}, {0b000111, 6}, {0b001011, 6},
                                           {0b00011111, 8}, {0b00111111, 8}, {0b001111, 6}}};
    const Code code = base[unpromote(t)];
    const int color_bit = t == GOLD ? code.bits - 1 : code.bits - 2;  // gold has no bit for promotion
    const int promoted = is_promoted(t) ? 1 << (code.bits - 1) : 0;
    return {static_cast<std::uint8_t>(code.value | (c << color_bit) | promoted), code.bits};
}

// owner: BLACK, WHITE or BOX; i: a place in HAND_ORDER.
constexpr Code hand_code(int owner, std::size_t i) {
    constexpr std::array<Code, HAND_TYPES> base = {
        {{0b000, 3}, {0b00001, 5}, {0b00011, 5}, {0b00101, 5}, {0b00111, 5}, {0b0011111, 7}, {0b0111111, 7}}};
    constexpr std::array<std::uint8_t, HAND_TYPES> box = {0b010,   0b01001,   0b01011,  0b01101,
                                                          0b11101, 0b0001111, 0b0101111};
    if (owner == BOX) return {box[i], base[i].bits};
    return {static_cast<std::uint8_t>(base[i].value | (owner << (base[i].bits - 1))), base[i].bits};
}

// Pieces are counted in the bytes of one word, by hand_index; the last byte is a bin for what is not counted.
constexpr std::array<int, HAND_TYPES> FULL_SET = {18, 4, 4, 4, 4, 2, 2};
constexpr std::uint8_t UNCOUNTED = 56;
constexpr std::uint64_t COUNTED = (1ULL << UNCOUNTED) - 1;
constexpr std::uint64_t FULL_COUNT = [] {
    std::uint64_t total = 0;
    for (std::size_t i = 0; i < HAND_TYPES; ++i) total |= static_cast<std::uint64_t>(FULL_SET[i]) << (8 * i);
    return total;
}();

constexpr int PEEK = 10;  // bits that choose an entry of BOARD_STEPS

// One step over the board: some empty squares, then, if all of its code is in sight, a piece.
struct BoardStep {
    std::uint8_t bits;
    std::uint8_t squares;
    std::uint8_t piece;        // NO_PIECE if the step ends with an empty square
    std::uint8_t count_shift;  // of its byte among the counts
};

constexpr BoardStep board_step(unsigned peeked) {
    const int empties = peeked == 0 ? PEEK : std::countr_zero(peeked);
    const unsigned rest = peeked >> empties;
    for (int c = 0; c < 2; ++c) {
        for (int type = PAWN; type < PIECE_TYPES; ++type) {
            const auto t = static_cast<PieceType>(type);
            if (t == KING) continue;
            const Code code = board_code(static_cast<Color>(c), t);
            if (code.bits > PEEK - empties || (rest & ((1U << code.bits) - 1)) != code.value) continue;
            return {static_cast<std::uint8_t>(empties + code.bits), static_cast<std::uint8_t>(empties + 1),
                    make_piece(static_cast<Color>(c), t), static_cast<std::uint8_t>(8 * hand_index(unpromote(t)))};
        }
    }
    return {static_cast<std::uint8_t>(empties), static_cast<std::uint8_t>(empties), NO_PIECE, UNCOUNTED};
}

constexpr auto BOARD_STEPS = [] {
    std::array<BoardStep, 1 << PEEK> steps{};
    for (unsigned i = 0; i < steps.size(); ++i) steps[i] = board_step(i);
    return steps;
}();

struct HandStep {
    std::uint8_t bits;  // 0: no such code
    std::uint8_t place;  // owner * 7 + place in HAND_ORDER: the order in which they must come
};

constexpr auto HAND_STEPS = [] {
    std::array<HandStep, 128> steps{};
    for (unsigned peeked = 0; peeked < steps.size(); ++peeked) {
        for (int owner = BLACK; owner <= BOX; ++owner) {
            for (std::size_t i = 0; i < HAND_TYPES; ++i) {
                const Code code = hand_code(owner, i);
                if ((peeked & ((1U << code.bits) - 1)) != code.value) continue;
                const std::size_t place = static_cast<std::size_t>(owner) * HAND_TYPES + i;
                steps[peeked] = {code.bits, static_cast<std::uint8_t>(place)};
            }
        }
    }
    return steps;
}();

[[noreturn]] void reject(HcpView bytes, const std::string& why) {
    constexpr std::string_view digits = "0123456789abcdef";
    std::string hex;
    for (const std::uint8_t b : bytes) {
        hex += digits[b >> 4];
        hex += digits[b & 15];
    }
    throw ParseError(ParseError::Kind::PACKED, "hcp " + hex + ": " + why);
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
    Reader(HcpView bytes, bool from_mover, PieceSets& sets) : bytes_(bytes), sets_(sets) {
        std::memcpy(buffer_.data(), bytes.data(), HCP_BYTES);
        read_header(from_mover);
        read_board();
        read_hands();
        if ((counts_ & COUNTED) != FULL_COUNT) reject(bytes_, "not the 40 pieces of a shogi set");
    }

private:
    // At least 57 bits from the cursor on, with zeros after the end.
    std::uint64_t peek() const {
        std::uint64_t word;
        std::memcpy(&word, buffer_.data() + (cursor_ >> 3), sizeof word);
        return word >> (cursor_ & 7);
    }

    void read_header(bool from_mover) {
        const std::uint64_t header = peek();
        sets_.turn = static_cast<Color>(header & 1);
        if (from_mover) {
            swap_ = static_cast<unsigned>(sets_.turn) << 4;
            seen_ = ONE_SQUARE[sets_.turn].data();
        }
        const auto black = static_cast<Square>((header >> 1) & 127);
        const auto white = static_cast<Square>((header >> 8) & 127);
        if (black >= SQUARES || white >= SQUARES) reject(bytes_, "a king is not on the board");
        if (black == white) reject(bytes_, "both kings on one square");
        low_king_ = black < white ? black : white;
        high_king_ = black < white ? white : black;
        place(make_piece(BLACK, KING), black);
        place(make_piece(WHITE, KING), white);
        cursor_ = 15;
    }

    void place(unsigned piece, Square s) {
        sets_.pieces[piece ^ swap_] |= seen_[static_cast<std::size_t>(s)];
    }

    // The square of the i-th place that is not a king's.
    Square square_of(int i) const {
        const Square s = i + (i >= low_king_);
        return s + (s >= high_king_);
    }

    void read_board() {
        int done = 0;
        while (done < OTHER_SQUARES) {
            if (cursor_ > TOTAL_BITS) reject(bytes_, "the board takes more than 256 bits");
            std::uint64_t word = peek();
            for (int n = 57 / PEEK; n > 0 && done < OTHER_SQUARES; --n) {
                const BoardStep step = BOARD_STEPS[word & ((1U << PEEK) - 1)];
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
            const HandStep step = HAND_STEPS[peek() & 127];
            if (step.bits == 0) reject(bytes_, "no such code for a piece in hand");
            if (step.place < last) reject(bytes_, "the pieces in hand are not in order");
            last = step.place;
            const std::size_t i = step.place % HAND_TYPES;
            const std::size_t owner = step.place / HAND_TYPES;
            counts_ += 1ULL << (8 * i);
            if (owner != BOX) sets_.hands[owner ^ (swap_ >> 4)].add(HAND_ORDER[i]);
            cursor_ += step.bits;
        }
        if (cursor_ != TOTAL_BITS) reject(bytes_, "it ends in the middle of a piece");
    }

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
    void skip(int bits) { cursor_ += bits; }
    // False when the 256 bits are full.
    bool put(Code code) {
        if (cursor_ + code.bits > TOTAL_BITS) return false;
        const auto word = static_cast<std::size_t>(cursor_ >> 6);
        const int shift = cursor_ & 63;
        words_[word] |= static_cast<std::uint64_t>(code.value) << shift;
        words_[word + 1] |= static_cast<std::uint64_t>(code.value) >> 1 >> (63 - shift);
        cursor_ += code.bits;
        return true;
    }
    bool full() const { return cursor_ == TOTAL_BITS; }
    Hcp bytes() const {
        Hcp hcp;
        std::memcpy(hcp.data(), words_.data(), HCP_BYTES);
        return hcp;
    }

private:
    std::array<std::uint64_t, TOTAL_BITS / 64 + 1> words_{};
    int cursor_ = 0;
};

constexpr auto BOARD_CODES = [] {
    std::array<Code, 32> codes{};
    for (int c = 0; c < 2; ++c)
        for (int type = PAWN; type < PIECE_TYPES; ++type)
            if (type != KING)
                codes[make_piece(static_cast<Color>(c), static_cast<PieceType>(type))] =
                    board_code(static_cast<Color>(c), static_cast<PieceType>(type));
    return codes;
}();

int set_aside(const Position& pos, std::size_t i) {
    const PieceType t = HAND_ORDER[i];
    Bitboard on_board = pos.pieces(t);
    if (can_promote(t)) on_board |= pos.pieces(promote(t));
    return FULL_SET[i] - on_board.count() - pos.hand(BLACK).count(t) - pos.hand(WHITE).count(t);
}

}  // namespace

Hcp encode_hcp(const Position& pos) {
    const auto fail = [&](const char* why) -> void {
        throw ParseError(ParseError::Kind::PACKED, "no hcp for the position \"" + pos.sfen() + "\": " + why);
    };
    const Square black = pos.king(BLACK);
    const Square white = pos.king(WHITE);
    if (black == NO_SQUARE || white == NO_SQUARE) fail("a king is missing");
    Writer writer;
    bool fits = writer.put({pos.turn(), 1}) && writer.put({static_cast<std::uint8_t>(black), 7}) &&
                writer.put({static_cast<std::uint8_t>(white), 7});
    Square next = 0;  // the first square that is not written yet
    const auto skip_to = [&](Square s) {
        writer.skip(s - next - (black >= next && black < s) - (white >= next && white < s));
        next = s;
    };
    const Bitboard kings = Bitboard::of(black) | Bitboard::of(white);
    and_not(pos.occupied(), kings).for_each([&](Square s) {
        skip_to(s);
        fits = fits && writer.put(BOARD_CODES[pos.piece_on(s)]);
        next = s + 1;
    });
    skip_to(SQUARES);
    for (int owner = BLACK; owner <= BOX; ++owner) {
        for (std::size_t i = 0; i < HAND_TYPES; ++i) {
            int n = owner == BOX ? set_aside(pos, i) : pos.hand(static_cast<Color>(owner)).count(HAND_ORDER[i]);
            for (; n > 0; --n) fits = fits && writer.put(hand_code(owner, i));
        }
    }
    if (!fits || !writer.full()) fail("more pieces than a shogi set has");
    return writer.bytes();
}

PieceSets read_hcp(HcpView bytes, bool from_mover) {
    PieceSets sets;
    Reader(bytes, from_mover, sets);
    return sets;
}

Position decode_hcp(HcpView bytes) {
    const PieceSets sets = read_hcp(bytes, false);
    Position pos = Position::empty();
    for (std::uint8_t p = 1; p < sets.pieces.size(); ++p)
        sets.pieces[p].for_each([&](Square s) { pos.put(static_cast<Piece>(p), s); });
    for (const Color c : {BLACK, WHITE})
        for (const PieceType t : HAND_ORDER) pos.set_hand(c, t, sets.hands[c].count(t));
    pos.set_turn(sets.turn);
    try {
        pos.finish();
    } catch (const ParseError& e) {
        reject(bytes, e.what());
    }
    return pos;
}

}  // namespace fukayomi
