/* Runs a small model of made-up weights with every variant that this processor has, and prints a sum of all results:

    variant sum

All variants of all processors must print the same sum. tests/runtime/test_native_arm.py builds it for ARM, too. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api.h"

enum { WIDTH = 64, INNER = 96, HEADS = 2, SIZE = WIDTH / HEADS, LAYERS = 2, PIECES = 50, POSITIONS = 32, ROOM = 32 };

const Variant *turia_variant(int64_t number);

static uint32_t seed;

static uint32_t random_number(void) { return (seed = seed * 1664525u + 1013904223u) >> 8; }

static float random_float(void) { return (float)random_number() / (1 << 23) - 1; }

static float *floats(int64_t count, float factor, float shift) {
  float *found = malloc(count * sizeof(float));
  for (int64_t i = 0; i < count; i++) found[i] = random_float() * factor + shift;
  return found;
}

static Matrix matrix(int64_t inputs, int64_t outputs, int positive, int64_t byte_offset) {
  const int64_t all = (outputs + 15) / 16 * 16;
  int8_t *packed = calloc(inputs * all, 1);
  int32_t *start = calloc(all, sizeof(int32_t));
  Matrix m = {inputs, outputs, positive ? 0 : 128, packed, start, 0, 0};
  for (int64_t k = 0; k < inputs; k++)
    for (int64_t n = 0; n < outputs; n++) {
      const int8_t weight = (int8_t)((int)(random_number() % 127) - 63);
      packed[((n / 16 * (inputs / 4) + k / 4) * 16 + n % 16) * 4 + k % 4] = weight;
      start[n] += (int32_t)(byte_offset - m.zero) * weight;
    }
  m.multiplier = floats(all, 1e-4f, 3e-4f), m.bias = floats(all, 0.1f, 0);
  return m;
}

static Norm norm(void) {
  const float *weight = floats(WIDTH, 0.2f, 1), *bias = floats(WIDTH, 0.1f, 0);
  return (Norm){weight, bias};
}

static Side side(int is_decoder, int rotary, int64_t byte_offset) {
  Layer *layers = calloc(LAYERS, sizeof(Layer));
  for (int i = 0; i < LAYERS; i++) {
    Layer *layer = layers + i;
    layer->around_attention = norm(), layer->around_cross = norm(), layer->around_feed_forward = norm();
    layer->attention = matrix(WIDTH, 3 * WIDTH, 0, byte_offset);
    layer->attention_output = matrix(WIDTH, WIDTH, 0, byte_offset);
    layer->cross = matrix(WIDTH, WIDTH, 0, byte_offset), layer->cross_output = matrix(WIDTH, WIDTH, 0, byte_offset);
    layer->expand = matrix(WIDTH, INNER, 0, byte_offset), layer->contract = matrix(INNER, WIDTH, rotary, byte_offset);
  }
  int8_t *embedding = malloc(PIECES * WIDTH);
  for (int i = 0; i < PIECES * WIDTH; i++) embedding[i] = (int8_t)((int)(random_number() % 127) - 63);
  Side s = {WIDTH, INNER, HEADS, LAYERS, LAYERS, is_decoder, rotary, rotary, !rotary, embedding, 0, 8, 0, 0, 0, layers};
  s.embedding_scale = floats(PIECES, 1e-3f, 2e-3f);
  s.cosines = floats(POSITIONS * SIZE / 2, 1, 0), s.sines = floats(POSITIONS * SIZE / 2, 1, 0);
  s.sinusoids = rotary ? 0 : floats(POSITIONS * WIDTH, 1, 0);
  s.last = norm();
  s.output = matrix(WIDTH, is_decoder ? PIECES : 2 * LAYERS * WIDTH, 0, byte_offset);
  return s;
}

static uint64_t added(uint64_t sum, const float *values, int64_t count) {
  for (int64_t i = 0; i < count; i++) {
    uint32_t bits;
    memcpy(&bits, values + i, 4);
    sum = (sum ^ bits) * 1099511628211u;
  }
  return sum;
}

/* The pieces that three searches find: of a sentence that is being spoken, of a complete one, and of a draft. */
static uint64_t found_by_search(const Variant *variant, const Side *decoder, const StreamPart *rows, const Step *first) {
  uint8_t at_start[PIECES] = {0}, in_word[PIECES] = {0}, borders[PIECES], in_long_word[PIECES];
  int64_t closing[] = {4, 5, 6}, stopping[] = {4, 5, 6, 3}, pieces[3][16];
  uint64_t sum = 0;
  for (int i = 0; i < PIECES; i++) borders[i] = i > 6 && i % 2, in_long_word[i] = !borders[i], in_word[i] = i < 7;
  Said said[16];
  const Search rules = {.longest = 5, .penalty = 1.0, .at_start = at_start, .in_word = in_word, .borders = borders,
                        .in_long_word = in_long_word, .closing = closing, .closings = 3, .stopping = stopping,
                        .stoppings = 4};
  Search spoken = rules, complete = rules, draft = rules;
  spoken.width = 4, spoken.most = 3, spoken.one_word = spoken.is_open = 1, spoken.at_start = in_word;
  complete.width = 3, complete.most = 9, complete.penalty = 0.6;
  draft.width = 4, draft.most = 9, draft.is_draft = 1, draft.words = 3, draft.begun = 1, draft.before = -0.5;
  spoken.pieces = pieces[0], complete.pieces = pieces[1], draft.pieces = pieces[2], draft.said = said;
  const StreamPart parts[] = {*rows, *rows, *rows};
  int64_t ids[12], positions[12], limits[12], memory_limits[12];
  float states[3 * WIDTH];
  for (int i = 0; i < 12; i++) {
    ids[i] = first->ids[i % 4], positions[i] = first->positions[i % 4];
    limits[i] = first->limits[i % 4], memory_limits[i] = first->memory_limits[i % 4];
  }
  const Step step = {3, 12, parts, ids, positions, limits, memory_limits, states, 0};
  Search searches[] = {spoken, complete, draft};
  sum += variant->search(decoder, &step, searches);
  sum = added(sum, &said->score, 2 * searches[2].found);
  for (int n = 0; n < 3; n++)
    for (int64_t i = 0; i < searches[n].found; i++) sum = sum * 101 + (uint64_t)searches[n].pieces[i] + 1;
  return sum;
}

