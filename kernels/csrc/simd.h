/* Sixteen floats and sixteen integers at once, in the words of each processor.

Every variant does the same operations on the same sixteen lanes in the same order, with fused multiply-add, and adds
lanes up as the same tree. So all processors give the same bits. Which variant is compiled, the including file says by
TURIA_AVX512, TURIA_AVX2 or TURIA_NEON; without any of them it is plain C.

BYTE_OFFSET: what is subtracted from the unsigned bytes of a row before they are multiplied. x86 multiplies unsigned
bytes with signed ones, ARM signed with signed ones.
*/
#ifndef TURIA_SIMD_H
#define TURIA_SIMD_H

#include <math.h>
#include <stdint.h>
#include <string.h>

#define LANES 16
#define INLINE static inline __attribute__((always_inline))

#if defined(TURIA_AVX512)

#define BYTE_OFFSET 0
#define PANELS 4
#define BLOCK_ROWS 4
typedef __m512 vf;
typedef __m512i vi;

INLINE vf vf_load(const float *p) { return _mm512_loadu_ps(p); }
INLINE void vf_store(float *p, vf x) { _mm512_storeu_ps(p, x); }
INLINE vf vf_set1(float x) { return _mm512_set1_ps(x); }
INLINE vf vf_add(vf a, vf b) { return _mm512_add_ps(a, b); }
INLINE vf vf_sub(vf a, vf b) { return _mm512_sub_ps(a, b); }
INLINE vf vf_mul(vf a, vf b) { return _mm512_mul_ps(a, b); }
INLINE vf vf_div(vf a, vf b) { return _mm512_div_ps(a, b); }
INLINE vf vf_fma(vf a, vf b, vf c) { return _mm512_fmadd_ps(a, b, c); }
INLINE vf vf_max(vf a, vf b) { return _mm512_max_ps(a, b); }
INLINE vf vf_min(vf a, vf b) { return _mm512_min_ps(a, b); }
INLINE vf vf_abs(vf a) { return _mm512_abs_ps(a); }
INLINE vf vf_round(vf a) { return _mm512_roundscale_ps(a, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC); }
INLINE vf vf_power(vf n) {
  return _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_add_epi32(_mm512_cvtps_epi32(n), _mm512_set1_epi32(127)), 23));
}
INLINE float vf_sum(vf x) {
  __m256 half = _mm256_add_ps(_mm512_castps512_ps256(x), _mm512_extractf32x8_ps(x, 1));
  __m128 part = _mm_add_ps(_mm256_castps256_ps128(half), _mm256_extractf128_ps(half, 1));
  part = _mm_add_ps(part, _mm_movehl_ps(part, part));
  return _mm_cvtss_f32(_mm_add_ss(part, _mm_shuffle_ps(part, part, 1)));
}
/* The sums of sixteen vectors, each as vf_sum adds it up. */
#define FOLDED(a, b, shuffle, low, high) _mm512_add_ps(shuffle(a, b, low), shuffle(a, b, high))
INLINE vf vf_sums(const vf *x) {
  vf quarter[4];
#pragma GCC unroll 4
  for (int i = 0; i < 4; i++) {
    const vf one = FOLDED(x[i], x[i + 4], _mm512_shuffle_f32x4, 0x44, 0xee);
    const vf two = FOLDED(x[i + 8], x[i + 12], _mm512_shuffle_f32x4, 0x44, 0xee);
    quarter[i] = FOLDED(one, two, _mm512_shuffle_f32x4, 0x88, 0xdd);
  }
  const vf even = FOLDED(quarter[0], quarter[1], _mm512_shuffle_ps, 0x44, 0xee);
  const vf odd = FOLDED(quarter[2], quarter[3], _mm512_shuffle_ps, 0x44, 0xee);
  return FOLDED(even, odd, _mm512_shuffle_ps, 0x88, 0xdd);
}
INLINE int vf_reaches(vf x, float least) { return _mm512_cmp_ps_mask(x, vf_set1(least), _CMP_GE_OQ) != 0; }
INLINE float vf_top(vf x) { return _mm512_reduce_max_ps(x); }
INLINE vf vf_bytes(const int8_t *p) {
  return _mm512_cvtepi32_ps(_mm512_cvtepi8_epi32(_mm_loadu_si128((const __m128i *)p)));
}
INLINE void vf_quantise(uint8_t *out, vf x, int zero) {
  __m512i n = _mm512_add_epi32(_mm512_cvtps_epi32(x), _mm512_set1_epi32(zero));
  n = _mm512_max_epi32(n, _mm512_setzero_si512());
  _mm_storeu_si128((__m128i *)out, _mm512_cvtusepi32_epi8(n));
}
INLINE vi vi_load(const int32_t *p) { return _mm512_loadu_si512(p); }
INLINE vf vi_float(vi x) { return _mm512_cvtepi32_ps(x); }
typedef __m512i weights;
INLINE weights weights_load(const int8_t *p) { return _mm512_loadu_si512(p); }
INLINE vi vi_dot(vi sum, weights w, const uint8_t *four) {
  int32_t bytes;
  memcpy(&bytes, four, 4);
  return _mm512_dpbusd_epi32(sum, _mm512_set1_epi32(bytes), w);
}

