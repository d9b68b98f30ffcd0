/* What Python calls (by ctypes), and the choice of a variant. */
#define PY_SSIZE_T_CLEAN
#if !defined(TURIA_WITHOUT_PYTHON)
#include <Python.h>
#endif
#if defined(__aarch64__) && defined(__linux__)
#include <sys/auxv.h>
#endif

#include "api.h"

#define EXPORTED __attribute__((visibility("default")))

#if defined(__aarch64__)
static int has_dotprod(void) {
#if defined(__linux__)
  return (getauxval(AT_HWCAP) >> 20) & 1; /* HWCAP_ASIMDDP */
#else
  return 1; /* Apple's: all of them */
#endif
}
#endif

/* The variants that this processor can run, the fastest first; none after the last. */
EXPORTED const Variant *turia_variant(int64_t number) {
  const Variant *found[4];
  int64_t count = 0;
#if defined(__x86_64__)
  __builtin_cpu_init();
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq") &&
      __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512vnni"))
    found[count++] = &turia_avx512;
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) found[count++] = &turia_avx2;
#elif defined(__aarch64__)
  if (has_dotprod()) found[count++] = &turia_dotprod;
  found[count++] = &turia_neon;
#endif
  found[count++] = &turia_portable;
  return number < count ? found[number] : 0;
}

EXPORTED int64_t turia_sizes(int64_t which) {
  const int64_t sizes[] = {sizeof(Matrix), sizeof(Layer), sizeof(Side), sizeof(StreamPart), sizeof(Step), sizeof(Choice)};
  return sizes[which];
}

EXPORTED int64_t turia_run(const Variant *variant, const Side *side, const Step *step) { return variant->run(side, step); }

EXPORTED int64_t turia_choose(const Variant *variant, const Choice *choice) { return variant->choose(choice); }

EXPORTED int64_t turia_multiply(const Variant *variant, const Matrix *matrix, const float *x, int64_t rows, float *out) {
  return variant->multiply(matrix, x, rows, out);
}

#if !defined(TURIA_WITHOUT_PYTHON)
/* The address of an array's numbers, which must lie one after the other: numpy's own way takes ten times as long. */
static PyObject *address(PyObject *self, PyObject *array) {
  Py_buffer view;
  (void)self;
  if (PyObject_GetBuffer(array, &view, PyBUF_SIMPLE)) return 0;
  PyObject *found = PyLong_FromVoidPtr(view.buf);
  PyBuffer_Release(&view);
  return found;
}

/* An extension module, so that pip and wheels treat the library as what it is; all else is called by ctypes. */
static PyMethodDef methods[] = {{"address", address, METH_O, 0}, {0, 0, 0, 0}};
static struct PyModuleDef module = {PyModuleDef_HEAD_INIT, "_step", 0, -1, methods, 0, 0, 0, 0};

PyMODINIT_FUNC PyInit__step(void) { return PyModule_Create(&module); }
#endif
