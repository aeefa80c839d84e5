/* One layer of a paged cache in a forward: rows of numbers, and the attention of one query. The arithmetic is that of
 * src/runtime/kv/paged_attention.cc, step by step, so that results have the same bits. */
#ifndef RLDB_AOT_RUNTIME_PAGED_LAYER_H_
#define RLDB_AOT_RUNTIME_PAGED_LAYER_H_

#include "aot/runtime/paged.h"

typedef struct {
  double theta, scale;
} Rotation;

typedef struct Layer Layer;
/* Whose rows are attended to: those of the cache, or of tensors. */
typedef void (*RowReader)(const Layer* l, const void* self, int64_t row, double* to);

struct Layer {
  Cache cache;
  int64_t layer; /* in the cache */
  Rows* forward;
  int64_t sequences, rows; /* of the forward */
  /* For one query: the rows that it sees, their weights, the query, a key or value, and the result. */
  int64_t* seen;
  int64_t seen_count;
  double *weights, *query, *row, *out;
  double lse; /* the logarithm of the sum of the weights, to the base 2 */
};

/* args: cache, layer, ...; `width`: of the longest row. What it fills is released by rldb_aot_layer_end. */
RLDB_AOT int32_t rldb_aot_layer_begin(const Args* a, Layer* l);
RLDB_AOT int32_t rldb_aot_layer_reserve(Layer* l, int64_t width);
RLDB_AOT void rldb_aot_layer_end(Layer* l);

/* A function that works on a layer: `what` names its arguments. */
RLDB_AOT int32_t rldb_aot_in_layer(const Any* args, int32_t count, const char* what,
                                   int32_t (*does)(const Args*, Layer*));

static inline int is_latent(const Layer* l) { return kind_of(l->cache, l->layer) == kLatent; }
RLDB_AOT int rldb_aot_layer_decodes(const Layer* l);
RLDB_AOT Rotation rldb_aot_layer_rotation(const Layer* l);
RLDB_AOT void rldb_aot_rotate(Rotation by, double* row, int64_t size, int64_t position);

RLDB_AOT int64_t rldb_aot_rows_position(const Rows* r, int64_t i); /* of the i-th row, for rotations */
/* What the i-th row of `r` sees: rows before the forward, and of the forward up to itself, or its ancestors and itself,
 * as far as they are in [from, to). */
RLDB_AOT void rldb_aot_see_nothing(Layer* l);
RLDB_AOT void rldb_aot_see_before(Layer* l, const Rows* r);
RLDB_AOT void rldb_aot_see_window(Layer* l); /* of what is seen, what a layer with a window sees */
RLDB_AOT void rldb_aot_see_here(Layer* l, const Rows* r, int64_t i, int64_t from, int64_t to);

RLDB_AOT void rldb_aot_load_row(const uint8_t* from, DLDataType t, int64_t size, double* to);
RLDB_AOT void rldb_aot_store_row(uint8_t* to, DLDataType t, int64_t size, const double* from);
/* The attention of `query` to what is seen. */
RLDB_AOT void rldb_aot_attend(Layer* l, int64_t key_size, int64_t value_size, double scale, RowReader key,
                              RowReader value, const void* self);

/* Rows of the cache as such; `self` is a Cached. */
typedef struct {
  const Rows* rows;
  int64_t head;
} Cached;
RLDB_AOT void rldb_aot_cached_key(const Layer* l, const void* self, int64_t row, double* to);
RLDB_AOT void rldb_aot_cached_value(const Layer* l, const void* self, int64_t row, double* to);
RLDB_AOT void rldb_aot_append_row(const Layer* l, int which, const Rows* r, int64_t i, int64_t head, int64_t size,
                                  const double* from);

/* Rows and heads of a tensor (rows, heads, dim); heads may start after others. */
typedef struct {
  const DLTensor* t;
  int64_t first;
} Heads;
static inline uint8_t* head_at(Heads h, int64_t row, int64_t head) {
  return data_of(h.t) + (uint64_t)((row * h.t->shape[1] + h.first + head) * h.t->shape[2]) * element_bytes(h.t->dtype);
}
static inline void load_head(Heads h, int64_t row, int64_t head, double* to) {
  rldb_aot_load_row(head_at(h, row, head), h.t->dtype, h.t->shape[2], to);
}
static inline void store_head(Heads h, int64_t row, int64_t head, const double* from) {
  rldb_aot_store_row(head_at(h, row, head), h.t->dtype, h.t->shape[2], from);
}
static inline uint8_t* lse_at(const DLTensor* t, int64_t row, int64_t head) {
  return data_of(t) + (uint64_t)(row * t->shape[1] + head) * element_bytes(t->dtype);
}

#endif /* RLDB_AOT_RUNTIME_PAGED_LAYER_H_ */
