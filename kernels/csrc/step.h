/* A step of the encoder or of the decoder, for the rows of several streams at once. Each variant includes this file once.

Every row is computed by itself, in an order that depends on nothing but what the row sees. So a row gets the same bits
alone, in a batch, in a beam, and however a window is cut into calls. Products of int8 are whole numbers, so blocks of
rows change nothing. The rounding of rows to bytes is that of the graphs (src/turia/export/graph.py). */

#include <stdlib.h>

#include "api.h"
#include "simd.h"

#define EPSILON 1e-5f
#define TINY 1.17549435e-38f
#define NOTHING -1e30f
#define SMALL 1e-30f
#define LARGE 1e30f
#define NEARLY_HALF 0.4995f /* the product is off by less than 2^-12: eight roundings of numbers up to 255 */

typedef struct {
  float *x, *y, *wide, *scores;
  uint8_t *bytes;
  float *peaks;
  int64_t *kept_rows;
} Scratch;

/* --- products ------------------------------------------------------------------------------------------------- */

INLINE int64_t filled(int64_t count, int64_t unit) { return (count + unit - 1) / unit * unit; }

/* Rows [rows, K] as bytes: round(x / peak * 127) with zero at 128, or round(x / peak * 255) from zero. The graphs divide
twice, which takes long. One product comes so near that only numbers close to a half need the divisions. */
static void quantise(const float *x, int64_t rows, int64_t stride, const Matrix *m, uint8_t *bytes, float *peaks) {
  const int64_t inputs = m->inputs, step = filled(inputs, 4);
  const float steps = m->zero ? 127 : 255;
  const vf unit = vf_set1(1.0f / steps);
  for (int64_t r = 0; r < rows; r++, x += stride, bytes += step) {
    vf top = vf_set1(TINY);
    for (int64_t k = 0; k < inputs; k += LANES) top = vf_max(top, vf_abs(vf_load(x + k)));
    const float peak = vf_top(top);
    const vf by = vf_set1(peak), factor = vf_set1(steps / peak);
    const int divides = !(peak > SMALL && peak < LARGE);
    for (int64_t k = 0; k < inputs; k += LANES) {
      vf scaled = vf_mul(vf_load(x + k), factor);
      if (divides || vf_reaches(vf_abs(vf_sub(scaled, vf_round(scaled))), NEARLY_HALF))
        scaled = vf_div(vf_div(vf_load(x + k), by), unit);
      vf_quantise(bytes + k, scaled, (int)m->zero);
    }
    peaks[r] = peak;
  }
}

/* A product of rows with a matrix. */
typedef struct {
  const Matrix *m;
  const uint8_t *bytes;    /* [rows, step] */
  const float *peaks;      /* [rows] */
  int64_t step;
  float *out;              /* [rows, stride] */
  int64_t stride;
} Product;

/* `rows` from `row` on, times `panels` * 16 columns. Both are constants where this is inlined, and so is `fetches`:
whether what lies at `ahead` is brought into the second cache meanwhile. */
INLINE void block(const Product *product, int64_t row, int64_t column, const int8_t *ahead, const int rows,
                  const int panels, const int fetches) {
  const Matrix *m = product->m;
  const int64_t step = product->step;
  const uint8_t *bytes = product->bytes + row * step;
  const int8_t *packed = m->packed + column * step;
  vi sum[BLOCK_ROWS][PANELS];
#pragma GCC unroll 8
  for (int p = 0; p < panels; p++)
#pragma GCC unroll 8
    for (int r = 0; r < rows; r++) sum[r][p] = vi_load(m->start + column + LANES * p);
  for (int64_t k = 0; k < step; k += 4) {
#pragma GCC unroll 8
    for (int p = 0; p < panels; p++) {
      const weights w = weights_load(packed + p * LANES * step + k * LANES);
      if (fetches) __builtin_prefetch(ahead + p * LANES * step + k * LANES, 0, 2);
#pragma GCC unroll 8
      for (int r = 0; r < rows; r++) sum[r][p] = vi_dot(sum[r][p], w, bytes + r * step + k);
    }
  }
#pragma GCC unroll 8
  for (int p = 0; p < panels; p++) {
    const int64_t here = column + LANES * p;
    const vf multiplier = vf_load(m->multiplier + here);
    const vf bias = m->bias ? vf_load(m->bias + here) : vf_set1(0);
#pragma GCC unroll 8
    for (int r = 0; r < rows; r++) {
      const vf value = vf_fma(vf_mul(vi_float(sum[r][p]), multiplier), vf_set1(product->peaks[row + r]), bias);
      float *out = product->out + (row + r) * product->stride + here;
      if (here + LANES <= m->outputs) {
        vf_store(out, value);
      } else {
        float last[LANES];
        vf_store(last, value);
        memcpy(out, last, (m->outputs - here) * sizeof(float));
      }
    }
  }
}

