/* What Python calls (by ctypes), and the choice of a variant. */
#define PY_SSIZE_T_CLEAN
#if !defined(TURIA_WITHOUT_PYTHON)
#include <Python.h>
#endif
#if defined(__aarch64__) && defined(__linux__)
#include <sys/auxv.h>
#endif

#include <stdlib.h>

#include "api.h"
#include "pool.h"

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
  const int64_t sizes[] = {sizeof(Matrix), sizeof(Layer), sizeof(Side), sizeof(StreamPart), sizeof(Step), sizeof(Choice),
                           sizeof(Search)};
  return sizes[which];
}

EXPORTED Pool *turia_begin_pool(int64_t threads) { return begin_pool(threads); }

EXPORTED void turia_end_pool(Pool *pool) { end_pool(pool); }

#define MOST_GROUPS 64
#define LEAST_ROWS 8   /* of a group: every thread reads all weights, which is what few rows wait for */
#define SEARCH_ROWS 48 /* of a group of searches: what many more rows leave behind does not stay in the cache */

/* A step that runs, in groups of streams. */
typedef struct {
  Job job;
  const Variant *variant;
  const Side *side;
  Step step[MOST_GROUPS];
  Search *search[MOST_GROUPS]; /* none in a step without searches */
  int failed[MOST_GROUPS];
  int64_t groups;
} Groups;

static void run_group(void *context, int64_t number) {
  Groups *g = context;
  const Step *step = g->step + number;
  g->failed[number] =
      g->search[number] ? g->variant->search(g->side, step, g->search[number]) : g->variant->run(g->side, step);
}

/* Cuts a step into groups of streams with about as many rows each. A search counts as the rows of its beam. */
static void cut(Groups *g, const Step *whole, Search *searches, int64_t threads) {
  int64_t weight = 0, done = 0, begin = 0, row = 0, given = 0;
  const Side *side = g->side;
  for (int64_t n = 0; n < whole->streams; n++) weight += whole->part[n].rows + (searches ? searches[n].width : 0);
  int64_t groups = searches ? (weight / SEARCH_ROWS + threads - 1) / threads * threads : threads;
  if (groups < threads) groups = threads;
  if (groups > weight / LEAST_ROWS) groups = weight / LEAST_ROWS;
  if (groups > MOST_GROUPS) groups = MOST_GROUPS;
  g->groups = 0;
  for (int64_t n = 0, rows = 0, states = 0; n < whole->streams; n++) {
    const StreamPart *part = whole->part + n;
    rows += part->rows, done += part->rows + (searches ? searches[n].width : 0);
    states += !side->is_decoder || part->gives_all ? part->rows : 1;
    if (n + 1 < whole->streams && done * groups < weight * (g->groups + 1)) continue;
    Step *step = g->step + g->groups;
    *step = *whole;
    step->streams = n + 1 - begin, step->rows = rows, step->part += begin;
    step->ids += row, step->positions += row, step->limits += row;
    if (step->memory_limits) step->memory_limits += row;
    step->states += given * side->width;
    if (step->logits) step->logits += given * side->output.outputs;
    g->search[g->groups++] = searches ? searches + begin : 0;
    begin = n + 1, row += rows, given += states, rows = states = 0;
  }
}

/* Begins a step, or with `searches` one that goes on as a search of each stream. All that it points to must stay where
it is until it is finished. Without a pool it is done at once. Gives what `turia_finish` takes; none without memory.

Of several steps `at_once`, each is cut into fewer groups, which are the larger: two tasks for each thread are enough. */
EXPORTED Groups *turia_begin(const Variant *variant, Pool *pool, const Side *side, const Step *step, Search *searches,
                             int64_t at_once) {
  const int64_t threads = pool ? pool->threads + 1 : 1, shared = (2 * threads + at_once - 1) / at_once;
  Groups *groups = malloc(sizeof(Groups));
  if (!groups) return 0;
  groups->variant = variant, groups->side = side;
  cut(groups, step, searches, shared < threads ? shared : threads);
  begin_job(pool, &groups->job, run_group, groups, groups->groups);
  return groups;
}

/* Waits until it is done; 1 if there was no memory left. */
EXPORTED int64_t turia_finish(Pool *pool, Groups *groups) {
  int64_t failed = 0;
  finish_job(pool, &groups->job);
  for (int64_t i = 0; i < groups->groups; i++) failed |= groups->failed[i];
  free(groups);
  return failed;
}

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

