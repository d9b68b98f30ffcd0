#if defined(__aarch64__)
#include "target.h"
TARGET(DOTPROD)
#define TURIA_NEON
#define TURIA_DOTPROD
#include "step.h"
#include "search.h"
#include "head.h"

const Variant turia_dotprod = {"neon-dotprod", BYTE_OFFSET, run, search, choose, multiply_alone, sureness, perceptron};
END_TARGET
#endif
