/* Tensors in NumPy's .npy files: versions 1 to 3, little-endian, row-major. Used by standalone.c. */
#ifndef RLDB_AOT_RUNTIME_NPY_H_
#define RLDB_AOT_RUNTIME_NPY_H_

#include "aot/runtime/aot.h"

/* Null: it was read or written; else why not, a text that is never freed. `wanted`: the dtype for files of uint16 and
 * uint8 that hold bfloat16 and float8, null if it is not known. */
const char* npy_read(const char* path, const DLDataType* wanted, Any* result);
const char* npy_write(const char* path, const DLTensor* t);

#endif /* RLDB_AOT_RUNTIME_NPY_H_ */
