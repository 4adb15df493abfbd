// What a network has besides products of matrices. Defined when they are compiled, besides those of common.cl:
//   HEAD  width of a head of attention; 0: the network has none
// `boards` counts vectors, but for unpack and gather, where positions are single.

// Bit-packed planes to maps of 0 and 1: squares [positions][628 bytes] to [62][81][boards], constants [positions][8 bytes] to
// [planes][81][boards]; positions from `count` on are 0. Global sizes: boards * LANES, planes, by planes of squares first.
kernel void unpack(
    global const uchar* restrict squares, global const uchar* restrict constants, global Stored* restrict map1,
    global Stored* restrict map2, const int count, const int planes2, const int boards)
{
  const int position = get_global_id(0), plane = get_global_id(1), width = boards * LANES;
  if (plane >= 62 + planes2)
    return;
  const bool is_square = plane < 62;
  const int flag = plane - 62;
  float value = 0;
  if (!is_square && position < count)
    value = constants[position * 8 + flag / 8] >> flag % 8 & 1;
  for (int square = 0; square < SQUARES; ++square) {
    if (is_square && position < count) {
      const int bit = plane * SQUARES + square;
      value = squares[position * 628 + bit / 8] >> bit % 8 & 1;
    }
    global Stored* map = is_square ? map1 + plane * SQUARES * width : map2 + flag * SQUARES * width;
#if STORAGE16
    vstore_half(value, square * width + position, map);
#else
    map[square * width + position] = value;
#endif
  }
}

// out = in * scale + shift of each channel, activated. Global sizes: squares * boards, channels.
kernel void affine(
    global const Stored* restrict in, global const float* restrict scale, global const float* restrict shift, global Stored* restrict out,
    const int activation, const int channels, const int size)
{
  const int place = get_global_id(0), channel = get_global_id(1);
  if (place < size && channel < channels)
    STORE(activated(LOAD(in, channel * size + place) * scale[channel] + shift[channel], activation), out, channel * size + place);
}

// out = a + b, activated. Global size: the number of vectors.
kernel void add(global const Stored* a, global const Stored* b, global Stored* out, const int activation, const int size)
{
  const int place = get_global_id(0);
  if (place < size)
    STORE(activated(LOAD(a, place) + LOAD(b, place), activation), out, place);
}

// The mean of each channel over the board: a map to a list of numbers. Global sizes: boards, channels.
kernel void mean(global const Stored* restrict map, global Stored* restrict out, const int channels, const int boards)
{
  const int board = get_global_id(0), channel = get_global_id(1);
  if (board >= boards || channel >= channels)
    return;
  Vector sum = SPLAT(0.0f);
  for (int square = 0; square < SQUARES; ++square)
    sum += LOAD(map, (channel * SQUARES + square) * boards + board);
  STORE(sum / (float)SQUARES, out, channel * boards + board);
}

// out = map * factor of the channel + residual, activated. Global sizes: squares * boards, channels.
kernel void excite(
    global const Stored* map, global const Stored* restrict factors, global const Stored* residual, global Stored* out,
    const int has_residual, const int activation, const int channels, const int boards)
{
  const int place = get_global_id(0), channel = get_global_id(1), size = SQUARES * boards;
  if (place >= size || channel >= channels)
    return;
  Vector y = LOAD(map, channel * size + place) * LOAD(factors, channel * boards + place % boards);
  if (has_residual)
    y += LOAD(residual, channel * size + place);
  STORE(activated(y, activation), out, channel * size + place);
}

// The nine squares along a line of each square, 0 beyond the edge: [channels][81] to [9][channels][81], for convolutions with 9x1 (neighbours
// are `step` 9 squares apart) and 1x9 (1) by products in tiles. Global sizes: squares * boards, channels.
kernel void lines(
    global const Stored* restrict map, global Stored* restrict out, const int step, const int channels, const int boards)
{
  const int place = get_global_id(0), channel = get_global_id(1), size = SQUARES * boards;
  if (place >= size || channel >= channels)
    return;
  const int along = place / boards / step % 9;
  for (int tap = 0; tap < 9; ++tap) {
    const int shift = tap - 4;
    const bool is_inside = along + shift >= 0 && along + shift < 9;
    STORE(
        is_inside ? LOAD(map, channel * size + place + shift * step * boards) : SPLAT(0.0f), out,
        (tap * channels + channel) * size + place);
  }
}

#if HEAD
// Attention over the squares: queries, keys and values are the first, second and third `channels` of a map, each divided into heads of HEAD
// channels. Softmax as it goes along (Milakov and Gimelshein 2018, arXiv:1805.02867). Global sizes: squares * boards, heads.
kernel void attention(
    global const Stored* restrict qkv, global Stored* restrict out, const int activation, const int channels, const int boards)
{
  const int place = get_global_id(0), size = SQUARES * boards;
  if (place >= size)
    return;
  const int board = place % boards, first = get_global_id(1) * HEAD;
  global const Stored* keys = qkv + (long)(channels + first) * size * LANES;
  global const Stored* values = qkv + (long)(2 * channels + first) * size * LANES;
  Vector query[HEAD], sum[HEAD];
  const float scale = rsqrt((float)HEAD);
  for (int d = 0; d < HEAD; ++d) {
    query[d] = LOAD(qkv, (first + d) * size + place) * scale;
    sum[d] = SPLAT(0.0f);
  }
  Vector top = SPLAT(-INFINITY), total = SPLAT(0.0f);
  for (int square = 0; square < SQUARES; ++square) {
    Vector score = SPLAT(0.0f);
    for (int d = 0; d < HEAD; ++d)
      score += query[d] * LOAD(keys, d * size + square * boards + board);
    const Vector higher = fmax(top, score), decay = exp(top - higher), weight = exp(score - higher);
    total = total * decay + weight;
    top = higher;
    for (int d = 0; d < HEAD; ++d)
      sum[d] = sum[d] * decay + weight * LOAD(values, d * size + square * boards + board);
  }
  for (int d = 0; d < HEAD; ++d)
    STORE(activated(sum[d] / total, activation), out, (first + d) * size + place);
}
#endif

// Whether a number is none or infinite, by its bits: a compiler may take for granted that there are none.
inline bool is_finite(float x)
{
  return (as_uint(x) & 0x7f800000) != 0x7f800000;
}

// The logits of the legal moves: policy [2187][boards] at labels [positions][width], plus the bias of the label, to [positions][width].
// good[0] becomes 0 where one is not finite. Global sizes: positions, width.
kernel void gather(
    global const Stored* restrict policy, global const float* restrict bias, global const ushort* restrict labels,
    global const ushort* restrict counts, global float* restrict logits, global int* restrict good, const int count, const int width,
    const int boards)
{
  const int position = get_global_id(0), move = get_global_id(1);
  if (position >= count || move >= counts[position])
    return;
  const int label = labels[position * width + move];
  const float logit = LOAD_ONE(policy, label * boards * LANES + position) + bias[label];
  logits[position * width + move] = logit;
  if (!is_finite(logit))
    good[0] = 0;
}

// The win probabilities: [boards] to floats; good[0] becomes 0 where one is none. Global size: positions.
kernel void win_rates(global const Stored* restrict in, global float* restrict values, global int* restrict good, const int count)
{
  const int position = get_global_id(0);
  if (position >= count)
    return;
  const float value = LOAD_ONE(in, position);
  values[position] = value;
  if (!is_finite(value) || value < 0 || value > 1)
    good[0] = 0;
}
