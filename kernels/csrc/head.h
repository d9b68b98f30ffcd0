/* What learned policies ask of a row: how sure the model is of it, and what a head says to its states. Each variant
includes this file once. Both are asked for each word that is read, so that they must cost next to nothing. */

/* The log-probability of the likeliest piece that is not forbidden. */
static float sureness(const float *logits, const uint8_t *forbidden, int64_t vocabulary) {
  const int64_t whole = vocabulary / LANES * LANES;
  int64_t best = -1;
  float top = NOTHING, rest = 0;
  vf most = vf_set1(NOTHING), sum = vf_set1(0);
  for (int64_t i = 0; i < whole; i += LANES) most = vf_max(most, vf_load(logits + i));
  top = vf_top(most);
  for (int64_t i = whole; i < vocabulary; i++) top = logits[i] > top ? logits[i] : top;
  for (int64_t i = 0; i < whole; i += LANES) {
    const vf here = vf_load(logits + i);
    sum = vf_add(sum, vf_exp(vf_sub(here, vf_set1(top))));
    /* Few groups of sixteen have one that is better than the best found. */
    if (best >= 0 && !vf_reaches(here, logits[best])) continue;
    for (int64_t j = i; j < i + LANES; j++)
      if (!forbidden[j] && (best < 0 || logits[j] > logits[best])) best = j;
  }
  for (int64_t i = whole; i < vocabulary; i++) {
    rest += expf(logits[i] - top);
    if (!forbidden[i] && (best < 0 || logits[i] > logits[best])) best = i;
  }
  return best < 0 ? NOTHING : logits[best] - top - logf(vf_sum(sum) + rest);
}

#define TOGETHER 4 /* inner values: one alone would wait for each of its additions */

/* The sum that a two-layer perceptron makes of `values`: of each inner value, `rows` has the weights, a bias, and the
weight that it has in the sum. */
static float perceptron(const float *rows, int64_t inner, const float *values, int64_t count) {
  const int64_t whole = count / LANES * LANES, size = count + 2;
  float total = 0;
  for (int64_t h = 0; h < inner; h += TOGETHER) {
    const int64_t some = inner - h < TOGETHER ? inner - h : TOGETHER;
    vf sum[TOGETHER] = {vf_set1(0), vf_set1(0), vf_set1(0), vf_set1(0)};
    for (int64_t i = 0; i < whole; i += LANES) {
      const vf value = vf_load(values + i);
      if (some == TOGETHER)
        for (int64_t j = 0; j < TOGETHER; j++) sum[j] = vf_fma(vf_load(rows + j * size + i), value, sum[j]);
      else
        for (int64_t j = 0; j < some; j++) sum[j] = vf_fma(vf_load(rows + j * size + i), value, sum[j]);
    }
    for (int64_t j = 0; j < some; j++, rows += size) {
      float value = vf_sum(sum[j]) + rows[count];
      for (int64_t i = whole; i < count; i++) value += rows[i] * values[i];
      if (value > 0) total += value * rows[count + 1];
    }
  }
  return total;
}