/* An array of float32 with so many dimensions, whose numbers lie one after the other; 0, and an error, if it is none. */
static int get_floats(PyObject *array, Py_buffer *view, int dimensions) {
  if (PyObject_GetBuffer(array, view, PyBUF_ND | PyBUF_FORMAT)) return 0;
  if (view->ndim == dimensions && view->itemsize == 4 && view->format && !strcmp(view->format, "f")) return 1;
  PyBuffer_Release(view);
  PyErr_Format(PyExc_TypeError, "expected float32 with %d dimensions", dimensions);
  return 0;
}

/* The two calls that a learned policy makes for each word it reads are Python's own: ctypes would take longer than they do.

sureness(variant, logits [V] float32, forbidden [V] bool) -> float */
static PyObject *sureness(PyObject *self, PyObject *const *given, Py_ssize_t count) {
  Py_buffer logits, forbidden;
  PyObject *found = 0;
  (void)self;
  const Variant *variant = count == 3 ? PyLong_AsVoidPtr(given[0]) : 0;
  if (!variant) return PyErr_Occurred() ? 0 : PyErr_Format(PyExc_TypeError, "expected variant, logits, forbidden");
  if (!get_floats(given[1], &logits, 1)) return 0;
  if (!PyObject_GetBuffer(given[2], &forbidden, PyBUF_SIMPLE)) {
    if (logits.len == 4 * forbidden.len)
      found = PyFloat_FromDouble(variant->sureness(logits.buf, forbidden.buf, forbidden.len));
    else
      PyErr_SetString(PyExc_ValueError, "logits and forbidden have different lengths");
    PyBuffer_Release(&forbidden);
  }
  PyBuffer_Release(&logits);
  return found;
}

#define MOST_VALUES 4096 /* that a head is shown */

/* perceptron(variant, rows [H, N + 2] float32, states, numbers) -> float

The N values are those of a sequence of arrays of float32, then of a tuple of numbers. */
static PyObject *perceptron(PyObject *self, PyObject *const *given, Py_ssize_t count) {
  float values[MOST_VALUES];
  Py_buffer rows, state;
  int64_t shown = 0;
  (void)self;
  const Variant *variant = count == 4 ? PyLong_AsVoidPtr(given[0]) : 0;
  if (!variant || !PyTuple_Check(given[2]) || !PyTuple_Check(given[3]))
    return PyErr_Occurred() ? 0 : PyErr_Format(PyExc_TypeError, "expected variant, rows, states, numbers");
  for (Py_ssize_t i = 0; i < PyTuple_Size(given[2]); i++) {
    if (!get_floats(PyTuple_GetItem(given[2], i), &state, 1)) return 0;
    const int64_t more = state.len / 4, fits = shown + more <= MOST_VALUES;
    if (fits) memcpy(values + shown, state.buf, 4 * more), shown += more;
    PyBuffer_Release(&state);
    if (!fits) return PyErr_Format(PyExc_ValueError, "a head takes at most %d values", MOST_VALUES);
  }
  for (Py_ssize_t i = 0; i < PyTuple_Size(given[3]); i++) {
    if (shown == MOST_VALUES) return PyErr_Format(PyExc_ValueError, "a head takes at most %d values", MOST_VALUES);
    const double number = PyFloat_AsDouble(PyTuple_GetItem(given[3], i));
    if (number == -1 && PyErr_Occurred()) return 0;
    values[shown++] = (float)number;
  }
  if (!get_floats(given[1], &rows, 2)) return 0;
  PyObject *found = 0;
  if (rows.shape[1] != shown + 2)
    PyErr_Format(PyExc_ValueError, "the head takes another number of values than %lld", (long long)shown);
  else
    found = PyFloat_FromDouble(variant->perceptron(rows.buf, rows.shape[0], values, shown));
  PyBuffer_Release(&rows);
  return found;
}

/* An extension module, so that pip and wheels treat the library as what it is; all else is called by ctypes. */
static PyMethodDef methods[] = {{"address", address, METH_O, 0},
                                {"sureness", (PyCFunction)(void (*)(void))sureness, METH_FASTCALL, 0},
                                {"perceptron", (PyCFunction)(void (*)(void))perceptron, METH_FASTCALL, 0},
                                {0, 0, 0, 0}};
static struct PyModuleDef module = {PyModuleDef_HEAD_INIT, "_step", 0, -1, methods, 0, 0, 0, 0};

PyMODINIT_FUNC PyInit__step(void) { return PyModule_Create(&module); }
#endif
