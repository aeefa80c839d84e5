/* Stable sorting of indices. */
#ifndef RLDB_AOT_RUNTIME_ORDER_H_
#define RLDB_AOT_RUNTIME_ORDER_H_

#include <stdint.h>

#include "aot/runtime/aot.h"

/* Below 0: the item of index x comes first. */
typedef int (*Compare)(const void* context, int64_t x, int64_t y);

/* `scratch` has room for as many. */
RLDB_AOT void rldb_aot_order(int64_t* order, int64_t* scratch, int64_t count, Compare compare, const void* context);
/* Numbers ascending, NaN last; lanes are 1. */
RLDB_AOT int rldb_aot_compare_elements(const void* x, const void* y, DLDataType t);

#endif /* RLDB_AOT_RUNTIME_ORDER_H_ */