#elif defined(TURIA_AVX2)

#define BYTE_OFFSET 0
#define PANELS 1
#define BLOCK_ROWS 4
typedef struct { __m256 a, b; } vf;
typedef struct { __m256i a, b; } vi;
#define EACH(operation) ((vf){operation(x.a, y.a), operation(x.b, y.b)})

INLINE vf vf_load(const float *p) { return (vf){_mm256_loadu_ps(p), _mm256_loadu_ps(p + 8)}; }
INLINE void vf_store(float *p, vf x) { _mm256_storeu_ps(p, x.a), _mm256_storeu_ps(p + 8, x.b); }
INLINE vf vf_set1(float x) { return (vf){_mm256_set1_ps(x), _mm256_set1_ps(x)}; }
INLINE vf vf_add(vf x, vf y) { return EACH(_mm256_add_ps); }
INLINE vf vf_sub(vf x, vf y) { return EACH(_mm256_sub_ps); }
INLINE vf vf_mul(vf x, vf y) { return EACH(_mm256_mul_ps); }
INLINE vf vf_div(vf x, vf y) { return EACH(_mm256_div_ps); }
INLINE vf vf_max(vf x, vf y) { return EACH(_mm256_max_ps); }
INLINE vf vf_min(vf x, vf y) { return EACH(_mm256_min_ps); }
INLINE vf vf_fma(vf x, vf y, vf z) { return (vf){_mm256_fmadd_ps(x.a, y.a, z.a), _mm256_fmadd_ps(x.b, y.b, z.b)}; }
INLINE vf vf_abs(vf x) { vf y = vf_set1(-0.0f); return (vf){_mm256_andnot_ps(y.a, x.a), _mm256_andnot_ps(y.b, x.b)}; }
#define ROUNDED(x) _mm256_round_ps(x, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC)
INLINE vf vf_round(vf x) { return (vf){ROUNDED(x.a), ROUNDED(x.b)}; }
INLINE __m256 power(__m256 n) {
  __m256i exponent = _mm256_add_epi32(_mm256_cvtps_epi32(n), _mm256_set1_epi32(127));
  return _mm256_castsi256_ps(_mm256_slli_epi32(exponent, 23));
}
INLINE vf vf_power(vf n) { return (vf){power(n.a), power(n.b)}; }
INLINE float vf_sum(vf x) {
  __m256 half = _mm256_add_ps(x.a, x.b);
  __m128 part = _mm_add_ps(_mm256_castps256_ps128(half), _mm256_extractf128_ps(half, 1));
  part = _mm_add_ps(part, _mm_movehl_ps(part, part));
  return _mm_cvtss_f32(_mm_add_ss(part, _mm_shuffle_ps(part, part, 1)));
}
INLINE float vf_top(vf x) {
  __m256 half = _mm256_max_ps(x.a, x.b);
  __m128 part = _mm_max_ps(_mm256_castps256_ps128(half), _mm256_extractf128_ps(half, 1));
  part = _mm_max_ps(part, _mm_movehl_ps(part, part));
  return _mm_cvtss_f32(_mm_max_ss(part, _mm_shuffle_ps(part, part, 1)));
}
INLINE vf vf_bytes(const int8_t *p) {
  __m128i bytes = _mm_loadu_si128((const __m128i *)p);
  return (vf){_mm256_cvtepi32_ps(_mm256_cvtepi8_epi32(bytes)),
              _mm256_cvtepi32_ps(_mm256_cvtepi8_epi32(_mm_srli_si128(bytes, 8)))};
}
INLINE void vf_quantise(uint8_t *out, vf x, int zero) {
  __m256i a = _mm256_add_epi32(_mm256_cvtps_epi32(x.a), _mm256_set1_epi32(zero));
  __m256i b = _mm256_add_epi32(_mm256_cvtps_epi32(x.b), _mm256_set1_epi32(zero));
  __m256i words = _mm256_permute4x64_epi64(_mm256_packs_epi32(a, b), 0xd8);
  __m128i bytes = _mm_packus_epi16(_mm256_castsi256_si128(words), _mm256_extracti128_si256(words, 1));
  _mm_storeu_si128((__m128i *)out, bytes);
}
INLINE vi vi_load(const int32_t *p) {
  return (vi){_mm256_loadu_si256((const __m256i *)p), _mm256_loadu_si256((const __m256i *)(p + 8))};
}
INLINE vf vi_float(vi x) { return (vf){_mm256_cvtepi32_ps(x.a), _mm256_cvtepi32_ps(x.b)}; }
typedef struct { __m256i a, b; } weights;
INLINE weights weights_load(const int8_t *p) {
  return (weights){_mm256_loadu_si256((const __m256i *)p), _mm256_loadu_si256((const __m256i *)(p + 32))};
}
/* Pairs are added in 16 bits: 2 * 255 * 63 fits, which is why weights have 7 bits (docs/decisions/015). */
INLINE vi vi_dot(vi sum, weights w, const uint8_t *four) {
  int32_t bytes;
  memcpy(&bytes, four, 4);
  __m256i row = _mm256_set1_epi32(bytes), ones = _mm256_set1_epi16(1);
  sum.a = _mm256_add_epi32(sum.a, _mm256_madd_epi16(_mm256_maddubs_epi16(row, w.a), ones));
  sum.b = _mm256_add_epi32(sum.b, _mm256_madd_epi16(_mm256_maddubs_epi16(row, w.b), ones));
  return sum;
}