/* Functions of their own: in one large function, gcc keeps sums in memory. */
typedef void Block(const Product *product, int64_t row, int64_t column, const int8_t *ahead);
#define BLOCK(rows, panels, name)                                                                                     \
  static __attribute__((noinline)) void name##_##rows(const Product *product, int64_t row, int64_t column,            \
                                                       const int8_t *ahead) {                                         \
    block(product, row, column, ahead, rows, panels, 0);                                                              \
  }                                                                                                                   \
  static __attribute__((noinline)) void fetching_##name##_##rows(const Product *product, int64_t row, int64_t column, \
                                                                  const int8_t *ahead) {                              \
    block(product, row, column, ahead, rows, panels, 1);                                                              \
  }
BLOCK(1, PANELS, wide)
BLOCK(1, 1, narrow)
#if BLOCK_ROWS == 4
BLOCK(2, PANELS, wide)
BLOCK(3, PANELS, wide)
BLOCK(4, PANELS, wide)
BLOCK(2, 1, narrow)
BLOCK(3, 1, narrow)
BLOCK(4, 1, narrow)
#define BLOCKS(name) {name##_1, name##_2, name##_3, name##_4}
#else
#define BLOCKS(name) {name##_1}
#endif
/* [is it narrow?][does it fetch?][rows - 1] */
static Block *const BLOCK_OF[2][2][BLOCK_ROWS] = {{BLOCKS(wide), BLOCKS(fetching_wide)},
                                                  {BLOCKS(narrow), BLOCKS(fetching_narrow)}};

/* out [rows, N] = x [rows, K] * matrix + bias, each with its stride. `next` is the matrix that comes after this one.

The first rows of a block of columns would wait for its weights, which come from far away: a processor fetches them by
itself only within a page, and 16 columns can fill one. So those of the next block are fetched at the same time. One panel
at a time takes longer with it (AVX2: a sixth, with one row). */
static void multiply(const Matrix *m, const float *x, int64_t rows, int64_t x_stride, float *out, int64_t stride,
                     const Matrix *next, Scratch *s) {
  const Product product = {m, s->bytes, s->peaks, filled(m->inputs, 4), out, stride};
  const int64_t all = filled(m->outputs, LANES);
  quantise(x, rows, x_stride, m, s->bytes, s->peaks);
  for (int64_t column = 0, after; column < all; column = after) {
    const int narrow = column + PANELS * LANES > all;
    after = column + (narrow ? LANES : PANELS * LANES);
    const int8_t *ahead = after < all ? m->packed + after * product.step : next->packed;
    for (int64_t row = 0; row < rows; row += BLOCK_ROWS) {
      const int64_t count = rows - row < BLOCK_ROWS ? rows - row : BLOCK_ROWS;
      BLOCK_OF[narrow][row == 0 && PANELS > 1][count - 1](&product, row, column, ahead);
    }
  }
}

static int multiply_alone(const Matrix *m, const float *x, int64_t rows, float *out) {
  Scratch s = {0};
  s.bytes = malloc(rows * filled(m->inputs, 64)), s.peaks = malloc(rows * sizeof(float));
  if (s.bytes && s.peaks) multiply(m, x, rows, m->inputs, out, m->outputs, m, &s);
  const int failed = !s.bytes || !s.peaks;
  free(s.bytes), free(s.peaks);
  return failed;
}

