/* States of sequences that programs keep: what the paged cache (paged.h) and the state of recurrent layers (rnn.c) have
 * in common. Both are tuples of plain values, laid out and worded as those of src/runtime/kv. */
#ifndef RLDB_AOT_RUNTIME_STATE_H_
#define RLDB_AOT_RUNTIME_STATE_H_

#include "aot/runtime/aot.h"

typedef struct {
  const int64_t* data;
  int64_t size;
} Ints;

/* The arguments of a function, read by position; `what` names them in errors. Readers return kSucceeded or kFailed. */
typedef struct {
  const Any* args;
  int32_t count;
  const char* what;
} Args;

RLDB_AOT int32_t rldb_aot_arg_wrong(const Args* a, int32_t i);
RLDB_AOT int32_t rldb_aot_arg_integer(const Args* a, int32_t i, int64_t* out);
RLDB_AOT int32_t rldb_aot_arg_number(const Args* a, int32_t i, double* out);
RLDB_AOT int32_t rldb_aot_arg_ints(const Args* a, int32_t i, Ints* out);
RLDB_AOT int32_t rldb_aot_arg_tensor(const Args* a, int32_t i, const DLTensor** out);
/* Of floats, with this shape. */
RLDB_AOT int32_t rldb_aot_arg_floats(const Args* a, int32_t i, int64_t rank, const int64_t* shape,
                                     const DLTensor** out);
static inline int arg_is_null(const Args* a, int32_t i) {
  return i >= a->count || a->args[i].type_index == kTVMFFINone;
}

RLDB_AOT int rldb_aot_is_text(const Any* v, const char* text);
RLDB_AOT int rldb_aot_has_shape(const DLTensor* t, int64_t rank, const int64_t* shape);
static inline int is_tuple_of(const Any* v, int64_t size) {
  const TVMFFISeqCell* t = tuple_of(v);
  return t && t->size == size;
}
static inline Any* fields_of(const Any* v) { return tuple_of(v)->data; }
static inline Ints ints_in(const Any* v) {
  const TVMFFIShapeCell* s = shape_of(v);
  return (Ints){s->data, (int64_t)s->size};
}
RLDB_AOT int rldb_aot_is_forward(const Any* v); /* null, or sequences and lengths */
RLDB_AOT int32_t rldb_aot_set_ints(Any* field, const int64_t* data, int64_t size);
RLDB_AOT int32_t rldb_aot_set_forward(Any* field, Ints ids, Ints lengths);
RLDB_AOT int32_t rldb_aot_set_empty(Any* field); /* an empty tuple */
/* A tuple with one more field, or one less: `field` is the tuple, which is replaced. */
RLDB_AOT int32_t rldb_aot_add_field(Any* field, const Any* v);
RLDB_AOT int32_t rldb_aot_remove_field(Any* field, int64_t index);
RLDB_AOT int32_t rldb_aot_zeros(int64_t rank, const int64_t* shape, DLDataType dtype, Any* result);
static inline int is_listed_twice(Ints ids, int64_t i) {
  for (int64_t k = 0; k < ids.size; ++k)
    if (k != i && ids.data[k] == ids.data[i]) return 1;
  return 0;
}

/* ---- the state of recurrent layers, as kv_state.c calls it ---- */

typedef struct {
  Any* fields;
} Rnn;

RLDB_AOT int rldb_aot_rnn_of(const Any* v, Rnn* out);
RLDB_AOT int32_t rldb_aot_rnn_clear(Rnn s);
RLDB_AOT int32_t rldb_aot_rnn_add(Rnn s, int64_t id);
RLDB_AOT int32_t rldb_aot_rnn_remove(Rnn s, int64_t id);
RLDB_AOT int32_t rldb_aot_rnn_fork(Rnn s, int64_t parent, int64_t child, int64_t position);
RLDB_AOT int32_t rldb_aot_rnn_pop(Rnn s, int64_t id, int64_t steps);
RLDB_AOT int32_t rldb_aot_rnn_begin(Rnn s, Ints ids, Ints lengths, const Ints* parents);
RLDB_AOT int32_t rldb_aot_rnn_end(Rnn s);

#endif /* RLDB_AOT_RUNTIME_STATE_H_ */
