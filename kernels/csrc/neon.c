#if defined(__aarch64__)
#define TURIA_NEON
#include "step.h"

const Variant turia_neon = {"neon", BYTE_OFFSET, run, choose, multiply_alone};
#endif