#elif defined(TURIA_NEON)

#include <arm_neon.h>
#define BYTE_OFFSET 128
#define PANELS 1
#define BLOCK_ROWS 4
typedef struct { float32x4_t p[4]; } vf;
typedef struct { int32x4_t p[4]; } vi;
#define FOUR(operation) ((vf){{operation(0), operation(1), operation(2), operation(3)}})
#define EACH(operation) ((vf){{operation(x.p[0], y.p[0]), operation(x.p[1], y.p[1]), \
                               operation(x.p[2], y.p[2]), operation(x.p[3], y.p[3])}})

INLINE vf vf_load(const float *p) { return (vf){{vld1q_f32(p), vld1q_f32(p + 4), vld1q_f32(p + 8), vld1q_f32(p + 12)}}; }
INLINE void vf_store(float *p, vf x) {
  for (int i = 0; i < 4; i++) vst1q_f32(p + 4 * i, x.p[i]);
}
INLINE vf vf_set1(float x) { return (vf){{vdupq_n_f32(x), vdupq_n_f32(x), vdupq_n_f32(x), vdupq_n_f32(x)}}; }
INLINE vf vf_add(vf x, vf y) { return EACH(vaddq_f32); }
INLINE vf vf_sub(vf x, vf y) { return EACH(vsubq_f32); }
INLINE vf vf_mul(vf x, vf y) { return EACH(vmulq_f32); }
INLINE vf vf_div(vf x, vf y) { return EACH(vdivq_f32); }
INLINE vf vf_max(vf x, vf y) { return EACH(vmaxq_f32); }
INLINE vf vf_min(vf x, vf y) { return EACH(vminq_f32); }
#define FUSED(i) vfmaq_f32(z.p[i], x.p[i], y.p[i])
INLINE vf vf_fma(vf x, vf y, vf z) { return FOUR(FUSED); }
#define MAGNITUDE(i) vabsq_f32(x.p[i])
INLINE vf vf_abs(vf x) { return FOUR(MAGNITUDE); }
#define ROUNDED(i) vrndnq_f32(x.p[i])
INLINE vf vf_round(vf x) { return FOUR(ROUNDED); }
#define POWER(i) vreinterpretq_f32_s32(vshlq_n_s32(vaddq_s32(vcvtnq_s32_f32(n.p[i]), vdupq_n_s32(127)), 23))
INLINE vf vf_power(vf n) { return FOUR(POWER); }
INLINE float vf_sum(vf x) {
  float32x4_t four = vaddq_f32(vaddq_f32(x.p[0], x.p[2]), vaddq_f32(x.p[1], x.p[3]));
  float32x2_t two = vadd_f32(vget_low_f32(four), vget_high_f32(four));
  return vget_lane_f32(two, 0) + vget_lane_f32(two, 1);
}
INLINE float vf_top(vf x) { return vmaxvq_f32(vmaxq_f32(vmaxq_f32(x.p[0], x.p[1]), vmaxq_f32(x.p[2], x.p[3]))); }
INLINE vf vf_bytes(const int8_t *p) {
  int8x16_t bytes = vld1q_s8(p);
  int16x8_t low = vmovl_s8(vget_low_s8(bytes)), high = vmovl_s8(vget_high_s8(bytes));
  return (vf){{vcvtq_f32_s32(vmovl_s16(vget_low_s16(low))), vcvtq_f32_s32(vmovl_s16(vget_high_s16(low))),
               vcvtq_f32_s32(vmovl_s16(vget_low_s16(high))), vcvtq_f32_s32(vmovl_s16(vget_high_s16(high)))}};
}
INLINE void vf_quantise(uint8_t *out, vf x, int zero) {
  int32x4_t shift = vdupq_n_s32(zero);
  int16x4_t p[4];
  for (int i = 0; i < 4; i++) p[i] = vqmovn_s32(vaddq_s32(vcvtnq_s32_f32(x.p[i]), shift));
  uint8x16_t bytes = vcombine_u8(vqmovun_s16(vcombine_s16(p[0], p[1])), vqmovun_s16(vcombine_s16(p[2], p[3])));
  vst1q_u8(out, veorq_u8(bytes, vdupq_n_u8(128)));
}
INLINE vi vi_load(const int32_t *p) { return (vi){{vld1q_s32(p), vld1q_s32(p + 4), vld1q_s32(p + 8), vld1q_s32(p + 12)}}; }
#define AS_FLOAT(i) vcvtq_f32_s32(x.p[i])
INLINE vf vi_float(vi x) { return FOUR(AS_FLOAT); }
typedef struct { int8x16_t p[4]; } weights;
INLINE weights weights_load(const int8_t *p) {
  return (weights){{vld1q_s8(p), vld1q_s8(p + 16), vld1q_s8(p + 32), vld1q_s8(p + 48)}};
}
INLINE vi vi_dot(vi sum, weights w, const uint8_t *four) {
  int32_t bytes;
  memcpy(&bytes, four, 4);
  int8x16_t row = vreinterpretq_s8_s32(vdupq_n_s32(bytes));
  for (int i = 0; i < 4; i++) {
#if defined(TURIA_DOTPROD)
    sum.p[i] = vdotq_s32(sum.p[i], row, w.p[i]);
#else
    int16x8_t low = vmull_s8(vget_low_s8(row), vget_low_s8(w.p[i]));
    int16x8_t high = vmull_s8(vget_high_s8(row), vget_high_s8(w.p[i]));
    sum.p[i] = vaddq_s32(sum.p[i], vpaddq_s32(vpaddlq_s16(low), vpaddlq_s16(high)));
#endif
  }
  return sum;
}

