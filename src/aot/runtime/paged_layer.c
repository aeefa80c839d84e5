/* The attention of one query, and what it sees. */
#include "aot/runtime/paged_layer.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const Rotation kLayerWindowRotation = {10000, 1};

int32_t rldb_aot_layer_begin(const Args* a, Layer* l) {
  memset(l, 0, sizeof *l);
  int64_t layer;
  if (rldb_aot_arg_paged(a, &l->cache) != kSucceeded || rldb_aot_arg_integer(a, 1, &layer) != kSucceeded ||
      rldb_aot_paged_forward(l->cache, &l->forward, &l->sequences) != kSucceeded)
    return kFailed;
  const int64_t first = number_of(l->cache, kFirstLayer), count = number_of(l->cache, kLayers);
  for (int64_t i = 0; i < l->sequences; ++i) l->rows += l->forward[i].count;
  l->layer = layer - first;
  if (layer >= first && layer - first < count) return kSucceeded;
  rldb_aot_layer_end(l);
  return rldb_aot_fail(kErrorType, "the cache is for %lld layers from %lld on, not for layer %lld", (long long)count,
                       (long long)first, (long long)layer);
}

int32_t rldb_aot_layer_reserve(Layer* l, int64_t width) {
  int64_t longest = 0;
  for (int64_t i = 0; i < l->sequences; ++i) {
    const int64_t length = length_of(l->forward[i].sequence);
    if (length > longest) longest = length;
  }
  /* A query of a decode may see itself a second time, where trees are attended to. */
  l->seen = malloc(((size_t)longest + kMostTreeNodes + 2) * sizeof(int64_t));
  l->weights = malloc(((size_t)longest + kMostTreeNodes + 2) * sizeof(double));
  l->query = malloc(3 * ((size_t)width + 1) * sizeof(double));
  if (!l->seen || !l->weights || !l->query) {
    rldb_aot_layer_end(l);
    return rldb_aot_fail(kErrorMemory, "no memory for the attention to %lld rows", (long long)longest);
  }
  l->row = l->query + width + 1;
  l->out = l->row + width + 1;
  return kSucceeded;
}

void rldb_aot_layer_end(Layer* l) {
  free(l->forward);
  free(l->seen);
  free(l->weights);
  free(l->query);
  memset(l, 0, sizeof *l);
}

/* Each sequence gets one row, which is among the rows attended to. */
int rldb_aot_layer_decodes(const Layer* l) {
  if (number_of(l->cache, kSliding) != 0) return 0;
  for (int64_t i = 0; i < l->sequences; ++i)
    if (l->forward[i].count != 1) return 0;
  return 1;
}

Rotation rldb_aot_layer_rotation(const Layer* l) {
  if (kind_of(l->cache, l->layer) == kWindowed && number_of(l->cache, kRope) == kRopeInline)
    return kLayerWindowRotation;
  const Any* r = fields_of(&l->cache.fields[kRotation]);
  return (Rotation){.theta = r[1].v_float64, .scale = r[0].v_float64};
}

/* Pairs are half a row apart. */
void rldb_aot_rotate(Rotation by, double* row, int64_t size, int64_t position) {
  const int64_t half = size / 2;
  for (int64_t i = 0; i < half; ++i) {
    const double frequency = pow(by.theta, -2.0 * (double)i / (double)size);
    const double angle = (double)position * by.scale * frequency;
    const double a = row[i], b = row[half + i], sine = sin(angle), cosine = cos(angle);
    row[i] = a * cosine - b * sine;
    row[half + i] = b * cosine + a * sine;
  }
}

int64_t rldb_aot_rows_position(const Rows* r, int64_t i) {
  const int64_t nodes = tree_of(r->sequence).size;
  return nodes == 0 ? r->begin + i : base_of(r->sequence) + rldb_aot_paged_depth(r->sequence, nodes - r->count + i);
}

void rldb_aot_see_nothing(Layer* l) { l->seen_count = 0; }

void rldb_aot_see_before(Layer* l, const Rows* r) {
  const int64_t end = tree_of(r->sequence).size == 0 ? r->begin : base_of(r->sequence);
  for (int64_t row = 0; row < end; ++row) l->seen[l->seen_count++] = row;
}

