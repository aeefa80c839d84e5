/* Values as rldb prints them: tensors as NumPy's str(array) (src/runtime/text/format.cc has the rules). */
#ifndef RLDB_AOT_RUNTIME_FORMAT_H_
#define RLDB_AOT_RUNTIME_FORMAT_H_

#include "aot/runtime/aot.h"

enum { kMostDigits = 420 };

typedef struct { /* a number around its point; the exponent only in scientific notation */
  char whole[kMostDigits], fraction[kMostDigits], exponent[8];
} Digits;

/* The fewest digits that identify v among the numbers of its dtype, and not more than `precision` behind the point. */
RLDB_AOT void rldb_aot_fixed(double v, DLDataType t, int precision, Digits* out);
RLDB_AOT void rldb_aot_scientific(double v, DLDataType t, int precision, Digits* out);
RLDB_AOT void rldb_aot_put_scalar(Buffer* b, double v, DLDataType t);
RLDB_AOT void rldb_aot_put_element(Buffer* b, const void* at, DLDataType t);
RLDB_AOT void rldb_aot_put_whole(Buffer* b, const Any* v);
RLDB_AOT int rldb_aot_put_cache(Buffer* b, const Any* v, size_t indent); /* 0: it is no paged cache */

#endif /* RLDB_AOT_RUNTIME_FORMAT_H_ */
