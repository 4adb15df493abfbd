// Product of matrices by NVIDIA's tensor cores: inline PTX (wmma.load, wmma.mma, wmma.store; PTX ISA, "Warp-level matrix instructions") in half floats,
// sums in floats. A work-group computes a tile of MWG x NWG, in steps of KWG of the depth. Defined when it is compiled, besides those of common.cl,
// of which STORAGE16 must be 1; the names are those of the seed's tuner and of KataGo:
//   MWG, NWG, KWG  the tile, and how deep a step is
//   MWARP, NWARP   rows and columns of a fragment, which a warp computes at once: 16 x 16, 8 x 32 or 32 x 8, with a depth of 16
//   MWAVE, NWAVE   rows and columns of the fragments that all warps of the work-group compute at once
//   VWM, VWN       half floats that are loaded at once along rows and columns
//   SA, SB         1: the weights, or the inputs, go through local memory; 0: only where the tile does not lie inside the matrix
//   EMULATED       1: ordinary code in place of the PTX, for tests of all the rest on devices without tensor cores
//
// out[z] = weights[z] * in[z], the weights as [z][padded depth][padded rows], padded with zeros to multiples of KWG and MWG, in [z][depth][columns],
// out [z][rows][columns]; `columns` counts numbers. Global sizes: WORKERS for each MWG rows, 1 for each NWG columns, z.
//
// The PTX has never run: no card was at hand. clang 15 and ptxas 13 assemble it, for sm_75, sm_80 and sm_90, in all three shapes of fragments.
// The tuner tries it on NVIDIA's devices and takes it only where it compiles and computes what it should.

#define WARP 32
#define WARPS_M (MWAVE / MWARP)
#define WARPS_N (NWAVE / NWARP)
#define WORKERS (WARP * WARPS_M * WARPS_N)
#define FRAGMENTS_M (MWG / MWAVE)
#define FRAGMENTS_N (NWG / NWAVE)
#define DEPTH 16

#define TEXT2(x) #x
#define TEXT(x) TEXT2(x)
#define SHAPE "m" TEXT(MWARP) "n" TEXT(NWARP) "k16"

#if EMULATED
// A fragment is where its numbers lie: they do not change until it is used.
typedef struct {
  local const ushort* near;
  global const ushort* far;
  int stride;
} Fragment;
typedef struct {
  float x[8];
} Sums;
#define LOAD_FRAGMENT_LOCAL(f, matrix, order, p, s) (f).near = (p), (f).far = 0, (f).stride = (s)
#define LOAD_FRAGMENT_GLOBAL(f, matrix, order, p, s) (f).near = 0, (f).far = (p), (f).stride = (s)
inline float at(Fragment* f, int k, int i)
{
  const int place = k * f->stride + i;
  return f->near ? vload_half(place, (local const half*)f->near) : vload_half(place, (global const half*)f->far);
}
#define MULTIPLY(c, a, b)                                                            \
  for (int e = 0; e < 8; ++e)                                                        \
    for (int k = 0; k < DEPTH; ++k)                                                  \
      (c).x[e] += at(&(a), k, (lane * 8 + e) / NWARP) * at(&(b), k, (lane * 8 + e) % NWARP);
#define STORE_SUMS(c, p)        \
  for (int e = 0; e < 8; ++e)   \
    (p)[lane * 8 + e] = (c).x[e];
#else
typedef struct {
  uint x[8];
} Fragment;
typedef struct {
  float x[8];
} Sums;
#define LOAD_FRAGMENT(f, matrix, order, space, p, s)                                                                       \
  asm volatile("wmma.load." matrix ".sync.aligned." order "." SHAPE "." space ".f16 {%0,%1,%2,%3,%4,%5,%6,%7}, [%8], %9;"    \
               : "=r"((f).x[0]), "=r"((f).x[1]), "=r"((f).x[2]), "=r"((f).x[3]), "=r"((f).x[4]), "=r"((f).x[5]),           \
                 "=r"((f).x[6]), "=r"((f).x[7])                                                                            \
               : "l"(p), "r"(s)                                                                                            \
               : "memory")
#define LOAD_FRAGMENT_LOCAL(f, matrix, order, p, s) LOAD_FRAGMENT(f, matrix, order, "shared", p, s)
#define LOAD_FRAGMENT_GLOBAL(f, matrix, order, p, s) LOAD_FRAGMENT(f, matrix, order, "global", p, s)
#define MULTIPLY(c, a, b)                                                                                                  \
  asm volatile("wmma.mma.sync.aligned.col.row." SHAPE ".f32.f32 {%0,%1,%2,%3,%4,%5,%6,%7}, "                               \
               "{%8,%9,%10,%11,%12,%13,%14,%15}, {%16,%17,%18,%19,%20,%21,%22,%23}, {%0,%1,%2,%3,%4,%5,%6,%7};"             \
               : "+f"((c).x[0]), "+f"((c).x[1]), "+f"((c).x[2]), "+f"((c).x[3]), "+f"((c).x[4]), "+f"((c).x[5]),           \
                 "+f"((c).x[6]), "+f"((c).x[7])                                                                            \
               : "r"((a).x[0]), "r"((a).x[1]), "r"((a).x[2]), "r"((a).x[3]), "r"((a).x[4]), "r"((a).x[5]), "r"((a).x[6]),  \
                 "r"((a).x[7]), "r"((b).x[0]), "r"((b).x[1]), "r"((b).x[2]), "r"((b).x[3]), "r"((b).x[4]), "r"((b).x[5]),  \
                 "r"((b).x[6]), "r"((b).x[7]))
