/* The best continuations of rows, and a beam search of whole streams with them. Each variant includes this file once.

The search is that of src/turia/engine/beam.py: the same hypotheses in the same order, with the same sums. It saves what
lies between two steps in Python, and what cannot change its result. While a sentence is being spoken, one word is
wanted, so the search ends as soon as all hypotheses begin with one and the same word.
*/

/* --- the best continuations ------------------------------------------------------------------------------------- */

/* The logits of the pieces that are allowed, those that close a sentence as one. Gives what is to be subtracted from
them, so that they are log-probabilities. `out` may be `logits`; it has room for a multiple of sixteen. Damaged weights
give rows without a number: nothing is subtracted from these, so that what is forbidden stays so. */
static float allow(int64_t vocabulary, const int64_t *closing, int64_t closings, const float *logits,
                   const uint8_t *forbidden, float *out) {
  const int64_t all = filled(vocabulary, LANES);
  for (int64_t i = 0; i < vocabulary; i++) out[i] = forbidden[i] ? NOTHING : logits[i];
  for (int64_t i = vocabulary; i < all; i++) out[i] = NOTHING;
  vf top = vf_load(out), sum = vf_set1(0);
  for (int64_t i = LANES; i < all; i += LANES) top = vf_max(top, vf_load(out + i));
  const float most = vf_top(top);
  for (int64_t i = 0; i < all; i += LANES) sum = vf_add(sum, vf_exp(vf_sub(vf_load(out + i), vf_set1(most))));
  const float total = most + logf(vf_sum(sum));
  float closed = 0, first = NOTHING;
  for (int64_t i = 0; i < closings; i++)
    if (out[closing[i]] > first) first = out[closing[i]];
  if (first > NOTHING) {
    for (int64_t i = 0; i < closings; i++) {
      if (out[closing[i]] > NOTHING) closed += expf(out[closing[i]] - first);
      out[closing[i]] = NOTHING;
    }
    out[closing[0]] = first + logf(closed);
  }
  return most > NOTHING ? total : 0;
}

/* The best continuations of several rows so far: the largest total first, of equal ones the first place. */
typedef struct {
  int64_t count, found;
  int64_t *places;     /* [count] row * V + piece */
  float *scores;       /* [count] log-probability of the piece alone */
  float *totals;       /* [count] with that of what the row continues */
} Continuations;

INLINE int is_better(const Continuations *c, int64_t than, float total, int64_t place) {
  return total > c->totals[than] || (total == c->totals[than] && place < c->places[than]);
}

/* Takes in a row, whose log-probabilities are `logits` - `less`; gives the largest of them. */
static float take_in(Continuations *c, const float *logits, float less, int64_t vocabulary, int64_t row, float before) {
  const int64_t all = filled(vocabulary, LANES);
  vf top = vf_set1(NOTHING);
  for (int64_t i = 0; i < all; i += LANES) {
    const vf here = vf_sub(vf_load(logits + i), vf_set1(less));
    top = vf_max(top, here);
    /* Few groups of sixteen have one that is better than the worst found. */
    if (c->found == c->count && !vf_reaches(vf_add(vf_set1(before), here), c->totals[c->found - 1])) continue;
    float scores[LANES];
    vf_store(scores, here);
    for (int64_t j = 0; j < LANES && i + j < vocabulary; j++) {
      const float total = before + scores[j];
      const int64_t place = row * vocabulary + i + j;
      /* What is no number is not at least anything. */
      if (!(scores[j] >= NOTHING / 2) || (c->found == c->count && !is_better(c, c->found - 1, total, place))) continue;
      int64_t at = c->found < c->count ? c->found++ : c->found - 1;
      for (; at && is_better(c, at - 1, total, place); at--) {
        c->totals[at] = c->totals[at - 1];
        c->places[at] = c->places[at - 1];
        c->scores[at] = c->scores[at - 1];
      }
      c->totals[at] = total;
      c->places[at] = place;
      c->scores[at] = scores[j];
    }
  }
  return vf_top(top);
}

static int64_t choose(const Choice *c) {
  float *scores = malloc(filled(c->vocabulary, LANES) * sizeof(float)), *totals = malloc(c->count * sizeof(float));
  Continuations best = {c->count, 0, c->places, c->scores, totals};
  if (scores && totals)
    for (int64_t r = 0; r < c->rows; r++) {
      const float less = allow(c->vocabulary, c->closing, c->closings, c->logits[r], c->forbidden[r], scores);
      c->tops[r] = take_in(&best, scores, less, c->vocabulary, r, c->before[r]);
    }
  const int64_t found = scores && totals ? best.found : -1;
  free(scores), free(totals);
  return found;
}

