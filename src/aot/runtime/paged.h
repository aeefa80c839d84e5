/* The paged cache of keys and values: sequences that share a pool of pages. It is the tuple that src/runtime/kv makes,
 * whose comments say what each part means; a debugger reads it as one of rldb's. */
#ifndef RLDB_AOT_RUNTIME_PAGED_H_
#define RLDB_AOT_RUNTIME_PAGED_H_

#include "aot/runtime/state.h"

#define PAGED_KIND "paged cache of keys and values"

enum { kCacheKind, kNumbers, kRotation, kKinds, kKeys, kValues, kSequences, kForward, kCacheFields };
typedef enum {
  kFirstLayer,
  kLayers,
  kQoHeads,
  kKvHeads,
  kKeyDim,
  kValueDim,
  kPageSize,
  kPages,
  kMostSequences,
  kChunk,
  kRope,
  kSliding,
  kNumberCount
} Number;
/* Of a sequence, and of its window. */
enum { kId, kLength, kPageList, kWindowOf, kTree, kSequenceFields };
typedef struct {
  int64_t size, sink, gap, shared;
} Window;
enum { kMultiHead, kLatent, kLinear, kWindowed };
enum { kRopeNone, kRopeNormal, kRopeInline };
enum { kMostTreeNodes = 256, kLayerWindow = 1024 };

typedef struct {
  Any* fields;
} Cache;
typedef Any* Sequence; /* its fields */

/* The rows that a forward appends to a sequence. */
typedef struct {
  Sequence sequence;
  int64_t begin, count;
} Rows;

static inline int64_t number_of(Cache c, Number n) { return ints_in(&c.fields[kNumbers]).data[n]; }
static inline int64_t kind_of(Cache c, int64_t layer) { return ints_in(&c.fields[kKinds]).data[layer]; }
static inline int is_layer_kind(int64_t k) { return k >= kMultiHead && k <= kWindowed && k != kLinear; }
static inline int64_t length_of(Sequence s) { return s[kLength].v_int64; }
static inline Ints pages_of(Sequence s) { return ints_in(&s[kPageList]); }
static inline Ints tree_of(Sequence s) { return ints_in(&s[kTree]); }
static inline int64_t base_of(Sequence s) { return length_of(s) - tree_of(s).size; }
static inline Window window_of(Sequence s) {
  const int64_t* w = ints_in(&s[kWindowOf]).data;
  return (Window){w[0], w[1], w[2], w[3]};
}
/* The rows of the pages that so many rows of a sequence take. */
static inline int64_t span_of(int64_t length, Window w) { return length > w.sink ? length + w.gap : length; }
static inline const DLTensor* pool_of(Cache c, int which) { return tensor_of(&c.fields[which]); }

RLDB_AOT int rldb_aot_paged_of(const Any* v, Cache* out); /* 0: it is no paged cache */
RLDB_AOT int32_t rldb_aot_arg_paged(const Args* a, Cache* out);
RLDB_AOT int rldb_aot_paged_has(Cache c, int64_t kind);
RLDB_AOT int64_t rldb_aot_paged_depth(Sequence s, int64_t node);
RLDB_AOT int32_t rldb_aot_paged_sequence(Cache c, int64_t id, Sequence* out);
RLDB_AOT int32_t rldb_aot_paged_clear(Cache c);
RLDB_AOT int32_t rldb_aot_paged_add(Cache c, int64_t id);
RLDB_AOT int32_t rldb_aot_paged_remove(Cache c, int64_t id);
RLDB_AOT int32_t rldb_aot_paged_fork(Cache c, int64_t parent, int64_t child, int64_t position);
RLDB_AOT int32_t rldb_aot_paged_pop(Cache c, int64_t id, int64_t rows);
RLDB_AOT int32_t rldb_aot_paged_enable_window(Cache c, int64_t id, int64_t size, int64_t sink);
RLDB_AOT int32_t rldb_aot_paged_commit(Cache c, int64_t id, int64_t leaf);
RLDB_AOT int64_t rldb_aot_paged_free_pages(Cache c); /* -1: failed */
RLDB_AOT int32_t rldb_aot_paged_begin(Cache c, Ints ids, Ints lengths, const Ints* parents);
RLDB_AOT int32_t rldb_aot_paged_end(Cache c);
/* The forward that has begun; the rows are to be freed. */
RLDB_AOT int32_t rldb_aot_paged_forward(Cache c, Rows** rows, int64_t* count);
/* How many sequences use each page; to be freed. */
RLDB_AOT int32_t* rldb_aot_paged_users(Cache c);
/* The place of a row of keys or values of a head in its pool. */
RLDB_AOT uint8_t* rldb_aot_paged_row(Cache c, int which, int64_t layer, Sequence s, int64_t row, int64_t head);
RLDB_AOT int32_t rldb_aot_paged_extend(Cache c, Sequence s, int64_t more);
RLDB_AOT int32_t rldb_aot_paged_slide(Cache c, Sequence s);
RLDB_AOT int32_t rldb_aot_paged_set_window(Sequence s, Window w);
RLDB_AOT int32_t rldb_aot_paged_resize(Cache c, Sequence s, int64_t length, const int64_t* pages, int64_t count);

#endif /* RLDB_AOT_RUNTIME_PAGED_H_ */
