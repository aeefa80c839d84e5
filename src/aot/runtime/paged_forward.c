/* The forward of a paged cache, and token trees. */
#include <stdlib.h>
#include <string.h>

#include "aot/runtime/paged.h"

/* ---- token trees ---- */

static int32_t check_tree(Sequence s, const int64_t* more, int64_t count) {
  const int64_t had = tree_of(s).size;
  if (had + count > kMostTreeNodes)
    return rldb_aot_fail(kErrorType, "a token tree has at most %d nodes", kMostTreeNodes);
  for (int64_t i = 0; i < count; ++i)
    if (more[i] < -1 || more[i] >= had + i)
      return rldb_aot_fail(kErrorType,
                           "node %lld of the token tree of sequence %lld cannot have node %lld as its parent",
                           (long long)(had + i), (long long)s[kId].v_int64, (long long)more[i]);
  return kSucceeded;
}

static int32_t add_nodes(Sequence s, const int64_t* more, int64_t count) {
  const Ints had = tree_of(s);
  int64_t all[2 * kMostTreeNodes];
  if (had.size > 0) memcpy(all, had.data, (size_t)had.size * sizeof(int64_t));
  if (count > 0) memcpy(all + had.size, more, (size_t)count * sizeof(int64_t));
  return rldb_aot_set_ints(&s[kTree], all, had.size + count);
}

static void copy_row(Cache c, Sequence s, int64_t from, int64_t to) {
  if (from == to) return;
  for (int which = kKeys; which <= kValues; ++which) {
    const DLTensor* t = pool_of(c, which);
    const size_t bytes = (size_t)t->shape[4] * element_bytes(t->dtype);
    for (int64_t layer = 0; layer < number_of(c, kLayers); ++layer)
      for (int64_t head = 0; head < number_of(c, kKvHeads); ++head)
        memcpy(rldb_aot_paged_row(c, which, layer, s, to, head), rldb_aot_paged_row(c, which, layer, s, from, head),
               bytes);
  }
}

/* Keeps the rows on the path to a node of the tree, in order; -1: none. */
int32_t rldb_aot_paged_commit(Cache c, int64_t id, int64_t leaf) {
  Sequence s;
  if (rldb_aot_paged_sequence(c, id, &s) != kSucceeded) return kFailed;
  const Ints parents = tree_of(s);
  if (leaf < -1 || leaf >= parents.size)
    return rldb_aot_fail(kErrorType, "the token tree of sequence %lld has %lld nodes, and no node %lld", (long long)id,
                         (long long)parents.size, (long long)leaf);
  const int64_t first = base_of(s), rows = leaf < 0 ? 0 : rldb_aot_paged_depth(s, leaf) + 1;
  int64_t path[kMostTreeNodes], at = rows;
  for (int64_t node = leaf; node >= 0; node = parents.data[node]) path[--at] = node;
  for (int64_t i = 0; i < rows; ++i) copy_row(c, s, first + path[i], first + i);
  if (rldb_aot_set_ints(&s[kTree], NULL, 0) != kSucceeded) return kFailed;
  return rldb_aot_paged_resize(c, s, first + rows, pages_of(s).data, pages_of(s).size);
}

uint8_t* rldb_aot_paged_row(Cache c, int which, int64_t layer, Sequence s, int64_t row, int64_t head) {
  const DLTensor* t = pool_of(c, which);
  const int64_t size = number_of(c, kPageSize);
  const Window w = window_of(s);
  const int64_t place = row < w.sink ? row : row + w.gap;
  const int64_t page = pages_of(s).data[place / size];
  const int64_t at = ((layer * t->shape[1] + page) * t->shape[2] + head) * size + place % size;
  return data_of(t) + (uint64_t)(at * t->shape[4]) * element_bytes(t->dtype);
}

/* ---- the forward ---- */

static int32_t lost_rows(int64_t id) {
  return rldb_aot_fail(kErrorType, "sequence %lld has lost rows of the forward that has begun", (long long)id);
}