/* --- a beam ------------------------------------------------------------------------------------------------------ */

#define AFTER_ENDS 4     /* pieces: PLANNED_PER_WORD of beam.py */
#define CHUNK 16         /* rows whose logits are in memory at the same time */

typedef struct {
  const Search *rules;
  int64_t vocabulary, capacity;
  int64_t alive, depth, most, ends, is_done;
  int64_t *pieces, *columns;             /* [width, capacity] of the hypotheses alive, the best first */
  int64_t *new_pieces, *new_columns;     /* the same, in the making */
  double *scores, *new_scores;           /* [width] */
  int64_t *ended, ended_length;          /* the best one that has ended; length 0: none */
  double ended_score;
  Said *said, *new_said;                 /* [width, capacity] of the hypotheses alive, and of those in the making */
  float *tops;                           /* [width] the largest log-probability after each hypothesis */
  double *masses;                        /* [width + 1] probability of a first word, by the first hypothesis with it */
  uint8_t *counts;                       /* [width + 1] hypotheses that may be the result */
  Continuations best;
  int64_t prefix, tree_room, tree_used;
  float *tree;
  void *block;
} Beam;

static int begin_beam(Beam *b, const Search *rules, int64_t vocabulary, int64_t prefix) {
  const int64_t width = rules->width, longest = rules->most > rules->longest ? rules->most : rules->longest;
  memset(b, 0, sizeof *b);
  b->rules = rules, b->vocabulary = vocabulary, b->prefix = prefix, b->most = rules->most, b->capacity = longest + 1;
  const int64_t numbers = 6 * width * b->capacity + b->capacity + 4 * width + 1, bytes = 8 * numbers + 13 * width + 1;
  char *at = b->block = calloc(1, bytes);
  if (!at) return 1;
  int64_t *next = (int64_t *)at;
  b->pieces = next, next += width * b->capacity;
  b->columns = next, next += width * b->capacity;
  b->new_pieces = next, next += width * b->capacity;
  b->new_columns = next, next += width * b->capacity;
  b->said = (Said *)next, next += width * b->capacity;
  b->new_said = (Said *)next, next += width * b->capacity;
  b->ended = next, next += b->capacity;
  b->best.places = next, next += width;
  b->scores = (double *)next, next += width;
  b->new_scores = (double *)next, next += width;
  b->masses = (double *)next, next += width + 1;
  b->best.scores = (float *)next, b->best.totals = b->best.scores + width;
  b->tops = b->best.totals + width;
  b->counts = (uint8_t *)(b->tops + width);
  b->best.count = width, b->alive = 1, b->scores[0] = rules->before;
  return 0;
}

static int is_stopping(const Search *rules, int64_t piece) {
  for (int64_t i = 0; i < rules->stoppings; i++)
    if (rules->stopping[i] == piece) return 1;
  return 0;
}

/* Where the first (`last` = 0) or the last word of these pieces ends; 0 if none does. */
static int64_t word_end(const Search *rules, const int64_t *pieces, int64_t length, int last) {
  int64_t found = 0;
  for (int64_t i = rules->space_first; i < length; i++) {
    if (rules->borders[pieces[i]] || (rules->space_first && is_stopping(rules, pieces[i]))) {
      found = rules->space_first ? i : i + 1;
      if (!last) return found;
    }
  }
  return found;
}

static double worth(const Search *rules, double score, int64_t length) {
  return score / pow((double)(length > 1 ? length : 1), rules->penalty);
}

/* Which pieces may not follow hypothesis `row`. */
static const uint8_t *forbidden_after(const Beam *b, int64_t row) {
  const int64_t end = word_end(b->rules, b->pieces + row * b->capacity, b->depth, 1);
  const int64_t begun = b->depth - end + (end ? 0 : b->rules->begun);
  if (begun >= b->rules->longest - 1) return b->rules->in_long_word;
  return begun ? b->rules->in_word : b->rules->at_start;
}

static void end_with(Beam *b, Search *result, const int64_t *pieces, int64_t length) {
  memcpy(result->pieces, pieces, length * sizeof(int64_t));
  result->found = length, b->is_done = 1;
}

/* The pieces of a hypothesis; the last one is that which has ended. */
static const int64_t *pieces_of(const Beam *b, int64_t hypothesis) {
  return hypothesis < b->alive ? b->pieces + hypothesis * b->capacity : b->ended;
}

