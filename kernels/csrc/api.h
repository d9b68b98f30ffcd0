/* What Python hands over. All numbers are 64 bits wide, so that the layout is the same everywhere; addresses are those
of numpy arrays, which Python keeps alive. turia_kernels/library.py has the same structs.

Letters: N rows of all streams, R rows of one, C columns of a buffer, D width, H heads, E = D / H, V vocabulary. */
#ifndef TURIA_API_H
#define TURIA_API_H

#include <stdint.h>

/* A matrix [K, N] of int8, packed: for each 16 columns, for each 4 rows, 4 numbers of each column. */
typedef struct {
  int64_t inputs, outputs;       /* K and N, before they were filled up to multiples of 4 and 16 */
  int64_t zero;                  /* of the rows: 128, or 0 if they have no negative numbers */
  const int8_t *packed;
  const int32_t *start;          /* [N] what a sum of products begins with: (BYTE_OFFSET - zero) * sum of the column */
  const float *multiplier;       /* [N] */
  const float *bias;             /* [N], or none */
} Matrix;

typedef struct { const float *weight, *bias; } Norm;

typedef struct {
  Norm around_attention, around_cross, around_feed_forward;
  Matrix attention, attention_output, cross, cross_output, expand, contract;
} Layer;

/* One side of a model: its encoder or its decoder. */
typedef struct {
  int64_t width, inner, heads, layers, decoder_layers;
  int64_t is_decoder, pre_norm, rotary, activation;   /* activation: 0 relu, 1 swish, 2 gelu */
  const int8_t *embedding;       /* [V, D] */
  const float *embedding_scale;  /* [V], of what sqrt(D) is not part */
  double embedding_factor;       /* sqrt(D), or 1 */
  const float *cosines, *sines;  /* [positions, E / 2] of rotary positions */
  const float *sinusoids;        /* [positions, D] of others */
  const Layer *layer;
  Norm last;
  Matrix output;                 /* of the decoder: logits; of the encoder: memory, all keys and values at once */
} Side;

/* One stream's part of a step. Buffers are [2 * layers, H, C, E]: keys and values of each layer in turn. */
typedef struct {
  int64_t rows;
  int64_t begin;                 /* column of `kept` where the new rows' keys and values are written */
  int64_t room;                  /* C of `kept` */
  float *kept;
  int64_t memory_begin;          /* encoder: column of `memory` where new columns are written */
  int64_t memory_room;
  float *memory;
  const int64_t *seen;           /* columns that rows see, one list after the other; none: the first ones */
  int64_t gives_all;             /* decoder: whether all rows have logits, or the last one alone */
  float *attention;              /* [layers, H, R, attention_room] for the cross-attention of all rows, or none */
  int64_t attention_room;
  /* Of a search: every row sees the first `prefix` columns of `kept`, and what `seen` names of `tree`, which is where new
  keys and values are written. Without a tree, `seen` names columns of `kept`. */
  int64_t prefix, tree_room;
  float *tree;
} StreamPart;

/* A step of several streams. Rows of all streams lie one after the other. */
typedef struct {
  int64_t streams, rows;
  const StreamPart *part;
  const int64_t *ids, *positions;
  const int64_t *limits;         /* [N] columns of `kept` that each row sees, its own among them */
  const int64_t *memory_limits;  /* [N] decoder: columns of `memory` that each row sees */
  float *states;                 /* [rows that are given, D] */
  float *logits;                 /* [rows that are given, V], or none */
} Step;

/* Rows of scores, and what to look for among their pieces. */
typedef struct {
  int64_t rows, vocabulary, count;
  const float *const *logits;        /* [rows] of [V] */
  const uint8_t *const *forbidden;   /* [rows] of [V] */
  const float *before;               /* [rows] score of what each row continues */
  const int64_t *closing;            /* pieces that close a sentence: they count as one, under the first name */
  int64_t closings;
  int64_t *places;                   /* [count] row * V + piece, the best first */
  float *scores;                     /* [count] log-probability of the piece alone */
  float *tops;                       /* [rows] largest log-probability of each row */
} Choice;

/* Log-probability of a piece, and of the likeliest piece in its place. */
typedef struct { float score, top; } Said;

/* A beam search of one stream: what src/turia/engine/beam.py does, step by step and to the last bit. */
typedef struct {
  int64_t width;                     /* hypotheses */
  int64_t most;                      /* pieces to look ahead; further only until the best hypothesis has a whole word */
  int64_t longest;                   /* pieces of a word */
  int64_t one_word;                  /* the sentence is being spoken, and one word is wanted */
  int64_t is_open;                   /* the same, and no hypothesis can end */
  int64_t is_draft;                  /* wanted is the hypothesis that is the best one when it has `words`, or an end */
  int64_t words;
  int64_t begun;                     /* pieces of a word that is begun where the search begins */
  double before;                     /* log-probability of what it continues */
  double penalty;                    /* of the length */
  const uint8_t *at_start, *in_word, *in_long_word;   /* [V] pieces that are forbidden */
  const uint8_t *borders;            /* [V] pieces that end a word, or with `space_first` those that begin one */
  int64_t space_first;
  const int64_t *closing, *stopping; /* pieces that close a sentence; those, and others that end what is written */
  int64_t closings, stoppings;
  int64_t *pieces;                   /* [max(most, longest) + 1] the best hypothesis: whole words, perhaps an end */
  Said *said;                        /* the same of each of its pieces, if it is a draft */
  int64_t found;                     /* its pieces; none if the scores are no numbers */
} Search;

typedef struct {
  const char *name;
  int64_t byte_offset;
  int (*run)(const Side *, const Step *);   /* 0, or 1 if there is no memory left */
  int (*search)(const Side *, const Step *, Search *);  /* the same, with a search for each stream of the step */
  int64_t (*choose)(const Choice *);        /* how many were found; -1 if there is no memory left */
  int (*multiply)(const Matrix *, const float *x, int64_t rows, float *out);  /* one product, for tests */
  float (*sureness)(const float *logits, const uint8_t *forbidden, int64_t vocabulary);
  float (*perceptron)(const float *rows, int64_t inner, const float *values, int64_t count);
} Variant;

extern const Variant turia_portable, turia_avx2, turia_avx512, turia_neon, turia_dotprod;

#endif