/* The sequences may have changed since it began. */
int32_t rldb_aot_paged_forward(Cache c, Rows** rows, int64_t* count) {
  if (c.fields[kForward].type_index == kTVMFFINone)
    return rldb_aot_fail(kErrorType, "no forward of the cache has begun");
  const Ints ids = ints_in(&fields_of(&c.fields[kForward])[0]), lengths = ints_in(&fields_of(&c.fields[kForward])[1]);
  Rows* made = malloc(((size_t)ids.size + 1) * sizeof *made);
  if (!made) return rldb_aot_fail(kErrorMemory, "no memory for a forward of %lld sequences", (long long)ids.size);
  int32_t done = kSucceeded;
  for (int64_t i = 0; i < ids.size && done == kSucceeded; ++i) {
    Sequence s;
    done = rldb_aot_paged_sequence(c, ids.data[i], &s);
    if (done != kSucceeded) break;
    const int64_t nodes = tree_of(s).size, more = lengths.data[i];
    if (more > length_of(s) || (nodes > 0 && more > nodes)) done = lost_rows(ids.data[i]);
    made[i] = (Rows){s, length_of(s) - more, more};
  }
  if (done != kSucceeded) {
    free(made);
    return done;
  }
  *rows = made;
  *count = ids.size;
  return kSucceeded;
}

static int32_t no_trees(const char* which) {
  return rldb_aot_fail(kErrorUnsupported, "a paged cache %s takes no token trees", which);
}

static int32_t may_have_trees(Cache c) {
  if (number_of(c, kSliding) != 0) return no_trees("with sliding windows");
  if (rldb_aot_paged_has(c, kLatent)) return no_trees("of latent attention");
  if (rldb_aot_paged_has(c, kWindowed)) return no_trees("with windows by layer");
  if (number_of(c, kRope) == kRopeInline) return no_trees("that rotates keys when they are used");
  return kSucceeded;
}

static int32_t check_rows(Cache c, Ints ids, Ints lengths, int64_t i, int64_t* room) {
  if (is_listed_twice(ids, i)) return rldb_aot_fail(kErrorType, "sequence %lld is given twice", (long long)ids.data[i]);
  if (lengths.data[i] < 0) return rldb_aot_fail(kErrorType, "%lld rows cannot be appended", (long long)lengths.data[i]);
  if (lengths.data[i] > *room)
    return rldb_aot_fail(kErrorType, "a forward appends at most %lld rows to this cache",
                         (long long)number_of(c, kChunk));
  *room -= lengths.data[i];
  return kSucceeded;
}

static int32_t check_forward(Cache c, Ints ids, Ints lengths, const Ints* parents) {
  if (ids.size != lengths.size)
    return rldb_aot_fail(kErrorType, "%lld sequences, but %lld lengths", (long long)ids.size, (long long)lengths.size);
  if (parents && may_have_trees(c) != kSucceeded) return kFailed;
  int64_t room = number_of(c, kChunk), node = 0, wanted = 0;
  for (int64_t i = 0; i < ids.size; ++i) {
    Sequence s;
    if (rldb_aot_paged_sequence(c, ids.data[i], &s) != kSucceeded ||
        check_rows(c, ids, lengths, i, &room) != kSucceeded)
      return kFailed;
    if (!parents && tree_of(s).size > 0)
      return rldb_aot_fail(kErrorType, "sequence %lld has a token tree whose accepted nodes are not committed",
                           (long long)ids.data[i]);
    if (!parents) continue;
    const int64_t count = lengths.data[i], left = parents->size - node;
    if (count <= left && check_tree(s, parents->data + node, count) != kSucceeded) return kFailed;
    node += count < left ? count : left;
    wanted += count;
  }
  if (parents && wanted != parents->size)
    return rldb_aot_fail(kErrorType, "%lld nodes of token trees for a forward of %lld rows", (long long)parents->size,
                         (long long)wanted);
  return kSucceeded;
}

int32_t rldb_aot_paged_begin(Cache c, Ints ids, Ints lengths, const Ints* parents) {
  if (check_forward(c, ids, lengths, parents) != kSucceeded) return kFailed;
  int64_t node = 0;
  for (int64_t i = 0; i < ids.size; ++i) {
    Sequence s;
    if (rldb_aot_paged_sequence(c, ids.data[i], &s) != kSucceeded || rldb_aot_paged_slide(c, s) != kSucceeded ||
        rldb_aot_paged_extend(c, s, lengths.data[i]) != kSucceeded)
      return kFailed;
    if (!parents) continue;
    if (add_nodes(s, parents->data + node, lengths.data[i]) != kSucceeded) return kFailed;
    node += lengths.data[i];
  }
  return rldb_aot_set_forward(&c.fields[kForward], ids, lengths);
}

/* Slides the windows. */
int32_t rldb_aot_paged_end(Cache c) {
  const TVMFFISeqCell* all = tuple_of(&c.fields[kSequences]);
  rldb_aot_release(&c.fields[kForward]);
  for (int64_t i = 0; i < all->size; ++i)
    if (rldb_aot_paged_slide(c, fields_of((const Any*)all->data + i)) != kSucceeded) return kFailed;
  return kSucceeded;
}