#define STORE_SUMS(c, p)                                                                                                   \
  asm volatile("wmma.store.d.sync.aligned.row." SHAPE ".shared.f32 [%0], {%1,%2,%3,%4,%5,%6,%7,%8}, %9;"                     \
               :                                                                                                           \
               : "l"(p), "f"((c).x[0]), "f"((c).x[1]), "f"((c).x[2]), "f"((c).x[3]), "f"((c).x[4]), "f"((c).x[5]),         \
                 "f"((c).x[6]), "f"((c).x[7]), "r"(NWARP)                                                                  \
               : "memory")
#endif

#define LOAD_BITS(width) JOIN(vload, width)
#define STORE_BITS(width) JOIN(vstore, width)

kernel __attribute__((reqd_work_group_size(WORKERS, 1, 1))) void gemm(
    global const ushort* restrict weights, global const ushort* restrict in, global half* out, const int rows, const int columns,
    const int depth, const int padded, const int padded_depth)
{
  local ushort tile_a[KWG][MWG] __attribute__((aligned(32)));
  local ushort tile_b[KWG][NWG] __attribute__((aligned(32)));
  local float staged[WORKERS / WARP][MWARP * NWARP] __attribute__((aligned(32)));
  const int worker = get_local_id(0), lane = worker % WARP, warp = worker / WARP;
  const int warp_m = warp % WARPS_M * MWARP, warp_n = warp / WARPS_M * NWARP;
  const int first_row = get_group_id(0) * MWG, first_column = get_group_id(1) * NWG, z = get_global_id(2);
  global const ushort* w = weights + (long)z * padded_depth * padded + first_row;
  global const ushort* v = in + (long)z * depth * columns + first_column;
  // The instructions need addresses and strides of whole 32 and 16 bytes.
  const bool is_plain = !SB && first_column + NWG <= columns && depth % KWG == 0 && columns % 16 == 0;
  Sums sums[FRAGMENTS_M][FRAGMENTS_N];
#pragma unroll
  for (int m = 0; m < FRAGMENTS_M; ++m)
#pragma unroll
    for (int n = 0; n < FRAGMENTS_N; ++n)
#pragma unroll
      for (int e = 0; e < 8; ++e)
        sums[m][n].x[e] = 0;

  for (int step = 0; step < depth; step += KWG) {
#if SA
    for (int i = worker; i < KWG * MWG / VWM; i += WORKERS) {
      const int k = i / (MWG / VWM), m = i % (MWG / VWM) * VWM;
      STORE_BITS(VWM)(LOAD_BITS(VWM)(0, w + (long)(step + k) * padded + m), 0, &tile_a[k][m]);
    }
#endif
    if (!is_plain)
      for (int i = worker; i < KWG * NWG / VWN; i += WORKERS) {
        const int k = i / (NWG / VWN), n = i % (NWG / VWN) * VWN;
        global const ushort* from = v + (long)(step + k) * columns + n;
        if (step + k < depth && first_column + n + VWN <= columns)
          STORE_BITS(VWN)(LOAD_BITS(VWN)(0, from), 0, &tile_b[k][n]);
        else
          for (int j = 0; j < VWN; ++j)
            tile_b[k][n + j] = step + k < depth && first_column + n + j < columns ? from[j] : 0;
      }
    barrier(CLK_LOCAL_MEM_FENCE);
#pragma unroll
    for (int k = 0; k < KWG; k += DEPTH) {
      Fragment a[FRAGMENTS_M], b[FRAGMENTS_N];
#pragma unroll
      for (int m = 0; m < FRAGMENTS_M; ++m) {
#if SA
        LOAD_FRAGMENT_LOCAL(a[m], "a", "col", &tile_a[k][m * MWAVE + warp_m], MWG);
#else
        LOAD_FRAGMENT_GLOBAL(a[m], "a", "col", w + (long)(step + k) * padded + m * MWAVE + warp_m, padded);
#endif
      }
#pragma unroll
      for (int n = 0; n < FRAGMENTS_N; ++n) {
        if (is_plain) {
          LOAD_FRAGMENT_GLOBAL(b[n], "b", "row", v + (long)(step + k) * columns + n * NWAVE + warp_n, columns);
        } else {
          LOAD_FRAGMENT_LOCAL(b[n], "b", "row", &tile_b[k][n * NWAVE + warp_n], NWG);
        }
      }
#pragma unroll
      for (int m = 0; m < FRAGMENTS_M; ++m)
#pragma unroll
        for (int n = 0; n < FRAGMENTS_N; ++n) {
          MULTIPLY(sums[m][n], a[m], b[n]);
        }
    }
    barrier(CLK_LOCAL_MEM_FENCE);
  }

  global half* o = out + (long)z * rows * columns;
#pragma unroll
  for (int m = 0; m < FRAGMENTS_M; ++m)
#pragma unroll
    for (int n = 0; n < FRAGMENTS_N; ++n) {
      STORE_SUMS(sums[m][n], staged[warp]);
      barrier(CLK_LOCAL_MEM_FENCE);
      for (int i = lane; i < MWARP * NWARP; i += WARP) {
        const int row = first_row + m * MWAVE + warp_m + i / NWARP, column = first_column + n * NWAVE + warp_n + i % NWARP;
        if (row < rows && column < columns)
          vstore_half(staged[warp][i], (long)row * columns + column, o);
      }
      barrier(CLK_LOCAL_MEM_FENCE);
    }
}