/* --- parts of a layer ------------------------------------------------------------------------------------------ */

static void normalise(const Norm *norm, const float *x, float *out, int64_t rows, int64_t width) {
  for (int64_t r = 0; r < rows; r++, x += width, out += width) {
    vf sum = vf_set1(0), squares = vf_set1(0);
    for (int64_t i = 0; i < width; i += LANES) sum = vf_add(sum, vf_load(x + i));
    const vf mean = vf_set1(vf_sum(sum) / (float)width);
    for (int64_t i = 0; i < width; i += LANES) {
      const vf away = vf_sub(vf_load(x + i), mean);
      squares = vf_fma(away, away, squares);
    }
    const vf scale = vf_set1(1.0f / sqrtf(vf_sum(squares) / (float)width + EPSILON));
    for (int64_t i = 0; i < width; i += LANES) {
      const vf even = vf_mul(vf_sub(vf_load(x + i), mean), scale);
      vf_store(out + i, vf_fma(even, vf_load(norm->weight + i), vf_load(norm->bias + i)));
    }
  }
}

static void add(float *x, const float *part, int64_t count) {
  for (int64_t i = 0; i < count; i += LANES) vf_store(x + i, vf_add(vf_load(x + i), vf_load(part + i)));
}

static void activate(float *x, int64_t count, int64_t kind) {
  for (int64_t i = 0; i < count; i += LANES) {
    const vf v = vf_load(x + i);
    if (kind == 0) {
      vf_store(x + i, vf_max(v, vf_set1(0)));
    } else if (kind == 1) {
      const vf one = vf_set1(1);
      vf_store(x + i, vf_div(v, vf_add(one, vf_exp(vf_sub(vf_set1(0), v)))));
    } else {
      for (int64_t j = i; j < i + LANES; j++) x[j] = 0.5f * x[j] * (1 + erff(x[j] * 0.70710678f));
    }
  }
}

/* Turns the halves of each head against each other, by the row's position. */
static void rotate(float *x, int64_t heads, int64_t size, const float *cosines, const float *sines) {
  const int64_t half = size / 2;
  for (int64_t h = 0; h < heads; h++, x += size)
    for (int64_t i = 0; i < half; i++) {
      const float a = x[i], b = x[i + half];
      x[i] = fmaf(-b, sines[i], a * cosines[i]);
      x[i + half] = fmaf(a, sines[i], b * cosines[i]);
    }
}

/* What a row sees of one layer: the first `first` columns of a buffer [H, C, E] of keys and one of values, and then
those of other buffers that `seen` names, `count` in all. */
typedef struct {
  const float *keys, *values;
  int64_t room, first;
  const float *more_keys, *more_values;
  int64_t more_room, count;
  const int64_t *seen;
} Sight;

INLINE const float *key_of(const Sight *sight, int64_t head, int64_t size, int64_t column) {
  return column < sight->first
             ? sight->keys + (head * sight->room + column) * size
             : sight->more_keys + (head * sight->more_room + sight->seen[column - sight->first]) * size;
}

INLINE vf product(const float *query, const float *key, const int64_t size) {
  vf sum = vf_mul(vf_load(query), vf_load(key));
  for (int64_t i = LANES; i < size; i += LANES) sum = vf_fma(vf_load(query + i), vf_load(key + i), sum);
  return sum;
}

