// Product of matrices for CPUs: a work-item is a block of ROWS x COLUMNS vectors in registers; no local memory, no barriers. Defined
// when it is compiled, besides those of common.cl:
//   ROWS, COLUMNS  the block; `columns` must be a multiple of COLUMNS
//   TAPS           1: a product; 9: a convolution with 9x1 or 1x9, which is the sum of nine products, each with the map moved along its lines
//
// out[z] = weights[z] * in[z], the weights as [z][blocks of ROWS][TAPS][depth][ROWS], in [z][depth][columns], out [z][rows][columns]; `columns`
// counts vectors. `step` is how far two neighbours of a line are apart, in squares: 1 or 9. Global sizes: blocks of rows, columns / COLUMNS, z.

#if TAPS == 1
#define NUMBER(k, n) LOAD(v, (k) * columns + column + (n))
#else
#define NUMBER(k, n) (is_inside[n] ? LOAD(v, (k) * columns + place[n]) : SPLAT(0.0f))
#endif

kernel void gemm(
    global const Stored* restrict weights, global const Stored* restrict in, global const float* restrict bias,
    global const Stored* residual, global Stored* out, const int has_bias, const int has_residual, const int activation,
    const int rows, const int columns, const int depth, const int step)
{
  const int block = get_global_id(0), column = get_global_id(1) * COLUMNS, z = get_global_id(2);
  global const Stored* w = weights + (long)(z * get_global_size(0) + block) * TAPS * depth * ROWS;
  global const Stored* v = in + (long)z * depth * columns * LANES;
  Vector sum[ROWS][COLUMNS];
#pragma unroll
  for (int m = 0; m < ROWS; ++m)
#pragma unroll
    for (int n = 0; n < COLUMNS; ++n)
      sum[m][n] = SPLAT(0.0f);
  for (int tap = 0; tap < TAPS; ++tap, w += depth * ROWS) {
#if TAPS > 1
    const int boards = columns / SQUARES, shift = tap - TAPS / 2;
    int place[COLUMNS];
    bool is_inside[COLUMNS], is_any_inside = false;
#pragma unroll
    for (int n = 0; n < COLUMNS; ++n) {
      const int along = (column + n) / boards / step % TAPS + shift;
      place[n] = column + n + shift * step * boards;
      is_inside[n] = along >= 0 && along < TAPS;
      is_any_inside = is_any_inside || is_inside[n];
    }
    if (!is_any_inside)
      continue;
#endif
    for (int k = 0; k < depth; ++k) {
      Vector x[COLUMNS];
#pragma unroll
      for (int n = 0; n < COLUMNS; ++n)
        x[n] = NUMBER(k, n);
#pragma unroll
      for (int m = 0; m < ROWS; ++m)
#pragma unroll
        for (int n = 0; n < COLUMNS; ++n)
          sum[m][n] += LOAD_ONE(w, k * ROWS + m) * x[n];
    }
  }
  const int first = block * ROWS;
  global Stored* o = out + (long)z * rows * columns * LANES;
  global const Stored* r = residual + (long)z * rows * columns * LANES;
#pragma unroll
  for (int m = 0; m < ROWS; ++m) {
    const int row = first + m;
    if (row >= rows)
      continue;
#pragma unroll
    for (int n = 0; n < COLUMNS; ++n) {
      Vector y = sum[m][n];
      if (has_bias)
        y += bias[row];
      if (has_residual)
        y += LOAD(r, row * columns + column + n);
      STORE(activated(y, activation), o, row * columns + column + n);
    }
  }
}
