/* The distinct items of a tensor (the rules of src/vm/builtins/run.cc). */
#include <stdlib.h>
#include <string.h>

#include "aot/runtime/order.h"

typedef struct { /* items along an axis, each of outer x inner elements; flattened: one element each */
  const DLTensor* t;
  uint64_t unit;
  int64_t outer, count, inner;
} Items;

typedef struct {
  int64_t *order, *scratch;
  int64_t *first, *counts;  /* of each distinct item: where it is first, and how often it is there */
  int64_t *inverse, *place; /* of each item its distinct one; of each distinct one its new place */
  int64_t found;
} Groups;

static const uint8_t* element(const Items* items, int64_t item, int64_t o, int64_t i) {
  return data_of(items->t) + (uint64_t)((o * items->count + item) * items->inner + i) * items->unit;
}

static int compare_items(const void* context, int64_t x, int64_t y) {
  const Items* items = context;
  for (int64_t o = 0; o < items->outer; ++o)
    for (int64_t i = 0; i < items->inner; ++i) {
      const int c = rldb_aot_compare_elements(element(items, x, o, i), element(items, y, o, i), items->t->dtype);
      if (c != 0) return c;
    }
  return 0;
}

static int compare_first(const void* context, int64_t x, int64_t y) {
  const int64_t* first = context;
  return first[x] < first[y] ? -1 : first[x] > first[y];
}

static void group(const Items* items, int sorted, Groups* g) {
  for (int64_t i = 0; i < items->count; ++i) g->order[i] = i;
  rldb_aot_order(g->order, g->scratch, items->count, compare_items, items);
  for (int64_t i = 0; i < items->count; ++i) {
    if (i == 0 || compare_items(items, g->order[i - 1], g->order[i]) != 0) {
      g->first[g->found] = g->order[i];
      g->counts[g->found++] = 0;
    }
    ++g->counts[g->found - 1];
    g->inverse[g->order[i]] = g->found - 1;
  }
  if (sorted) return;
  /* In the order in which they occur. */
  for (int64_t i = 0; i < g->found; ++i) g->order[i] = i;
  rldb_aot_order(g->order, g->scratch, g->found, compare_first, g->first);
  for (int64_t i = 0; i < g->found; ++i) g->place[g->order[i]] = i;
  for (int64_t i = 0; i < items->count; ++i) g->inverse[i] = g->place[g->inverse[i]];
  for (int64_t i = 0; i < g->found; ++i) g->scratch[i] = g->first[g->order[i]];
  memcpy(g->first, g->scratch, (size_t)g->found * sizeof(int64_t));
  for (int64_t i = 0; i < g->found; ++i) g->scratch[i] = g->counts[g->order[i]];
  memcpy(g->counts, g->scratch, (size_t)g->found * sizeof(int64_t));
}

static int32_t integers(const int64_t* values, int64_t count, Any* out) {
  const DLDataType t = {0, 64, 1};
  if (rldb_aot_tensor(1, &count, t, out) != kSucceeded) return kFailed;
  if (count > 0) memcpy(data_of(tensor_of(out)), values, (size_t)count * sizeof(int64_t));
  return kSucceeded;
}

static int32_t take_items(const Items* items, const Groups* g, int64_t rank, const int64_t* shape, Any* out) {
  if (rldb_aot_tensor(rank, shape, items->t->dtype, out) != kSucceeded) return kFailed;
  uint8_t* to = data_of(tensor_of(out));
  const uint64_t bytes = (uint64_t)items->inner * items->unit;
  for (int64_t o = 0; o < items->outer; ++o)
    for (int64_t k = 0; k < g->found; ++k, to += bytes)
      if (bytes > 0) memcpy(to, element(items, g->first[k], o, 0), bytes);
  return kSucceeded;
}

/* The values, and what else is asked for. */
static int32_t give(const Items* items, const Groups* g, int64_t rank, const int64_t* shape, const Any* flags,
                    int32_t count, Any* result) {
  const int64_t* const more[] = {g->first, g->inverse, g->counts};
  const int64_t sizes[] = {g->found, items->count, g->found};
  Any fields[4] = {{0}};
  int made = 1;
  int32_t done = take_items(items, g, rank, shape, &fields[0]);
  for (int i = 0; i < 3 && done == kSucceeded; ++i)
    if (i < count && flags[i].v_int64 != 0) done = integers(more[i], sizes[i], &fields[made++]);
  if (done == kSucceeded && made > 1) done = rldb_aot_tuple(made, fields, result);
  if (done == kSucceeded && made == 1) rldb_aot_copy(result, &fields[0]);
  rldb_aot_release_all(fields, made);
  return done;
}

int32_t rldb_aot_RunUnique(Library* library, const Any* args, int32_t count, Any* result) {
  TAKES(1, 6);
  const DLTensor* t = tensor_of(&args[0]);
  if (!t || t->dtype.lanes != 1) WRONG(0, "a tensor of scalars");
  for (int i = 1; i < count && i < 5; ++i)
    if (!is_integer(&args[i])) WRONG(i, "an integer");
  Items items = {t, element_bytes(t->dtype), 1, rldb_aot_element_count(t), 1};
  int64_t axis = -1;
  if (count == 6 && args[5].type_index != kTVMFFINone) {
    if (!is_integer(&args[5])) WRONG(5, "an integer");
    axis = args[5].v_int64 < 0 ? args[5].v_int64 + t->ndim : args[5].v_int64;
    if (axis < 0 || axis >= t->ndim)
      return rldb_aot_fail(kErrorBounds, "%s: axis of a tensor of rank %d", NAME, t->ndim);
    items.count = t->shape[axis];
    for (int64_t d = 0; d < axis; ++d) items.outer *= t->shape[d];
    for (int64_t d = axis + 1; d < t->ndim; ++d) items.inner *= t->shape[d];
  }
  const int64_t rank = axis < 0 ? 1 : t->ndim;
  const size_t room = (size_t)items.count;
  int64_t* memory = calloc(6 * room + (size_t)rank + 1, sizeof *memory);
  if (!memory) return rldb_aot_fail(kErrorMemory, "no memory for %lld items", (long long)items.count);
  Groups g = {memory, memory + room, memory + 2 * room, memory + 3 * room, memory + 4 * room, memory + 5 * room, 0};
  int64_t* shape = memory + 6 * room;
  if (axis >= 0) memcpy(shape, t->shape, (size_t)rank * sizeof *shape);
  group(&items, count > 1 && args[1].v_int64 != 0, &g);
  shape[axis < 0 ? 0 : axis] = g.found;
  const int32_t done = give(&items, &g, rank, shape, args + 2, count < 5 ? count - 2 : 3, result);
  free(memory);
  return done;
}