#else /* plain C: what the others are compared with */

#define BYTE_OFFSET 0
#define PANELS 1
#define BLOCK_ROWS 1
typedef struct { float p[LANES]; } vf;
typedef struct { int32_t p[LANES]; } vi;
#define EACH(expression) \
  vf r; \
  for (int i = 0; i < LANES; i++) r.p[i] = expression; \
  return r

INLINE vf vf_load(const float *p) { EACH(p[i]); }
INLINE void vf_store(float *p, vf x) { memcpy(p, x.p, sizeof x.p); }
INLINE vf vf_set1(float x) { EACH(x); }
INLINE vf vf_add(vf x, vf y) { EACH(x.p[i] + y.p[i]); }
INLINE vf vf_sub(vf x, vf y) { EACH(x.p[i] - y.p[i]); }
INLINE vf vf_mul(vf x, vf y) { EACH(x.p[i] * y.p[i]); }
INLINE vf vf_div(vf x, vf y) { EACH(x.p[i] / y.p[i]); }
INLINE vf vf_max(vf x, vf y) { EACH(x.p[i] > y.p[i] ? x.p[i] : y.p[i]); }
INLINE vf vf_min(vf x, vf y) { EACH(x.p[i] < y.p[i] ? x.p[i] : y.p[i]); }
INLINE vf vf_fma(vf x, vf y, vf z) { EACH(fmaf(x.p[i], y.p[i], z.p[i])); }
INLINE vf vf_abs(vf x) { EACH(fabsf(x.p[i])); }
INLINE vf vf_round(vf x) { EACH(rintf(x.p[i])); }
INLINE vf vf_power(vf n) { EACH(ldexpf(1.0f, (int)n.p[i])); }
INLINE float vf_sum(vf x) {
  for (int half = LANES / 2; half; half /= 2)
    for (int i = 0; i < half; i++) x.p[i] += x.p[i + half];
  return x.p[0];
}
INLINE float vf_top(vf x) {
  float top = x.p[0];
  for (int i = 1; i < LANES; i++) top = x.p[i] > top ? x.p[i] : top;
  return top;
}
INLINE vf vf_bytes(const int8_t *p) { EACH((float)p[i]); }
INLINE void vf_quantise(uint8_t *out, vf x, int zero) {
  for (int i = 0; i < LANES; i++) {
    int n = (int)rintf(x.p[i]) + zero;
    out[i] = (uint8_t)(n < 0 ? 0 : n > 255 ? 255 : n);
  }
}
INLINE vi vi_load(const int32_t *p) { vi r; memcpy(r.p, p, sizeof r.p); return r; }
INLINE vf vi_float(vi x) { EACH((float)x.p[i]); }
typedef const int8_t *weights;
INLINE weights weights_load(const int8_t *p) { return p; }
INLINE vi vi_dot(vi sum, weights w, const uint8_t *four) {
  for (int i = 0; i < LANES; i++)
    for (int k = 0; k < 4; k++) sum.p[i] += four[k] * w[4 * i + k];
  return sum;
}

