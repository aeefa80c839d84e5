#include "aot/runtime/order.h"

#include <math.h>
#include <string.h>

enum { kShort = 16 };

/* Short pieces by insertion, then pairs of pieces are merged. */
void rldb_aot_order(int64_t* order, int64_t* scratch, int64_t count, Compare compare, const void* context) {
  for (int64_t begin = 0; begin < count; begin += kShort) {
    const int64_t end = begin + kShort < count ? begin + kShort : count;
    for (int64_t i = begin + 1; i < end; ++i) {
      const int64_t item = order[i];
      int64_t at = i;
      for (; at > begin && compare(context, item, order[at - 1]) < 0; --at) order[at] = order[at - 1];
      order[at] = item;
    }
  }
  for (int64_t size = kShort; size < count; size *= 2) {
    for (int64_t begin = 0; begin < count; begin += 2 * size) {
      const int64_t middle = begin + size < count ? begin + size : count;
      const int64_t end = begin + 2 * size < count ? begin + 2 * size : count;
      int64_t left = begin, right = middle;
      for (int64_t to = begin; to < end; ++to)
        scratch[to] = left < middle && (right == end || compare(context, order[right], order[left]) >= 0)
                          ? order[left++]
                          : order[right++];
    }
    memcpy(order, scratch, (size_t)count * sizeof *order);
  }
}

int rldb_aot_compare_elements(const void* x, const void* y, DLDataType t) {
  if (is_float(t)) {
    const double p = rldb_aot_load_double(x, t), q = rldb_aot_load_double(y, t);
    if (isnan(p) || isnan(q)) return isnan(p) - isnan(q);
    return p < q ? -1 : p > q;
  }
  const int64_t p = rldb_aot_load_int(x, t), q = rldb_aot_load_int(y, t);
  if (t.code == 1) return (uint64_t)p < (uint64_t)q ? -1 : (uint64_t)p > (uint64_t)q;
  return p < q ? -1 : p > q;
}
