// 3x3 convolutions by Winograd's algorithm (Lavin and Gray 2015, arXiv:1509.09308): the board in nine tiles of OUTPUT x OUTPUT squares,
// each computed from INPUT x INPUT squares, which overlap. A convolution is then one product of matrices for each of the
// INPUT * INPUT points. Defined when they are compiled:
//   OUTPUT  3: F(3x3, 3x3), 25 points, the board without a remainder; 4: F(4x4, 3x3), 36 points, tiles beyond the edge
//   TILES   tiles that a work-item computes: 1, or 9 (a CPU, where the edges are then known to the compiler)
//
// The points' values are [INPUT * INPUT][channels][9][boards].

#define INPUT (OUTPUT + 2)

// One row or column: values of squares to values of points, and back.
#if OUTPUT == 3
// Points 0, 1, -1, 2 and infinity.
inline void to_points(Vector* d)
{
  const Vector a = d[3] - d[1], b = d[3] - d[2];
  const Vector p0 = 2.0f * (d[0] - d[2]) + a;
  const Vector p1 = b - 2.0f * d[1];
  const Vector p2 = b + 2.0f * (d[1] - d[2]);
  const Vector p4 = d[4] - d[2] - 2.0f * a;
  d[0] = p0, d[1] = p1, d[2] = p2, d[3] = a, d[4] = p4;
}
inline void to_squares(Vector* p)
{
  const Vector sum = p[1] + p[2], difference = p[1] - p[2];
  const Vector y0 = p[0] + sum + p[3];
  const Vector y1 = difference + 2.0f * p[3];
  const Vector y2 = sum + 4.0f * p[3] + p[4];
  p[0] = y0, p[1] = y1, p[2] = y2;
}
#else
// Points 0, +-sqrt(2), +-1/sqrt(2) and infinity, whose errors are the smallest.
#define ROOT 1.41421356237309505f
inline void to_points(Vector* d)
{
  const Vector a = d[4] - 0.5f * d[2], b = d[3] - 0.5f * d[1];
  const Vector c = d[4] - 2.0f * d[2], e = d[3] - 2.0f * d[1];
  const Vector p0 = d[0] - 2.5f * d[2] + d[4];
  const Vector p5 = d[1] - 2.5f * d[3] + d[5];
  d[0] = p0, d[1] = a + ROOT * b, d[2] = a - ROOT * b, d[3] = c + 0.5f * ROOT * e, d[4] = c - 0.5f * ROOT * e, d[5] = p5;
}
inline void to_squares(Vector* p)
{
  const Vector s1 = p[1] + p[2], d1 = p[1] - p[2], s2 = p[3] + p[4], d2 = p[3] - p[4];
  const Vector y0 = p[0] + s1 + s2;
  const Vector y1 = ROOT * d1 + 0.5f * ROOT * d2;
  const Vector y2 = 2.0f * s1 + 0.5f * s2;
  const Vector y3 = 2.0f * ROOT * d1 + 0.25f * ROOT * d2 + p[5];
  p[0] = y0, p[1] = y1, p[2] = y2, p[3] = y3;
}
#endif

// The tiles of a work-item. Global sizes of both kernels: boards (vectors), 9 / TILES, channels, or more.
#if TILES == 9
#define FOR_TILES(tile) _Pragma("unroll") for (int tile = 0; tile < 9; ++tile)
#else
#define FOR_TILES(tile) for (int tile = get_global_id(1); tile < 9; tile += 9)
#endif

// A map to its values at the points.
kernel void winograd_transform(
    global const Stored* restrict map, global Stored* restrict points, const int channels, const int boards)
{
  const int board = get_global_id(0), channel = get_global_id(2);
  if (board >= boards || channel >= channels)
    return;
  FOR_TILES(tile)
  {
    const int top = tile / 3 * OUTPUT - 1, left = tile % 3 * OUTPUT - 1;
    Vector d[INPUT][INPUT];
#pragma unroll
    for (int x = 0; x < INPUT; ++x) {
      Vector column[INPUT];
#pragma unroll
      for (int y = 0; y < INPUT; ++y) {
        const int row = top + y, file = left + x;
        const bool is_inside = row >= 0 && row < 9 && file >= 0 && file < 9;
        column[y] = is_inside ? LOAD(map, (channel * SQUARES + row * 9 + file) * boards + board) : SPLAT(0.0f);
      }
      to_points(column);
#pragma unroll
      for (int y = 0; y < INPUT; ++y)
        d[y][x] = column[y];
    }
#pragma unroll
    for (int y = 0; y < INPUT; ++y) {
      to_points(d[y]);
#pragma unroll
      for (int x = 0; x < INPUT; ++x)
        STORE(d[y][x], points, (((y * INPUT + x) * channels + channel) * 9 + tile) * boards + board);
    }
  }
}

// Values at the points to a map: plus the bias and the residual (a map, where has_residual), activated.
kernel void winograd_untransform(
    global const Stored* restrict points, global const float* restrict bias, global const Stored* residual,
    global Stored* map, const int has_residual, const int activation, const int channels, const int boards)
{
  const int board = get_global_id(0), channel = get_global_id(2);
  if (board >= boards || channel >= channels)
    return;
  FOR_TILES(tile)
  {
    Vector m[INPUT][INPUT];
#pragma unroll
    for (int x = 0; x < INPUT; ++x) {
      Vector column[INPUT];
#pragma unroll
      for (int y = 0; y < INPUT; ++y)
        column[y] = LOAD(points, (((y * INPUT + x) * channels + channel) * 9 + tile) * boards + board);
      to_squares(column);
#pragma unroll
      for (int y = 0; y < OUTPUT; ++y)
        m[y][x] = column[y];
    }
#pragma unroll
    for (int y = 0; y < OUTPUT; ++y) {
      to_squares(m[y]);
#pragma unroll
      for (int x = 0; x < OUTPUT; ++x) {
        const int row = tile / 3 * OUTPUT + y, file = tile % 3 * OUTPUT + x;
        if (row >= 9 || file >= 9)
          continue;
        const int place = (channel * SQUARES + row * 9 + file) * boards + board;
        Vector sum = m[y][x] + bias[channel];
        if (has_residual)
          sum += LOAD(residual, place);
        STORE(activated(sum, activation), map, place);
      }
    }
  }
}
