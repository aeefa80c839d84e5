/* The caller's tensors that are not objects are lent: values that refer to their memory are copied before they leave.
 */
#include <string.h>

#include "aot/runtime/walk.h"

int rldb_aot_is_lent(const Any* v) {
  Any owner = {0};
  if (!rldb_aot_is_own_tensor(v)) return 0;
  owner.v_obj = ((Tensor*)v->v_obj)->owner;
  owner.type_index = owner.v_obj ? kTVMFFIObject : kTVMFFINone;
  return rldb_aot_is_storage(&owner) && ((Storage*)owner.v_obj)->borrowed;
}

static int32_t keep_tensor(Any* v) {
  const DLTensor* t = tensor_of(v);
  Any copy = {0};
  if (rldb_aot_tensor(t->ndim, t->shape, t->dtype, &copy) != kSucceeded) return kFailed;
  memcpy(data_of(tensor_of(&copy)), data_of(t), (size_t)rldb_aot_element_count(t) * element_bytes(t->dtype));
  rldb_aot_set(v, &copy);
  return kSucceeded;
}

static int32_t keep_one(Walk* w, Any* v) { return rldb_aot_is_lent(v) ? keep_tensor(v) : rldb_aot_walk_add(w, v); }

static int32_t keep_all(Walk* w, Any* values, int64_t count) {
  for (int64_t i = 0; i < count; ++i)
    if (keep_one(w, &values[i]) != kSucceeded) return kFailed;
  return kSucceeded;
}

static int32_t keep_parts(Walk* w, Any* v) {
  TVMFFISeqCell* cell = tuple_of(v);
  if (cell) return keep_all(w, cell->data, cell->size);
  Closure* c = (Closure*)v->v_obj;
  if (keep_one(w, &c->called) != kSucceeded) return kFailed;
  return keep_all(w, c->captured, c->captured_count);
}

int32_t rldb_aot_keep(Any* v) {
  Walk w = {0};
  int32_t done = keep_one(&w, v);
  for (Any* at; done == kSucceeded && (at = rldb_aot_walk_next(&w)) != NULL;) done = keep_parts(&w, at);
  rldb_aot_walk_end(&w);
  return done;
}