/* Rows of the forward up to the i-th, or its ancestors and itself, if they are in [from, to). */
void rldb_aot_see_here(Layer* l, const Rows* r, int64_t i, int64_t from, int64_t to) {
  const Ints parents = tree_of(r->sequence);
  if (parents.size == 0) {
    for (int64_t row = r->begin; row <= r->begin + i; ++row)
      if (row >= from && row < to) l->seen[l->seen_count++] = row;
    return;
  }
  const int64_t first = base_of(r->sequence);
  int64_t path[kMostTreeNodes], count = 0;
  for (int64_t node = r->begin + i - first; node >= 0; node = parents.data[node]) path[count++] = first + node;
  while (count-- > 0)
    if (path[count] >= from && path[count] < to) l->seen[l->seen_count++] = path[count];
}

void rldb_aot_load_row(const uint8_t* from, DLDataType t, int64_t size, double* to) {
  const uint64_t bytes = element_bytes(t);
  for (int64_t d = 0; d < size; ++d) to[d] = rldb_aot_load_double(from + (uint64_t)d * bytes, t);
}

void rldb_aot_store_row(uint8_t* to, DLDataType t, int64_t size, const double* from) {
  const uint64_t bytes = element_bytes(t);
  for (int64_t d = 0; d < size; ++d) rldb_aot_store_double(to + (uint64_t)d * bytes, t, from[d]);
}

void rldb_aot_attend(Layer* l, int64_t key_size, int64_t value_size, double scale, RowReader key, RowReader value,
                     const void* self) {
  double most = 0, total = 0;
  memset(l->out, 0, (size_t)value_size * sizeof(double));
  l->lse = -INFINITY;
  if (l->seen_count == 0) return;
  for (int64_t i = 0; i < l->seen_count; ++i) {
    double sum = 0;
    key(l, self, l->seen[i], l->row);
    for (int64_t d = 0; d < key_size; ++d) sum += l->query[d] * l->row[d];
    l->weights[i] = sum * scale;
    if (i == 0 || most < l->weights[i]) most = l->weights[i];
  }
  for (int64_t i = 0; i < l->seen_count; ++i) total += l->weights[i] = exp(l->weights[i] - most);
  for (int64_t i = 0; i < l->seen_count; ++i) {
    value(l, self, l->seen[i], l->row);
    for (int64_t d = 0; d < value_size; ++d) l->out[d] += l->weights[i] * l->row[d];
  }
  for (int64_t d = 0; d < value_size; ++d) l->out[d] /= total;
  l->lse = (most + log(total)) / log(2.0);
}

/* ---- rows of the cache ---- */

void rldb_aot_cached_key(const Layer* l, const void* self, int64_t row, double* to) {
  const Cached* c = self;
  const int64_t size = number_of(l->cache, kKeyDim);
  rldb_aot_load_row(rldb_aot_paged_row(l->cache, kKeys, l->layer, c->rows->sequence, row, c->head),
                    pool_of(l->cache, kKeys)->dtype, size, to);
  if (!is_latent(l) && number_of(l->cache, kRope) == kRopeInline)
    rldb_aot_rotate(rldb_aot_layer_rotation(l), to, size, row);
}

/* A latent row is a key whose first elements are also the value. */
void rldb_aot_cached_value(const Layer* l, const void* self, int64_t row, double* to) {
  const Cached* c = self;
  const int which = is_latent(l) ? kKeys : kValues;
  rldb_aot_load_row(rldb_aot_paged_row(l->cache, which, l->layer, c->rows->sequence, row, c->head),
                    pool_of(l->cache, which)->dtype, number_of(l->cache, kValueDim), to);
}

void rldb_aot_append_row(const Layer* l, int which, const Rows* r, int64_t i, int64_t head, int64_t size,
                         const double* from) {
  rldb_aot_store_row(rldb_aot_paged_row(l->cache, which, l->layer, r->sequence, r->begin + i, head),
                     pool_of(l->cache, which)->dtype, size, from);
}

/* What a layer with a window sees of the rows before: the last ones. When decoding, the new row is in the window. */
void rldb_aot_see_window(Layer* l) {
  const int64_t most = kLayerWindow - (rldb_aot_layer_decodes(l) ? 1 : 0), passed = l->seen_count - most;
  if (kind_of(l->cache, l->layer) != kWindowed || passed <= 0) return;
  memmove(l->seen, l->seen + passed, (size_t)most * sizeof *l->seen);
  l->seen_count = most;
}

int32_t rldb_aot_in_layer(const Any* args, int32_t count, const char* what, int32_t (*does)(const Args*, Layer*)) {
  const Args a = {args, count, what};
  Layer l;
  if (rldb_aot_layer_begin(&a, &l) != kSucceeded) return kFailed;
  const int32_t done = does(&a, &l);
  rldb_aot_layer_end(&l);
  return done;
}
