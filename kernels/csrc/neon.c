#if defined(__aarch64__)
#define TURIA_NEON
#include "step.h"
#include "search.h"
#include "head.h"

const Variant turia_neon = {"neon", BYTE_OFFSET, run, search, choose, multiply_alone, sureness, perceptron};
#endif