#endif

#if !defined(TURIA_AVX512)
INLINE vf vf_sums(const vf *x) {
  float sums[LANES];
  for (int i = 0; i < LANES; i++) sums[i] = vf_sum(x[i]);
  return vf_load(sums);
}
/* Whether any of them is `least` or more. */
INLINE int vf_reaches(vf x, float least) { return vf_top(x) >= least; }
#endif

/* e^x, within two units of the last place; what is below -87 becomes e^-87. */
INLINE vf vf_exp(vf x) {
  x = vf_min(vf_max(x, vf_set1(-87.0f)), vf_set1(88.0f));
  vf n = vf_round(vf_mul(x, vf_set1(1.44269504f)));
  vf r = vf_fma(n, vf_set1(-0.693359375f), x);
  r = vf_fma(n, vf_set1(2.12194440e-4f), r);
  vf y = vf_set1(1.9875691500e-4f);
  y = vf_fma(y, r, vf_set1(1.3981999507e-3f));
  y = vf_fma(y, r, vf_set1(8.3334519073e-3f));
  y = vf_fma(y, r, vf_set1(4.1665795894e-2f));
  y = vf_fma(y, r, vf_set1(1.6666665459e-1f));
  y = vf_fma(y, r, vf_set1(5.0000001201e-1f));
  y = vf_fma(y, vf_mul(r, r), vf_add(r, vf_set1(1.0f)));
  return vf_mul(y, vf_power(n));
}

#endif