/* One head of one row. */
INLINE void attend_columns(const float *query, const Sight *sight, int64_t head, const int64_t size, float *scores,
                           float *out) {
  const int64_t count = sight->count, first = sight->first, all = filled(count, LANES);
  const int64_t at = head * sight->room * size, more_at = head * sight->more_room * size;
  int64_t done = 0;
  for (; done + LANES <= count; done += LANES) {
    vf sums[LANES];
#pragma GCC unroll 16
    for (int i = 0; i < LANES; i++) sums[i] = product(query, key_of(sight, head, size, done + i), size);
    vf_store(scores + done, vf_sums(sums));
  }
  for (; done < count; done++) scores[done] = vf_sum(product(query, key_of(sight, head, size, done), size));
  for (int64_t c = count; c < all; c++) scores[c] = NOTHING;
  vf top = vf_load(scores), sum = vf_set1(0);
  for (int64_t c = LANES; c < all; c += LANES) top = vf_max(top, vf_load(scores + c));
  top = vf_set1(vf_top(top));
  for (int64_t c = 0; c < all; c += LANES) {
    const vf weight = vf_exp(vf_sub(vf_load(scores + c), top));
    vf_store(scores + c, weight);
    sum = vf_add(sum, weight);
  }
  const vf scale = vf_set1(1.0f / vf_sum(sum));
  for (int64_t c = 0; c < all; c += LANES) vf_store(scores + c, vf_mul(vf_load(scores + c), scale));
  for (int64_t i = 0; i < size; i += 4 * LANES) {
    const int64_t parts = size - i < 4 * LANES ? (size - i) / LANES : 4;
    vf total[4] = {vf_set1(0), vf_set1(0), vf_set1(0), vf_set1(0)};
    for (int64_t c = 0; c < count; c++) {
      const float *value = i + (c < first ? sight->values + at + c * size
                                          : sight->more_values + more_at + sight->seen[c - first] * size);
      const vf weight = vf_set1(scores[c]);
      if (parts == 4) {
        for (int p = 0; p < 4; p++) total[p] = vf_fma(weight, vf_load(value + p * LANES), total[p]);
      } else {
        for (int64_t p = 0; p < parts; p++) total[p] = vf_fma(weight, vf_load(value + p * LANES), total[p]);
      }
    }
    for (int64_t p = 0; p < parts; p++) vf_store(out + i + p * LANES, total[p]);
  }
}

/* One head of one row; its weights go to `given`, too, if that is wanted. */
static void attend(const float *query, const Sight *sight, int64_t head, int64_t size, float *scores, float *out,
                   float *given) {
  if (size == 64)
    attend_columns(query + head * size, sight, head, 64, scores, out + head * size);
  else
    attend_columns(query + head * size, sight, head, size, scores, out + head * size);
  if (given) memcpy(given, scores, sight->count * sizeof(float));
}

/* --- a whole step ---------------------------------------------------------------------------------------------- */

/* Writes columns [H, E] of a row into a buffer [H, C, E]. */
static void keep(float *buffer, int64_t room, int64_t column, const float *row, int64_t heads, int64_t size) {
  for (int64_t h = 0; h < heads; h++) memcpy(buffer + (h * room + column) * size, row + h * size, size * sizeof(float));
}

static void embed(const Side *side, const Step *step, float *x) {
  const int64_t width = side->width;
  const vf factor = vf_set1((float)side->embedding_factor);
  for (int64_t r = 0; r < step->rows; r++, x += width) {
    const int64_t id = step->ids[r];
    const vf scale = vf_set1(side->embedding_scale[id]);
    for (int64_t i = 0; i < width; i += LANES) {
      vf value = vf_mul(vf_mul(vf_bytes(side->embedding + id * width + i), scale), factor);
      if (side->sinusoids) value = vf_add(value, vf_load(side->sinusoids + step->positions[r] * width + i));
      vf_store(x + i, value);
    }
  }
}

