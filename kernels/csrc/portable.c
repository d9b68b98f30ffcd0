#include "step.h"

const Variant turia_portable = {"portable", BYTE_OFFSET, run, choose, multiply_alone};