static int64_t length_of(const Beam *b, int64_t hypothesis) {
  return hypothesis < b->alive ? b->depth : b->ended_length;
}

static double score_of(const Beam *b, int64_t hypothesis) {
  return hypothesis < b->alive ? b->scores[hypothesis] : b->ended_score;
}

/* The first of the hypotheses before `other` that begins with the same word, or `other`. */
static int64_t first_with_word(const Beam *b, int64_t other) {
  const int64_t *word = pieces_of(b, other), end = word_end(b->rules, word, length_of(b, other), 0);
  for (int64_t j = 0; j < other; j++)
    if (b->counts[j] && end == word_end(b->rules, pieces_of(b, j), length_of(b, j), 0) &&
        !memcmp(word, pieces_of(b, j), end * sizeof(int64_t)))
      return j;
  return other;
}

/* The best of what has ended and of what has whole words; if one word is wanted, of those that begin with the word that
most of the probability lies on. */
static void finish(Beam *b, Search *result) {
  const Search *rules = b->rules;
  const int64_t all = b->alive + (b->ended_length > 0), whole = !b->ended_length || b->ends < rules->width;
  int64_t best = -1, likeliest = -1;
  for (int64_t j = 0; j < all; j++)
    b->counts[j] = j == b->alive || (whole && word_end(rules, pieces_of(b, j), b->depth, 1));
  if (rules->one_word) {
    for (int64_t j = 0; j < all; j++) b->masses[j] = 0;
    for (int64_t j = 0; j < all; j++)
      if (b->counts[j]) b->masses[first_with_word(b, j)] += exp(score_of(b, j));
    for (int64_t j = 0; j < all; j++)
      if (b->counts[j] && (likeliest < 0 || b->masses[j] > b->masses[likeliest])) likeliest = j;
  }
  for (int64_t j = 0; j < all; j++) {
    if (!b->counts[j] || (likeliest >= 0 && first_with_word(b, j) != likeliest)) continue;
    if (best < 0 || worth(rules, score_of(b, j), length_of(b, j)) > worth(rules, score_of(b, best), length_of(b, best)))
      best = j;
  }
  const int64_t *pieces = pieces_of(b, best), length = length_of(b, best);
  end_with(b, result, pieces, best < b->alive ? word_end(rules, pieces, length, 1) : length);
}

/* Of a sentence that is being spoken: the end of the word that all hypotheses begin with, or 0. */
static int64_t common_word(const Beam *b) {
  const int64_t end = word_end(b->rules, b->pieces, b->depth, 0);
  for (int64_t j = 1; end && j < b->alive; j++)
    if (memcmp(b->pieces, b->pieces + j * b->capacity, end * sizeof(int64_t))) return 0;
  return end;
}

/* A draft is over when the best continuation has its words, or ends: then that is the result. */
static int end_draft(Beam *b, Search *result) {
  const Search *rules = b->rules;
  const int64_t row = b->best.places[0] / b->vocabulary, length = b->depth + 1;
  int64_t words = 0, *pieces = result->pieces;
  memcpy(pieces, b->pieces + row * b->capacity, b->depth * sizeof(int64_t));
  pieces[b->depth] = b->best.places[0] % b->vocabulary;
  const int ended = is_stopping(rules, pieces[b->depth]);
  for (int64_t i = 0; i < length; i++) words += rules->borders[pieces[i]];
  if (!ended && words < rules->words && length < rules->most) return 0;
  memcpy(result->said, b->said + row * b->capacity, b->depth * sizeof(Said));
  result->said[b->depth] = (Said){b->best.scores[0], b->tops[row]};
  result->found = ended ? length : word_end(rules, pieces, length, 1), b->is_done = 1;
  return 1;
}

