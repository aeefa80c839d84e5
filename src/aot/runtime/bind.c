/* The checks of a kernel's arguments, those of runtime::bind_arguments: each against its declared type, and dimensions
 * against the symbols that other arguments have bound. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "aot/runtime/kernel.h"

static int32_t mismatch(const Binding* b, ErrorCode code, uint64_t i, const char* format, ...)
    __attribute__((format(printf, 4, 5)));

static int32_t mismatch(const Binding* b, ErrorCode code, uint64_t i, const char* format, ...) {
  char what[512];
  va_list args;
  va_start(args, format);
  vsnprintf(what, sizeof what, format, args);
  va_end(args);
  const KernelParam* p = &b->kernel->params[i];
  const int named = p->name.size > 0;
  return rldb_aot_fail(code, "`%.*s`: argument %llu%s%.*s%s: %s", (int)b->kernel->name.size, b->kernel->name.data,
                       (unsigned long long)i, named ? " (`" : "", (int)p->name.size, p->name.data, named ? "`)" : "",
                       what);
}

/* "bound by argument 0 (`A`), dimension 1" */
static void note_binder(const Binding* b, int64_t variable) {
  const Kernel* k = b->kernel;
  for (uint64_t i = 0; i < k->param_count; ++i) {
    const KernelParam* p = &k->params[i];
    int64_t dim = -1;
    if (!p->is_tensor && p->variable != variable) continue;
    if (p->is_tensor) {
      for (uint64_t d = 0; d < p->rank && dim < 0; ++d)
        if (p->shape[d].count == 1 && p->shape[d].code[0].code == 1 && p->shape[d].code[0].value == variable)
          dim = (int64_t)d;
      if (dim < 0) continue;
    }
    rldb_aot_note("`%.*s` is %lld, bound by argument %llu (`%.*s`)", (int)k->variables[variable].size,
                  k->variables[variable].data, (long long)b->variables[variable], (unsigned long long)i,
                  (int)p->name.size, p->name.data);
    return;
  }
}

static int32_t bind(const Binding* b, uint64_t i, int64_t variable, int64_t value, int64_t dim) {
  if (!b->bound[variable]) {
    b->bound[variable] = 1;
    b->variables[variable] = value;
    return kSucceeded;
  }
  if (b->variables[variable] == value) return kSucceeded;
  const Text name = b->kernel->variables[variable];
  if (dim >= 0)
    mismatch(b, kErrorShape, i, "dimension %lld is %lld, but `%.*s` is %lld", (long long)dim, (long long)value,
             (int)name.size, name.data, (long long)b->variables[variable]);
  else
    mismatch(b, kErrorShape, i, "value is %lld, but `%.*s` is %lld", (long long)value, (int)name.size, name.data,
             (long long)b->variables[variable]);
  note_binder(b, variable);
  return kFailed;
}

static int32_t wrong_kind(const Binding* b, uint64_t i, const char* wanted) {
  Buffer found = {0};
  rldb_aot_put_value(&found, &b->args[i]);
  mismatch(b, kErrorType, i, "expected %s, got %s", wanted, found.data ? found.data : "?");
  free(found.data);
  return kFailed;
}

static int32_t bind_tensor(const Binding* b, uint64_t i) {
  const KernelParam* p = &b->kernel->params[i];
  const DLTensor* t = tensor_of(&b->args[i]);
  if (!t) return wrong_kind(b, i, "a tensor");
  if (!is_void(p->dtype) && !same_dtype(t->dtype, p->dtype)) {
    Buffer found = {0}, wanted = {0};
    rldb_aot_put_dtype(&found, t->dtype);
    rldb_aot_put_dtype(&wanted, p->dtype);
    mismatch(b, kErrorType, i, "dtype is `%s`, expected `%s`", found.data, wanted.data);
    free(found.data);
    free(wanted.data);
    return kFailed;
  }
  if ((uint64_t)t->ndim != p->rank)
    return mismatch(b, kErrorType, i, "rank is %d, expected %llu", t->ndim, (unsigned long long)p->rank);
  for (uint64_t d = 0; d < p->rank; ++d) {
    if (p->shape[d].count != 1) continue;
    const DimOp op = p->shape[d].code[0];
    if (op.code == 0 && op.value != t->shape[d])
      return mismatch(b, kErrorShape, i, "dimension %llu is %lld, expected %lld", (unsigned long long)d,
                      (long long)t->shape[d], (long long)op.value);
    if (op.code == 1 && bind(b, i, op.value, t->shape[d], (int64_t)d) != kSucceeded) return kFailed;
  }
  return kSucceeded;
}

static int fits(int64_t value, DLDataType t) {
  if (is_void(t) || t.bits >= 64) return 1;
  if (t.code == 6) return value == 0 || value == 1;
  if (t.code == 1) return value >= 0 && value < (int64_t)1 << t.bits;
  const int64_t half = (int64_t)1 << (t.bits - 1);
  return value >= -half && value < half;
}

static int32_t bind_scalar(const Binding* b, uint64_t i) {
  const KernelParam* p = &b->kernel->params[i];
  const Any* v = &b->args[i];
  if (is_float(p->dtype))
    return v->type_index == kTVMFFIFloat || v->type_index == kTVMFFIInt ? kSucceeded : wrong_kind(b, i, "a float");
  if (is_handle(p->dtype)) return kSucceeded;
  if (!is_integer(v)) return wrong_kind(b, i, p->dtype.code == 6 ? "a bool" : "an int");
  if (!fits(v->v_int64, p->dtype))
    return mismatch(b, kErrorType, i, "%lld does not fit into its dtype", (long long)v->v_int64);
  return p->variable < 0 ? kSucceeded : bind(b, i, p->variable, v->v_int64, -1);
}

