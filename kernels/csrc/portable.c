#include "step.h"
#include "search.h"
#include "head.h"

const Variant turia_portable = {"portable", BYTE_OFFSET, run, search, choose, multiply_alone, sureness, perceptron};
