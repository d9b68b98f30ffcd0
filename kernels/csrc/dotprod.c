#if defined(__aarch64__)
#include "target.h"
TARGET(DOTPROD)
#define TURIA_NEON
#define TURIA_DOTPROD
#include "step.h"
#include "search.h"

const Variant turia_dotprod = {"neon-dotprod", BYTE_OFFSET, run, search, choose, multiply_alone};
END_TARGET
#endif