/* runtime::evaluate. False: division by zero or overflow. */
static int apply(int64_t code, int64_t a, int64_t b, int64_t* out) {
  enum {
    kAdd = 2,
    kSub,
    kMul,
    kFloorDiv,
    kFloorMod,
    kTruncDiv,
    kTruncMod,
    kMin,
    kMax,
    kEq,
    kNe,
    kLt,
    kLe,
    kGt,
    kGe,
    kAnd,
    kOr
  };
  if (code >= kFloorDiv && code <= kTruncMod) {
    if (b == 0 || (b == -1 && a == INT64_MIN)) return 0;
    const int64_t q = a / b, r = a % b;
    const int down = r != 0 && (r < 0) != (b < 0);
    *out = code == kFloorDiv ? q - down : code == kFloorMod ? r + (down ? b : 0) : code == kTruncDiv ? q : r;
    return 1;
  }
  switch (code) {
    case kAdd:
      return !__builtin_add_overflow(a, b, out);
    case kSub:
      return !__builtin_sub_overflow(a, b, out);
    case kMul:
      return !__builtin_mul_overflow(a, b, out);
    case kMin:
      *out = a < b ? a : b;
      return 1;
    case kMax:
      *out = a > b ? a : b;
      return 1;
    case kEq:
      *out = a == b;
      return 1;
    case kNe:
      *out = a != b;
      return 1;
    case kLt:
      *out = a < b;
      return 1;
    case kLe:
      *out = a <= b;
      return 1;
    case kGt:
      *out = a > b;
      return 1;
    case kGe:
      *out = a >= b;
      return 1;
    case kAnd:
      *out = a != 0 && b != 0;
      return 1;
    case kOr:
      *out = a != 0 || b != 0;
      return 1;
    default:
      return 0;
  }
}

static int evaluate(const Dim* d, const int64_t* variables, int64_t* out) {
  enum { kConst = 0, kVar = 1, kNot = 19, kSelect = 20 };
  int64_t* stack = malloc((d->count + 1) * sizeof(int64_t));
  if (!stack) return 0;
  uint64_t n = 0;
  int good = 1;
  for (uint64_t i = 0; i < d->count && good; ++i) {
    const DimOp op = d->code[i];
    if (op.code == kConst || op.code == kVar) {
      stack[n++] = op.code == kConst ? op.value : variables[op.value];
    } else if (op.code == kNot) {
      stack[n - 1] = stack[n - 1] == 0;
    } else if (op.code == kSelect) {
      n -= 2;
      stack[n - 1] = stack[n - 1] != 0 ? stack[n] : stack[n + 1];
    } else {
      --n;
      good = apply(op.code, stack[n - 1], stack[n], &stack[n - 1]);
    }
  }
  *out = stack[0];
  free(stack);
  return good;
}

static int32_t check_compound(const Binding* b, uint64_t i) {
  const KernelParam* p = &b->kernel->params[i];
  if (!p->is_tensor || p->opaque) return kSucceeded;
  const DLTensor* t = tensor_of(&b->args[i]);
  for (uint64_t d = 0; d < p->rank; ++d) {
    const Dim* dim = &p->shape[d];
    int64_t wanted = 0;
    if (dim->count == 1) continue;
    if (!evaluate(dim, b->variables, &wanted))
      return mismatch(b, kErrorType, i, "dimension %llu: cannot compute `%.*s`", (unsigned long long)d,
                      (int)dim->text.size, dim->text.data);
    if (wanted == t->shape[d]) continue;
    mismatch(b, kErrorShape, i, "dimension %llu is %lld, expected `%.*s` = %lld", (unsigned long long)d,
             (long long)t->shape[d], (int)dim->text.size, dim->text.data, (long long)wanted);
    for (uint64_t k = 0; k < dim->count; ++k)
      if (dim->code[k].code == 1) note_binder(b, dim->code[k].value);
    return kFailed;
  }
  return kSucceeded;
}

int32_t rldb_aot_bind(const Binding* b, int32_t count) {
  const Kernel* k = b->kernel;
  if ((uint64_t)count != k->param_count)
    return rldb_aot_fail(kErrorCount, "`%.*s` takes %llu arguments, got %d", (int)k->name.size, k->name.data,
                         (unsigned long long)k->param_count, count);
  for (uint64_t i = 0; i < k->param_count; ++i) {
    if (k->params[i].opaque) continue;
    if ((k->params[i].is_tensor ? bind_tensor(b, i) : bind_scalar(b, i)) != kSucceeded) return kFailed;
  }
  for (uint64_t v = 0; v < k->variable_count; ++v)
    if (!b->bound[v])
      return rldb_aot_fail(kErrorType, "`%.*s`: no argument binds `%.*s`", (int)k->name.size, k->name.data,
                           (int)k->variables[v].size, k->variables[v].data);
  for (uint64_t i = 0; i < k->param_count; ++i)
    if (check_compound(b, i) != kSucceeded) return kFailed;
  return kSucceeded;
}