/* Keys and values of new rows go to their columns; then each row attends. `wanted` rows alone get a result. */
static void self_attention(const Side *side, const Step *step, int64_t index, const int64_t *wanted, int64_t count,
                           Scratch *s) {
  const int64_t width = side->width, heads = side->heads, size = width / heads;
  for (int64_t n = 0, row = 0; n < step->streams; n++) {
    const StreamPart *part = step->part + n;
    const int64_t room = part->tree ? part->tree_room : part->room, buffer = heads * room * size;
    float *keys = (part->tree ? part->tree : part->kept) + 2 * index * buffer, *values = keys + buffer;
    for (int64_t r = 0; r < part->rows; r++, row++) {
      float *fused = s->wide + row * 3 * width;
      if (side->rotary) {
        const int64_t turned = step->positions[row] * (size / 2);
        rotate(fused, 2 * heads, size, side->cosines + turned, side->sines + turned);
      }
      keep(keys, room, part->begin + r, fused + width, heads, size);
      keep(values, room, part->begin + r, fused + 2 * width, heads, size);
    }
  }
  for (int64_t n = 0, row = 0, next = 0; n < step->streams; n++) {
    const StreamPart *part = step->part + n;
    const float *more = part->tree ? part->tree : part->kept;
    Sight sight = {.room = part->room, .more_room = part->tree ? part->tree_room : part->room};
    sight.keys = part->kept + 2 * index * heads * sight.room * size;
    sight.values = sight.keys + heads * sight.room * size;
    sight.more_keys = more + 2 * index * heads * sight.more_room * size;
    sight.more_values = sight.more_keys + heads * sight.more_room * size;
    /* Head by head: its keys and values stay in the cache for all rows of the stream. */
    for (int64_t h = 0; h < heads; h++) {
      int64_t at = next;
      sight.seen = part->seen;
      for (int64_t r = row; r < row + part->rows; r++) {
        sight.count = step->limits[r];
        sight.first = part->seen ? part->prefix : sight.count;
        if (at < count && wanted[at] == r) {
          attend(s->wide + r * 3 * width, &sight, h, size, s->scores, s->y + at * width, NULL);
          at++;
        }
        if (sight.seen) sight.seen += sight.count - sight.first;
      }
      if (h == heads - 1) next = at;
    }
    row += part->rows;
  }
}

static void cross_attention(const Side *side, const Step *step, int64_t index, const int64_t *wanted, int64_t count,
                            Scratch *s) {
  const int64_t width = side->width, heads = side->heads, size = width / heads;
  for (int64_t n = 0, row = 0, next = 0; n < step->streams; row += step->part[n++].rows) {
    const StreamPart *part = step->part + n;
    const int64_t begin = next;
    while (next < count && wanted[next] < row + part->rows) next++;
    Sight sight = {.room = part->memory_room};
    sight.keys = part->memory + 2 * index * heads * part->memory_room * size;
    sight.values = sight.keys + heads * part->memory_room * size;
    for (int64_t h = 0; h < heads; h++)
      for (int64_t at = begin; at < next; at++) {
        sight.first = sight.count = step->memory_limits[wanted[at]];
        float *given = part->attention ? part->attention + ((index * heads + h) * part->rows + wanted[at] - row) *
                                                                part->attention_room : NULL;
        attend(s->wide + at * width, &sight, h, size, s->scores, s->y + at * width, given);
      }
  }
}

static void residual(const Side *side, const Norm *norm, const float *part, int64_t rows, Scratch *s) {
  add(s->x, part, rows * side->width);
  if (!side->pre_norm) normalise(norm, s->x, s->x, rows, side->width);
}

static const float *before(const Side *side, const Norm *norm, int64_t rows, Scratch *s) {
  if (!side->pre_norm) return s->x;
  normalise(norm, s->x, s->y, rows, side->width);
  return s->y;
}

static void layers(const Side *side, const Step *step, int64_t given, Scratch *s) {
  const int64_t width = side->width;
  int64_t rows = step->rows, *wanted = s->kept_rows + given;
  for (int64_t r = 0; r < rows; r++) wanted[r] = r;
  for (int64_t index = 0; index < side->layers; index++) {
    const Layer *layer = side->layer + index;
    multiply(&layer->attention, before(side, &layer->around_attention, rows, s), rows, width, s->wide, 3 * width,
             &layer->attention_output, s);
    if (side->is_decoder && index == side->layers - 1 && given < rows) {
      /* Once the last layer has its keys and values, rows without logits are of no use. */
      wanted = s->kept_rows;
      for (int64_t r = 0; r < given; r++)
        memmove(s->x + r * width, s->x + wanted[r] * width, width * sizeof(float));
      rows = given;
    }
    self_attention(side, step, index, wanted, rows, s);
    multiply(&layer->attention_output, s->y, rows, width, s->wide, width,
             side->is_decoder ? &layer->cross : &layer->expand, s);
    residual(side, &layer->around_attention, s->wide, rows, s);
    if (side->is_decoder) {
      multiply(&layer->cross, before(side, &layer->around_cross, rows, s), rows, width, s->wide, width,
               &layer->cross_output, s);
      cross_attention(side, step, index, wanted, rows, s);
      multiply(&layer->cross_output, s->y, rows, width, s->wide, width, &layer->expand, s);
      residual(side, &layer->around_cross, s->wide, rows, s);
    }
    multiply(&layer->expand, before(side, &layer->around_feed_forward, rows, s), rows, width, s->wide, side->inner,
             &layer->contract, s);
    activate(s->wide, rows * side->inner, side->activation);
    multiply(&layer->contract, s->wide, rows, side->inner, s->y, width,
             index + 1 < side->layers ? &layer[1].attention : &side->output, s);
    residual(side, &layer->around_feed_forward, s->y, rows, s);
  }
}

