/* Shapes that Relay computes when it runs. Texts are the machine's (src/vm/builtins/relay.cc). */
#include <stdlib.h>

#include "aot/runtime/aot.h"

static int64_t longest_of(const Any* args, int32_t count) {
  int64_t rank = 0;
  for (int32_t k = 0; k < count; ++k)
    if ((int64_t)shape_of(&args[k])->size > rank) rank = (int64_t)shape_of(&args[k])->size;
  return rank;
}

int32_t rldb_aot_BroadcastShape(Library* library, const Any* args, int32_t count, Any* result) {
  (void)library;
  for (int32_t k = 0; k < count; ++k)
    if (!shape_of(&args[k])) WRONG(k, "a Shape");
  const int64_t rank = longest_of(args, count);
  if (rldb_aot_shape(rank, NULL, result) != kSucceeded) return kFailed;
  int64_t* made = ((Shape*)result->v_obj)->dims;
  for (int64_t i = 0; i < rank; ++i) made[i] = 1;
  for (int32_t k = 0; k < count; ++k) {
    const TVMFFIShapeCell* s = shape_of(&args[k]);
    const int64_t skipped = rank - (int64_t)s->size;
    for (int64_t i = 0; i < (int64_t)s->size; ++i) {
      const int64_t had = made[skipped + i], d = s->data[i];
      if (d != 1) made[skipped + i] = d;
      if (had == 1 || d == 1 || had == d) continue;
      rldb_aot_release(result);
      return rldb_aot_fail(kErrorShape, "the shapes do not broadcast: %lld and %lld at axis %lld", (long long)had,
                           (long long)d, (long long)(skipped + i));
    }
  }
  return kSucceeded;
}

typedef struct {
  int64_t total, others, inferred; /* of the tensor, of the new dims that are known; the dim that is not, or -1 */
} Reshape;

static int32_t read_codes(const char* name, const TVMFFIShapeCell* from, const int64_t* codes, int64_t count,
                          Reshape* r, int64_t* made) {
  for (size_t i = 0; i < from->size; ++i)
    if (__builtin_mul_overflow(r->total, from->data[i], &r->total))
      return rldb_aot_fail(kErrorShape, "%s: the tensor is too large", name);
  for (int64_t i = 0; i < count; ++i) {
    int64_t d = codes[i];
    if (d == 0 && i < (int64_t)from->size) d = from->data[i];
    if (d < -1 || (d == -1 && r->inferred >= 0))
      return rldb_aot_fail(kErrorShape, "%s: %lld is not a new dim, or -1 occurs twice", name, (long long)d);
    if (d == -1)
      r->inferred = i;
    else if (__builtin_mul_overflow(r->others, d, &r->others))
      return rldb_aot_fail(kErrorShape, "%s: the new shape is too large", name);
    made[i] = d;
  }
  return kSucceeded;
}

static int32_t infer_dim(const char* name, const Reshape* r, int64_t* made) {
  if (r->inferred < 0 && r->total != r->others)
    return rldb_aot_fail(kErrorShape, "%s: %lld elements cannot become %lld", name, (long long)r->total,
                         (long long)r->others);
  if (r->inferred < 0) return kSucceeded;
  if (r->others == 0 || r->total % r->others != 0)
    return rldb_aot_fail(kErrorShape, "%s: %lld elements cannot be divided by %lld", name, (long long)r->total,
                         (long long)r->others);
  made[r->inferred] = r->total / r->others;
  return kSucceeded;
}

int32_t rldb_aot_ReshapedShape(Library* library, const Any* args, int32_t count, Any* result) {
  TAKES(2, 2);
  const TVMFFIShapeCell* from = shape_of(&args[0]);
  const DLTensor* codes = tensor_of(&args[1]);
  Reshape r = {1, 1, -1};
  if (!from) WRONG(0, "a Shape");
  if (!codes || codes->ndim != 1 || !same_dtype(codes->dtype, (DLDataType){0, 64, 1}))
    WRONG(1, "an int64 tensor of rank 1");
  if (rldb_aot_shape(codes->shape[0], NULL, result) != kSucceeded) return kFailed;
  int64_t* made = ((Shape*)result->v_obj)->dims;
  if (read_codes(NAME, from, (const int64_t*)data_of(codes), codes->shape[0], &r, made) == kSucceeded &&
      infer_dim(NAME, &r, made) == kSucceeded)
    return kSucceeded;
  rldb_aot_release(result);
  return kFailed;
}
