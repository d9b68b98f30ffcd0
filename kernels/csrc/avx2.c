#if defined(__x86_64__)
#include <immintrin.h>
#include "target.h"
TARGET("avx2,fma")
#define TURIA_AVX2
#include "step.h"
#include "search.h"
#include "head.h"

const Variant turia_avx2 = {"avx2", BYTE_OFFSET, run, search, choose, multiply_alone, sureness, perceptron};
END_TARGET
#endif