static uint64_t sum_of(const Variant *variant) {
  uint64_t sum = 14695981039346656037u;
  seed = 1;
  for (int rotary = 0; rotary < 2; rotary++) {
    enum { ROWS = 7, BUFFER = 2 * LAYERS * HEADS * ROOM * SIZE };
    const Side encoder = side(0, rotary, variant->byte_offset), decoder = side(1, rotary, variant->byte_offset);
    float *source = calloc(BUFFER, 4), *memory = calloc(BUFFER, 4), *target = calloc(BUFFER, 4);
    float states[ROWS * WIDTH], logits[ROWS * PIECES], attention[LAYERS * HEADS * 3 * ROWS];
    int64_t ids[ROWS], places[ROWS], limits[ROWS], seen[] = {0, 2, 4, 0, 1, 5, 0, 1, 6}, own[] = {3, 3, 3};
    for (int i = 0; i < ROWS; i++) ids[i] = (11 * i + 5) % PIECES, places[i] = i, limits[i] = i < 3 ? 3 : i + 1;
    /* A window; four rows, of which the last has logits; three hypotheses that all rows are looked at. */
    const StreamPart window = {ROWS, 0, ROOM, source, 0, ROOM, memory, 0, 0, 0, 0, 0, 0, 0};
    const Step encode = {1, ROWS, &window, ids, places, limits, 0, states, 0};
    sum += variant->run(&encoder, &encode);
    sum = added(added(sum, states, ROWS * WIDTH), memory, BUFFER);
    const StreamPart rows = {4, 0, ROOM, target, 0, ROOM, memory, 0, 0, 0, 0, 0, 0, 0};
    const int64_t causal[] = {1, 2, 3, 4}, whole[] = {7, 7, 7, 7};
    const Step first = {1, 4, &rows, ids, places, causal, whole, states, logits};
    sum += variant->run(&decoder, &first);
    sum = added(added(sum, states, WIDTH), logits, PIECES);
    const StreamPart beam = {3, 4, ROOM, target, 0, ROOM, memory, seen, 1, attention, ROWS, 0, 0, 0};
    const int64_t after[] = {2, 2, 2};
    const Step second = {1, 3, &beam, ids, after, own, whole, states, logits};
    sum += variant->run(&decoder, &second);
    sum = added(added(added(sum, states, 3 * WIDTH), logits, 3 * PIECES), target, BUFFER);
    sum = added(sum, attention, LAYERS * HEADS * 3 * ROWS);
    sum = (sum ^ found_by_search(variant, &decoder, &rows, &first)) * 1099511628211u;
  }
  return sum;
}

int main(void) {
  const Variant *variant;
  for (int64_t number = 0; (variant = turia_variant(number)); number++)
    printf("%s %016llx\n", variant->name, (unsigned long long)sum_of(variant));
  return 0;
}
