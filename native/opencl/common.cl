// What all kernels share. Defined when they are compiled:
//   LANES      boards in a vector: 1, 2, 4, 8 or 16
//   STORAGE16  1: activations and weights lie in memory as half floats; sums and activation functions are floats
//
// A map of C channels is [C][81][boards], a list of numbers for each board [C][boards]. The board is the last index, so that a
// vector is the same square of several boards: no kernel shuffles, and neighbours in memory are neighbours in a work-group.

#define JOIN2(a, b) a##b
#define JOIN(a, b) JOIN2(a, b)

#if LANES == 1
typedef float Vector;
#define LOAD_HALF(p, i) vload_half(i, p)
#define STORE_HALF(v, p, i) vstore_half(v, i, p)
#define SPLAT(x) (x)
#else
typedef JOIN(float, LANES) Vector;
#define LOAD_HALF(p, i) JOIN(vload_half, LANES)(i, p)
#define STORE_HALF(v, p, i) JOIN(vstore_half, LANES)(v, i, p)
#define SPLAT(x) ((Vector)(x))
#endif

#if STORAGE16
typedef half Stored;
#define LOAD(p, i) LOAD_HALF(p, i)
#define STORE(v, p, i) STORE_HALF(v, p, i)
#define LOAD_ONE(p, i) vload_half(i, p)
#else
typedef float Stored;
#define LOAD(p, i) (((global const Vector*)(p))[i])
#define STORE(v, p, i) ((global Vector*)(p))[i] = (v)
#define LOAD_ONE(p, i) ((p)[i])
#endif

#define SQUARES 81

// Numbers of activation functions.
#define NONE 0
#define RELU 1
#define SILU 2
#define SIGMOID 3

#define ACTIVATED(Type, name, zero)             \
  inline Type name(Type x, int function)       \
  {                                            \
    if (function == RELU)                      \
      return fmax(x, zero);                    \
    if (function == SILU)                      \
      return x / (1.0f + exp(-x));             \
    if (function == SIGMOID)                   \
      return 1.0f / (1.0f + exp(-x));          \
    return x;                                  \
  }
ACTIVATED(Vector, activated, SPLAT(0.0f))
ACTIVATED(float, activated_one, 0.0f)
