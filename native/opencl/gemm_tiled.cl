// Product of matrices for GPUs: a work-group computes a tile of MWG x NWG, in steps of KWG of the depth, through local memory. The parameters have
// the names that the seed's tuner and KataGo give them (after CLBlast). Defined when it is compiled, besides those of common.cl:
//   MWG, NWG, KWG  the tile, and how deep a step is
//   MDIMC, NDIMC   the work-group; a work-item computes MWG / MDIMC x NWG / NDIMC numbers
//   MDIMA, NDIMB   the shape in which the work-group loads the two matrices
//   KWI            how far the loop over a step's depth is unrolled
//   VWM, VWN       numbers loaded and stored at once along rows and columns
//   STRM, STRN     1: a work-item's rows or columns are MDIMC or NDIMC vectors apart; 0: they are neighbours
//   SA, SB         1: the weights, or the inputs, go through local memory
//   PADA, PADB     numbers between the rows of local memory, so that they do not share banks
//   COMPUTE16      1: products and sums of one step are half floats
//
// out[z] = weights[z] * in[z], the weights as [z][depth][padded rows], in [z][depth][columns], out [z][rows][columns]; `columns` counts numbers and is a
// multiple of VWN, `padded` one of VWM. Global sizes: MDIMC for each MWG rows, NDIMC for each NWG columns, z.

#if COMPUTE16
#pragma OPENCL EXTENSION cl_khr_fp16 : enable
typedef half Real;
#else
typedef float Real;
#endif

#define ITEMS (MDIMC * NDIMC)
#define MWI (MWG / MDIMC)
#define NWI (NWG / NDIMC)
#define KDIMA (ITEMS / MDIMA)
#define KDIMB (ITEMS / NDIMB)

// Where the i-th number of a work-item's rows, or columns, lies in the tile.
#if STRM
#define ROW(i) ((((i) / VWM) * MDIMC + row_item) * VWM + (i) % VWM)
#else
#define ROW(i) (row_item * MWI + (i))
#endif
#if STRN
#define COLUMN(i) ((((i) / VWN) * NDIMC + column_item) * VWN + (i) % VWN)
#else
#define COLUMN(i) (column_item * NWI + (i))
#endif

kernel __attribute__((reqd_work_group_size(MDIMC, NDIMC, 1))) void gemm(
    global const Stored* restrict weights, global const Stored* restrict in, global const float* restrict bias,
    global const Stored* residual, global Stored* out, const int has_bias, const int has_residual, const int activation,
    const int rows, const int columns, const int depth, const int padded)
{
  const int row_item = get_local_id(0), column_item = get_local_id(1), item = column_item * MDIMC + row_item;
  const int first_row = get_group_id(0) * MWG, first_column = get_group_id(1) * NWG, z = get_global_id(2);
  global const Stored* w = weights + (long)z * depth * padded;
  global const Stored* v = in + (long)z * depth * columns;
#if SA
  local Real tile_a[KWG][MWG + PADA];
#endif
#if SB
  local Real tile_b[KWG][NWG + PADB];
#endif
  float sum[MWI][NWI];
#pragma unroll
  for (int m = 0; m < MWI; ++m)
#pragma unroll
    for (int n = 0; n < NWI; ++n)
      sum[m][n] = 0;

  for (int step = 0; step < depth; step += KWG) {
#if SA
    for (int k = item / MDIMA; k < KWG; k += KDIMA)
      for (int m = item % MDIMA * VWM; m < MWG; m += MDIMA * VWM)
#pragma unroll
        for (int i = 0; i < VWM; ++i) {
          const bool is_inside = step + k < depth && first_row + m + i < padded;
          tile_a[k][m + i] = is_inside ? (Real)LOAD_ONE(w, (step + k) * padded + first_row + m + i) : (Real)0;
        }
#endif
#if SB
    for (int k = item / NDIMB; k < KWG; k += KDIMB)
      for (int n = item % NDIMB * VWN; n < NWG; n += NDIMB * VWN)
#pragma unroll
        for (int i = 0; i < VWN; ++i) {
          const bool is_inside = step + k < depth && first_column + n + i < columns;
          tile_b[k][n + i] = is_inside ? (Real)LOAD_ONE(v, (step + k) * columns + first_column + n + i) : (Real)0;
        }
#endif
#if SA || SB
    barrier(CLK_LOCAL_MEM_FENCE);
#endif
    Real part[MWI][NWI];
#pragma unroll
    for (int m = 0; m < MWI; ++m)
#pragma unroll
      for (int n = 0; n < NWI; ++n)
        part[m][n] = 0;
    for (int outer = 0; outer < KWG; outer += KWI) {
#pragma unroll
      for (int inner = 0; inner < KWI; ++inner) {
        const int k = outer + inner;
        Real a[MWI], b[NWI];
#pragma unroll
        for (int m = 0; m < MWI; ++m) {
#if SA
          a[m] = tile_a[k][ROW(m)];
#else
          const int row = first_row + ROW(m);
          a[m] = step + k < depth && row < padded ? (Real)LOAD_ONE(w, (step + k) * padded + row) : (Real)0;
#endif
        }
#pragma unroll
        for (int n = 0; n < NWI; ++n) {
#if SB
          b[n] = tile_b[k][COLUMN(n)];
#else
          const int column = first_column + COLUMN(n);
          b[n] = step + k < depth && column < columns ? (Real)LOAD_ONE(v, (step + k) * columns + column) : (Real)0;
#endif
        }
#pragma unroll
        for (int m = 0; m < MWI; ++m)
#pragma unroll
          for (int n = 0; n < NWI; ++n)
            part[m][n] += a[m] * b[n];
      }
    }
#pragma unroll
    for (int m = 0; m < MWI; ++m)
#pragma unroll
      for (int n = 0; n < NWI; ++n)
        sum[m][n] += part[m][n];
#if SA || SB
    barrier(CLK_LOCAL_MEM_FENCE);
#endif
  }

  global Stored* o = out + (long)z * rows * columns;
  global const Stored* r = residual + (long)z * rows * columns;
#pragma unroll
  for (int m = 0; m < MWI; ++m) {
    const int row = first_row + ROW(m);
    if (row >= rows)
      continue;
#pragma unroll
    for (int n = 0; n < NWI; ++n) {
      const int column = first_column + COLUMN(n);
      if (column >= columns)
        continue;
      float y = sum[m][n];
      if (has_bias)
        y += bias[row];
      if (has_residual)
        y += LOAD_ONE(r, row * columns + column);
      y = activated_one(y, activation);
#if STORAGE16
      vstore_half(y, row * columns + column, o);
#else
      o[row * columns + column] = y;
#endif
    }
  }
}
