/* What kernels call: memory, sizes, and packed functions (the counterparts in codegen/llvm/engine/helpers.cc). */
#include <stdlib.h>
#include <string.h>

#include "aot/runtime/kernel.h"

void rldb_aot_end_run(Run* r) {
  for (uint64_t i = 0; i < r->memory_count; ++i) free(r->memory[i]);
  free(r->memory);
  for (int i = 0; i < 2; ++i) free(r->panels[i].data);
}

RLDB_AOT unsigned char rldb_interrupt; /* never set */

RLDB_AOT void* rldb_alloc_any(uint64_t bytes) {
  Run* r = rldb_aot_thread.run;
  if (r->memory_count == r->memory_room) {
    const uint64_t room = r->memory_room == 0 ? 8 : 2 * r->memory_room;
    void** larger = realloc(r->memory, room * sizeof(void*));
    if (larger) {
      r->memory = larger;
      r->memory_room = room;
    }
  }
  void* made = NULL;
  if (r->memory_count < r->memory_room && bytes < SIZE_MAX / 2) made = aligned_alloc(64, (bytes + 64) / 64 * 64);
  if (!made) {
    rldb_aot_fail(kErrorMemory, "no memory for %llu bytes", (unsigned long long)bytes);
    return NULL;
  }
  return r->memory[r->memory_count++] = made;
}

RLDB_AOT void* rldb_alloc(uint64_t bytes) {
  void* made = rldb_alloc_any(bytes);
  if (made) memset(made, 0, bytes);
  return made;
}

RLDB_AOT void* rldb_panel(uint64_t bytes) {
  Run* r = rldb_aot_thread.run;
  r->turn = !r->turn;
  if (r->panels[r->turn].size < bytes) {
    free(r->panels[r->turn].data);
    r->panels[r->turn].data = bytes < SIZE_MAX / 2 ? aligned_alloc(64, (bytes + 64) / 64 * 64) : NULL;
    r->panels[r->turn].size = r->panels[r->turn].data ? bytes : 0;
    if (!r->panels[r->turn].data) rldb_aot_fail(kErrorMemory, "no memory for %llu bytes", (unsigned long long)bytes);
  }
  return r->panels[r->turn].data;
}

RLDB_AOT int64_t rldb_bytes(int64_t param) {
  const Any* v = &rldb_aot_thread.run->args[param];
  const DLTensor* t = tensor_of(v);
  if (t) return rldb_aot_element_count(t) * (int64_t)element_bytes(t->dtype);
  return rldb_aot_is_storage(v) ? (int64_t)((Storage*)v->v_obj)->size : 0;
}

enum { kRowInt, kRowBool, kRowFloat, kRowString, kRowBuffer, kMostRows = 64, kMostRank = 16 };

/* A packed call inside a kernel. Buffers pass as DLTensor, with their strides. */
RLDB_AOT int32_t rldb_call_packed(const char* name, const int64_t* rows, int64_t count, int64_t* result) {
  Any args[kMostRows] = {{0}};
  DLTensor tensors[kMostRows];
  if (count > kMostRows) {
    rldb_aot_fail(kErrorUnsupported, "a packed call with %lld arguments in a kernel", (long long)count);
    return 1;
  }
  for (int64_t i = 0; i < count; ++i) {
    const int64_t payload = rows[2 * i + 1];
    args[i].v_int64 = payload;
    switch (rows[2 * i]) {
      case kRowInt:
        args[i].type_index = kTVMFFIInt;
        break;
      case kRowBool:
        args[i].type_index = kTVMFFIBool;
        break;
      case kRowFloat:
        args[i].type_index = kTVMFFIFloat;
        break;
      case kRowString:
        args[i].type_index = kTVMFFIRawStr;
        break;
      default: {
        int64_t* about = (int64_t*)(uintptr_t)payload;
        tensors[i] = (DLTensor){(void*)(uintptr_t)about[0],
                                {1, 0},
                                (int32_t)about[2],
                                {(uint8_t)about[1], (uint8_t)(about[1] >> 8), (uint16_t)(about[1] >> 16)},
                                about + 3,
                                about + 3 + about[2],
                                0};
        args[i].type_index = kTVMFFIDLTensorPtr;
        args[i].v_ptr = &tensors[i];
      }
    }
  }
  Any made = {0};
  if (rldb_aot_call_named(name, strlen(name), args, (int32_t)count, &made) != kSucceeded) return 1;
  if (!result) {
    rldb_aot_release(&made);
    return 0;
  }
  double wide = 0;
  result[0] = 0;
  if (is_integer(&made)) {
    result[0] = made.v_int64;
    wide = (double)made.v_int64;
  } else if (made.type_index == kTVMFFIFloat) {
    wide = made.v_float64;
    result[0] = wide > -0x1p63 && wide < 0x1p63 ? (int64_t)wide : 0;
  }
  memcpy(&result[1], &wide, sizeof wide);
  rldb_aot_release(&made);
  return 0;
}