/* The continuations become the hypotheses. */
static void grow(Beam *b, Search *result) {
  const Search *rules = b->rules;
  int64_t alive = 0, new_ends = 0, new_best = -1;
  double new_score = 0;
  if (!b->best.found || b->depth == b->capacity) {
    /* No score is a number: the weights are damaged, and there is no result. */
    result->found = 0, b->is_done = 1;
    return;
  }
  if (rules->is_draft && end_draft(b, result)) return;
  for (int64_t i = 0; i < b->best.found; i++) {
    const int64_t row = b->best.places[i] / b->vocabulary, piece = b->best.places[i] % b->vocabulary;
    const double score = b->scores[row] + (double)b->best.scores[i];
    if (is_stopping(rules, piece)) {
      if (new_best < 0 || worth(rules, score, b->depth + 1) > worth(rules, new_score, b->depth + 1))
        new_best = i, new_score = score;
      new_ends++;
      continue;
    }
    int64_t *pieces = b->new_pieces + alive * b->capacity, *columns = b->new_columns + alive * b->capacity;
    memcpy(pieces, b->pieces + row * b->capacity, b->depth * sizeof(int64_t));
    memcpy(columns, b->columns + row * b->capacity, b->depth * sizeof(int64_t));
    pieces[b->depth] = piece;
    if (rules->is_draft) {
      Said *said = b->new_said + alive * b->capacity;
      memcpy(said, b->said + row * b->capacity, b->depth * sizeof(Said));
      said[b->depth] = (Said){b->best.scores[i], b->tops[row]};
    }
    b->new_scores[alive++] = score;
  }
  if (new_best >= 0 && !(b->ended_length && worth(rules, b->ended_score, b->ended_length) >
                                                worth(rules, new_score, b->depth + 1))) {
    const int64_t row = b->best.places[new_best] / b->vocabulary;
    memcpy(b->ended, b->pieces + row * b->capacity, b->depth * sizeof(int64_t));
    b->ended[b->depth] = b->best.places[new_best] % b->vocabulary;
    b->ended_length = b->depth + 1, b->ended_score = new_score;
  }
  int64_t *old = b->pieces;
  b->pieces = b->new_pieces, b->new_pieces = old;
  old = b->columns, b->columns = b->new_columns, b->new_columns = old;
  double *scores = b->scores;
  b->scores = b->new_scores, b->new_scores = scores;
  Said *said = b->said;
  b->said = b->new_said, b->new_said = said;
  b->alive = alive, b->depth++;
  if (rules->is_draft) return;
  if (b->ends < rules->width && rules->width <= b->ends + new_ends && b->most > 2 * b->depth + AFTER_ENDS)
    b->most = 2 * b->depth + AFTER_ENDS;
  b->ends += new_ends;
  const int has_word = alive && word_end(rules, b->pieces, b->depth, 0);
  if (!alive || (b->depth >= b->most && has_word) ||
      (b->ended_length && b->ends >= rules->width &&
       worth(rules, b->scores[0], b->depth) < worth(rules, b->ended_score, b->ended_length)))
    finish(b, result);
  else if (rules->is_open && common_word(b))
    end_with(b, result, b->pieces, common_word(b));
}

/* Room for the columns of `count` more rows. */
static int make_room(Beam *b, int64_t count, int64_t tensors, int64_t size) {
  if (b->tree_used + count <= b->tree_room) return 0;
  const int64_t room = b->tree_room ? 2 * (b->tree_used + count) : 4 * b->rules->width;
  float *tree = malloc(tensors * room * size * sizeof(float));
  if (!tree) return 1;
  for (int64_t t = 0; t < tensors && b->tree_used; t++)
    memcpy(tree + t * room * size, b->tree + t * b->tree_room * size, b->tree_used * size * sizeof(float));
  free(b->tree);
  b->tree = tree, b->tree_room = room;
  return 0;
}

/* --- the searches of several streams ------------------------------------------------------------------------------ */

typedef struct {
  float *states, *logits;
  int64_t *ids, *positions, *limits, *memory_limits, *seen;
  StreamPart *parts;
  Scratch products;
  void *block;
} Work;

static int begin_work(Work *w, const Side *side, int64_t streams, int64_t rows, int64_t longest) {
  const int64_t vocabulary = filled(side->output.outputs, LANES);
  const int64_t sizes[] = {rows * side->width * 4, CHUNK * vocabulary * 4, rows * 8, rows * 8, rows * 8, rows * 8,
                           rows * longest * 8, streams * (int64_t)sizeof(StreamPart),
                           CHUNK * filled(side->width, 64), CHUNK * 4};
  int64_t needed = 64;
  for (int64_t i = 0; i < (int64_t)(sizeof sizes / sizeof *sizes); i++) needed += filled(sizes[i], 64);
  memset(w, 0, sizeof *w);
  char *at = w->block = malloc(needed);
  if (!at) return 1;
  at += -(uintptr_t)at & 63;
  w->states = take(&at, sizes[0]), w->logits = take(&at, sizes[1]);
  w->ids = take(&at, sizes[2]), w->positions = take(&at, sizes[3]), w->limits = take(&at, sizes[4]);
  w->memory_limits = take(&at, sizes[5]), w->seen = take(&at, sizes[6]), w->parts = take(&at, sizes[7]);
  w->products.bytes = take(&at, sizes[8]), w->products.peaks = take(&at, sizes[9]);
  return 0;
}

