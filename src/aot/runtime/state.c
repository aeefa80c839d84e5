/* Arguments and fields of the states of sequences. */
#include "aot/runtime/state.h"

#include <stdlib.h>
#include <string.h>

/* ---- arguments ---- */

static int32_t wrong_argument(const Args* a, int32_t i, ErrorCode code, const char* wanted) {
  Buffer given = {0};
  if (i < a->count)
    rldb_aot_put_value(&given, &a->args[i]);
  else
    rldb_aot_put(&given, "nothing");
  rldb_aot_fail(code, "expected (%s), got %s as argument %d%s", a->what, given.data ? given.data : "?", i, wanted);
  free(given.data);
  return kFailed;
}

int32_t rldb_aot_arg_wrong(const Args* a, int32_t i) { return wrong_argument(a, i, kErrorType, ""); }

int32_t rldb_aot_arg_integer(const Args* a, int32_t i, int64_t* out) {
  if (i >= a->count || !is_integer(&a->args[i])) return rldb_aot_arg_wrong(a, i);
  *out = a->args[i].v_int64;
  return kSucceeded;
}

int32_t rldb_aot_arg_number(const Args* a, int32_t i, double* out) {
  const int32_t type = i < a->count ? a->args[i].type_index : kTVMFFINone;
  if (type != kTVMFFIInt && type != kTVMFFIFloat) return rldb_aot_arg_wrong(a, i);
  *out = type == kTVMFFIInt ? (double)a->args[i].v_int64 : a->args[i].v_float64;
  return kSucceeded;
}

int32_t rldb_aot_arg_ints(const Args* a, int32_t i, Ints* out) {
  if (i >= a->count || !shape_of(&a->args[i])) return rldb_aot_arg_wrong(a, i);
  *out = ints_in(&a->args[i]);
  return kSucceeded;
}

int32_t rldb_aot_arg_tensor(const Args* a, int32_t i, const DLTensor** out) {
  *out = i < a->count ? tensor_of(&a->args[i]) : NULL;
  return *out ? kSucceeded : rldb_aot_arg_wrong(a, i);
}

int32_t rldb_aot_arg_floats(const Args* a, int32_t i, int64_t rank, const int64_t* shape, const DLTensor** out) {
  if (rldb_aot_arg_tensor(a, i, out) != kSucceeded) return kFailed;
  if (rldb_aot_has_shape(*out, rank, shape) && is_float((*out)->dtype)) return kSucceeded;
  Buffer wanted = {0};
  rldb_aot_put(&wanted, ", wanted floats of (");
  rldb_aot_put_dims(&wanted, rank, shape);
  rldb_aot_put(&wanted, ")");
  wrong_argument(a, i, kErrorShape, wanted.data ? wanted.data : "");
  free(wanted.data);
  return kFailed;
}

/* ---- values ---- */

int rldb_aot_is_text(const Any* v, const char* text) {
  Text t;
  return rldb_aot_text(v, &t) && t.size == strlen(text) && memcmp(t.data, text, t.size) == 0;
}

int rldb_aot_has_shape(const DLTensor* t, int64_t rank, const int64_t* shape) {
  return t->ndim == rank && (rank == 0 || memcmp(t->shape, shape, (size_t)rank * sizeof(int64_t)) == 0);
}

int rldb_aot_is_forward(const Any* v) {
  if (v->type_index == kTVMFFINone) return 1;
  if (!is_tuple_of(v, 2) || !shape_of(&fields_of(v)[0]) || !shape_of(&fields_of(v)[1])) return 0;
  return ints_in(&fields_of(v)[0]).size == ints_in(&fields_of(v)[1]).size;
}

int32_t rldb_aot_set_ints(Any* field, const int64_t* data, int64_t size) {
  Any made = {0};
  if (rldb_aot_shape(size, data, &made) != kSucceeded) return kFailed;
  rldb_aot_set(field, &made);
  return kSucceeded;
}

int32_t rldb_aot_set_forward(Any* field, Ints ids, Ints lengths) {
  Any parts[2] = {{0}}, made = {0};
  int32_t done = rldb_aot_set_ints(&parts[0], ids.data, ids.size);
  if (done == kSucceeded) done = rldb_aot_set_ints(&parts[1], lengths.data, lengths.size);
  if (done == kSucceeded) done = rldb_aot_tuple(2, parts, &made);
  if (done == kSucceeded) rldb_aot_set(field, &made);
  rldb_aot_release_all(parts, 2);
  return done;
}

int32_t rldb_aot_set_empty(Any* field) {
  Any made = {0};
  if (rldb_aot_tuple(0, NULL, &made) != kSucceeded) return kFailed;
  rldb_aot_set(field, &made);
  return kSucceeded;
}

/* Replaces a tuple by one of the fields before `index`, `v` if there is one, and those after the next `skipped`. */
static int32_t replace(Any* field, int64_t index, const Any* v, int64_t skipped) {
  const TVMFFISeqCell* old = tuple_of(field);
  const int64_t size = old->size - skipped + (v ? 1 : 0);
  Any* all = malloc(((size_t)size + 1) * sizeof(Any));
  if (!all) return rldb_aot_fail(kErrorMemory, "no memory for %lld sequences", (long long)size);
  const Any* from = old->data;
  int64_t n = 0;
  for (int64_t i = 0; i < index; ++i) all[n++] = from[i];
  if (v) all[n++] = *v;
  for (int64_t i = index + skipped; i < old->size; ++i) all[n++] = from[i];
  Any made = {0};
  const int32_t done = rldb_aot_tuple(size, all, &made);
  free(all);
  if (done == kSucceeded) rldb_aot_set(field, &made);
  return done;
}

int32_t rldb_aot_add_field(Any* field, const Any* v) { return replace(field, tuple_of(field)->size, v, 0); }
int32_t rldb_aot_remove_field(Any* field, int64_t index) { return replace(field, index, NULL, 1); }

int32_t rldb_aot_zeros(int64_t rank, const int64_t* shape, DLDataType dtype, Any* result) {
  if (rldb_aot_tensor(rank, shape, dtype, result) != kSucceeded) return kFailed;
  const DLTensor* t = tensor_of(result);
  memset(data_of(t), 0, (size_t)rldb_aot_element_count(t) * element_bytes(dtype));
  return kSucceeded;
}
