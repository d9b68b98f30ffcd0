#if defined(__x86_64__)
#include <immintrin.h>
#include "target.h"
TARGET("avx2,fma,avx512f,avx512bw,avx512dq,avx512vl,avx512vnni")
#define TURIA_AVX512
#include "step.h"
#include "search.h"
#include "head.h"

const Variant turia_avx512 = {"avx512-vnni", BYTE_OFFSET, run, search, choose, multiply_alone, sureness, perceptron};
END_TARGET
#endif