/* The new columns of the memory: [N, tensors * H * E] -> a column in each tensor of each stream's buffer. */
static void give_memory(const Side *side, const Step *step, Scratch *s) {
  const int64_t width = side->width, heads = side->heads, size = width / heads, tensors = 2 * side->decoder_layers;
  multiply(&side->output, step->states, step->rows, width, s->wide, tensors * width, &side->output, s);
  for (int64_t n = 0, row = 0; n < step->streams; n++) {
    const StreamPart *part = step->part + n;
    for (int64_t r = 0; r < part->rows; r++, row++)
      for (int64_t t = 0; t < tensors; t++)
        keep(part->memory + t * heads * part->memory_room * size, part->memory_room, part->memory_begin + r,
             s->wide + (row * tensors + t) * width, heads, size);
  }
}

static void *take(char **at, int64_t bytes) {
  void *here = *at;
  *at += filled(bytes, 64);
  return here;
}

static int run(const Side *side, const Step *step) {
  const int64_t width = side->width, rows = step->rows;
  int64_t widest = side->inner, columns = 0, given = 0;
  if (widest < 3 * width) widest = 3 * width;
  if (!side->is_decoder && widest < 2 * side->decoder_layers * width) widest = 2 * side->decoder_layers * width;
  for (int64_t r = 0; r < rows; r++) {
    if (step->limits[r] > columns) columns = step->limits[r];
    if (side->is_decoder && step->memory_limits[r] > columns) columns = step->memory_limits[r];
  }
  const int64_t longest = filled(side->inner > width ? side->inner : width, 64);
  const int64_t needed = 2 * filled(rows * width * 4, 64) + filled(rows * widest * 4, 64) +
                         filled(4 * filled(columns, LANES), 64) + filled(rows * longest, 64) + filled(rows * 4, 64) +
                         filled(2 * rows * 8, 64) + 64;
  char *memory = malloc(needed), *at = memory;
  if (!memory) return 1;
  at += -(uintptr_t)at & 63;
  Scratch s;
  s.x = take(&at, rows * width * 4);
  s.y = take(&at, rows * width * 4);
  s.wide = take(&at, rows * widest * 4);
  s.scores = take(&at, 4 * filled(columns, LANES));
  s.bytes = take(&at, rows * longest);
  s.peaks = take(&at, rows * 4);
  s.kept_rows = take(&at, 2 * rows * 8);
  for (int64_t n = 0, row = 0; n < step->streams; n++)
    for (int64_t r = 0; r < step->part[n].rows; r++, row++)
      if (!side->is_decoder || step->part[n].gives_all || r == step->part[n].rows - 1) s.kept_rows[given++] = row;
  embed(side, step, s.x);
  layers(side, step, given, &s);
  if (side->pre_norm)
    normalise(&side->last, s.x, step->states, given, width);
  else
    memcpy(step->states, s.x, given * width * sizeof(float));
  if (!side->is_decoder)
    give_memory(side, step, &s);
  else if (step->logits)
    multiply(&side->output, step->states, given, width, step->logits, side->output.outputs,
             &side->layer->attention, &s);
  free(memory);
  return 0;
}