/* The continuations of all hypotheses, whose `states` lie one after the other. */
static void score(const Side *side, Beam *beams, int64_t streams, const float *states, int64_t rows, Work *w) {
  const int64_t vocabulary = side->output.outputs, stride = filled(vocabulary, LANES);
  int64_t row = 0;
  for (int64_t n = 0; n < streams; n++) {
    Beam *b = beams + n;
    b->best.found = 0;
    for (int64_t j = 0; !b->is_done && j < b->alive; j++) {
      if (row % CHUNK == 0) {
        const int64_t count = rows - row < CHUNK ? rows - row : CHUNK;
        multiply(&side->output, states + row * side->width, count, side->width, w->logits, stride,
                 row + count < rows ? &side->output : &side->layer->attention, &w->products);
      }
      float *logits = w->logits + row++ % CHUNK * stride;
      const uint8_t *forbidden = forbidden_after(b, j);
      const float less = allow(vocabulary, b->rules->closing, b->rules->closings, logits, forbidden, logits);
      b->tops[j] = take_in(&b->best, logits, less, vocabulary, j, (float)b->scores[j]);
    }
  }
}

/* Decodes the last pieces of all hypotheses. Gives their number, or -1 if there is no memory left. */
static int64_t decode(const Side *side, const Step *first, Beam *beams, Work *w) {
  const int64_t size = side->width / side->heads, tensors = 2 * side->layers * side->heads;
  int64_t rows = 0, parts = 0, first_row = 0;
  int64_t *seen = w->seen;
  for (int64_t n = 0; n < first->streams; n++) {
    Beam *b = beams + n;
    const int64_t limit = first->memory_limits[(first_row += first->part[n].rows) - 1];
    const int64_t count = b->is_done ? 0 : b->alive;
    if (!count) continue;
    if (make_room(b, count, tensors, size)) return -1;
    StreamPart part = first->part[n];
    part.rows = count, part.begin = b->tree_used, part.seen = seen, part.gives_all = 1;
    part.prefix = b->prefix, part.tree = b->tree, part.tree_room = b->tree_room;
    w->parts[parts++] = part;
    for (int64_t j = 0; j < b->alive; j++) {
      int64_t *columns = b->columns + j * b->capacity;
      columns[b->depth - 1] = b->tree_used++;
      memcpy(seen, columns, b->depth * sizeof(int64_t));
      seen += b->depth;
      w->ids[rows] = b->pieces[j * b->capacity + b->depth - 1];
      w->positions[rows] = b->prefix + b->depth - 1;
      w->limits[rows] = b->prefix + b->depth;
      w->memory_limits[rows++] = limit;
    }
  }
  if (!rows) return 0;
  const Step step = {parts, rows, w->parts, w->ids, w->positions, w->limits, w->memory_limits, w->states, 0};
  return run(side, &step) ? -1 : rows;
}

static int search_all(const Side *side, const Step *first, Search *searches, Beam *beams, Work *w) {
  int64_t rows = first->streams;
  const float *states = first->states;
  if (run(side, first)) return 1;
  while (rows > 0) {
    score(side, beams, first->streams, states, rows, w);
    for (int64_t n = 0; n < first->streams; n++)
      if (!beams[n].is_done) grow(beams + n, searches + n);
    rows = decode(side, first, beams, w);
    states = w->states;
  }
  return rows < 0;
}

/* The step of the streams' first rows, of which the last ones give states; and from there on a search for each. */
static int search(const Side *side, const Step *first, Search *searches) {
  const int64_t streams = first->streams;
  int64_t rows = 0, longest = 0, row = 0;
  int failed = 0;
  Beam *beams = calloc(streams, sizeof(Beam));
  Work work = {0};
  if (!beams) return 1;
  for (int64_t n = 0; n < streams; n++) {
    row += first->part[n].rows;
    failed |= begin_beam(beams + n, searches + n, side->output.outputs, first->limits[row - 1]);
    rows += searches[n].width;
    if (beams[n].capacity > longest) longest = beams[n].capacity;
  }
  failed = failed || begin_work(&work, side, streams, rows, longest) || search_all(side, first, searches, beams, &work);
  for (int64_t n = 0; n < streams; n++) free(beams[n].block), free(beams[n].tree);
  free(beams), free(work.block);
  return failed;
}
