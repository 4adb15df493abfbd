// Product of matrices for CPUs: a work-item is a block of ROWS x COLUMNS vectors in registers; no local memory, no barriers. Defined
// when it is compiled, besides those of common.cl:
//   ROWS, COLUMNS  the block; `columns` must be a multiple of COLUMNS
//
// out[z] = weights[z] * in[z], the weights as [z][blocks of ROWS][depth][ROWS], in [z][depth][columns], out [z][rows][columns]; `columns`
// counts vectors. Global sizes: blocks of rows, columns / COLUMNS, z.
kernel void gemm(
    global const Stored* restrict weights, global const Stored* restrict in, global const float* restrict bias,
    global const Stored* residual, global Stored* out, const int has_bias, const int has_residual, const int activation,
    const int rows, const int columns, const int depth)
{
  const int block = get_global_id(0), column = get_global_id(1) * COLUMNS, z = get_global_id(2);
  global const Stored* w = weights + (long)(z * get_global_size(0) + block) * depth * ROWS;
  global const Stored* v = in + (long)z * depth * columns * LANES;
  Vector sum[ROWS][COLUMNS];
#pragma unroll
  for (int m = 0; m < ROWS; ++m)
#pragma unroll
    for (int n = 0; n < COLUMNS; ++n)
      sum[m][n] = SPLAT(0.0f);
  for (int k = 0; k < depth; ++k) {
    Vector x[COLUMNS];
#pragma unroll
    for (int n = 0; n < COLUMNS; ++n)
      x[n] = LOAD(v, k * columns + column + n);
#pragma unroll
    for (int m = 0; m < ROWS; ++m)
#pragma unroll
      for (int n = 0; n < COLUMNS; ++n)
        sum[m][n] += LOAD_ONE(w, k * ROWS + m) * x[n];
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
