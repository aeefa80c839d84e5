/* The state of a paged cache: reading it, and its sequences. */
#include "aot/runtime/paged.h"

/* ---- reading a program's value as a cache ---- */

static int are_numbers(const Any* v) {
  static const Number kPositive[] = {kQoHeads, kKvHeads, kKeyDim, kValueDim, kPageSize, kPages, kMostSequences, kChunk};
  if (!shape_of(v) || ints_in(v).size != kNumberCount) return 0;
  const int64_t* n = ints_in(v).data;
  for (size_t i = 0; i < sizeof kPositive / sizeof *kPositive; ++i)
    if (n[kPositive[i]] <= 0) return 0;
  return n[kLayers] >= 0 && n[kFirstLayer] >= 0 && n[kQoHeads] % n[kKvHeads] == 0 && n[kRope] >= 0 &&
         n[kRope] <= kRopeInline;
}

static int are_kinds(const Any* v, const int64_t* n) {
  if (!shape_of(v) || ints_in(v).size != n[kLayers]) return 0;
  for (int64_t i = 0; i < n[kLayers]; ++i)
    if (!is_layer_kind(ints_in(v).data[i])) return 0;
  return 1;
}

static int is_pool(const Any* v, const int64_t* n, Number width) {
  const int64_t shape[5] = {n[kLayers], n[kPages], n[kKvHeads], n[kPageSize], n[width]};
  const DLTensor* t = tensor_of(v);
  return t && is_float(t->dtype) && rldb_aot_has_shape(t, 5, shape);
}

static int is_window(Ints w, int64_t length, int64_t page_size) {
  for (int64_t i = 0; i < w.size; ++i)
    if (w.data[i] < 0) return 0;
  if (w.size != 4 || (w.data[0] > 0 && w.data[1] >= w.data[0])) return 0;
  return w.data[2] < 2 * page_size && w.data[1] <= INT64_MAX / 4 && length <= INT64_MAX / 4;
}

static int is_tree(Ints parents, int64_t length) {
  if (parents.size > length || parents.size > kMostTreeNodes) return 0;
  for (int64_t i = 0; i < parents.size; ++i)
    if (parents.data[i] < -1 || parents.data[i] >= i) return 0;
  return 1;
}

static int is_sequence(const Any* v, const int64_t* n) {
  if (!is_tuple_of(v, kSequenceFields)) return 0;
  const Sequence s = fields_of(v);
  if (s[kId].type_index != kTVMFFIInt || s[kLength].type_index != kTVMFFIInt) return 0;
  if (!shape_of(&s[kPageList]) || !shape_of(&s[kWindowOf]) || !shape_of(&s[kTree])) return 0;
  const int64_t length = length_of(s), size = n[kPageSize];
  if (length < 0 || size > INT64_MAX / 4 || !is_window(ints_in(&s[kWindowOf]), length, size) ||
      !is_tree(tree_of(s), length))
    return 0;
  const int64_t span = span_of(length, window_of(s));
  const Ints pages = pages_of(s);
  if (span / size + (span % size != 0 ? 1 : 0) != pages.size) return 0;
  for (int64_t i = 0; i < pages.size; ++i)
    if (pages.data[i] < 0 || pages.data[i] >= n[kPages]) return 0;
  return 1;
}

static int has_forward(const Any* v) {
  if (!rldb_aot_is_forward(v)) return 0;
  if (v->type_index == kTVMFFINone) return 1;
  const Ints lengths = ints_in(&fields_of(v)[1]);
  for (int64_t i = 0; i < lengths.size; ++i)
    if (lengths.data[i] < 0) return 0;
  return 1;
}

int rldb_aot_paged_of(const Any* v, Cache* out) {
  if (!is_tuple_of(v, kCacheFields)) return 0;
  const Any* f = fields_of(v);
  if (!rldb_aot_is_text(&f[kCacheKind], PAGED_KIND) || !are_numbers(&f[kNumbers])) return 0;
  const int64_t* n = ints_in(&f[kNumbers]).data;
  if (!is_tuple_of(&f[kRotation], 2) || !are_kinds(&f[kKinds], n)) return 0;
  for (int i = 0; i < 2; ++i)
    if (fields_of(&f[kRotation])[i].type_index != kTVMFFIFloat) return 0;
  if (!is_pool(&f[kKeys], n, kKeyDim) || !is_pool(&f[kValues], n, kValueDim)) return 0;
  const TVMFFISeqCell* all = tuple_of(&f[kSequences]);
  if (!all || !has_forward(&f[kForward])) return 0;
  for (int64_t i = 0; i < all->size; ++i)
    if (!is_sequence((const Any*)all->data + i, n)) return 0;
  out->fields = fields_of(v);
  return 1;
}

int32_t rldb_aot_arg_paged(const Args* a, Cache* out) {
  return a->count > 0 && rldb_aot_paged_of(&a->args[0], out) ? kSucceeded : rldb_aot_arg_wrong(a, 0);
}

int rldb_aot_paged_has(Cache c, int64_t kind) {
  const Ints kinds = ints_in(&c.fields[kKinds]);
  for (int64_t i = 0; i < kinds.size; ++i)
    if (kinds.data[i] == kind) return 1;
  return 0;
}

/* ---- sequences ---- */

int64_t rldb_aot_paged_depth(Sequence s, int64_t node) {
  const int64_t* parents = tree_of(s).data;
  int64_t deep = 0;
  for (node = parents[node]; node >= 0; node = parents[node]) ++deep;
  return deep;
}

static int64_t place_of(Cache c, int64_t id) {
  const TVMFFISeqCell* all = tuple_of(&c.fields[kSequences]);
  for (int64_t i = 0; i < all->size; ++i)
    if (fields_of((const Any*)all->data + i)[kId].v_int64 == id) return i;
  return -1;
}

int32_t rldb_aot_paged_sequence(Cache c, int64_t id, Sequence* out) {
  const int64_t at = place_of(c, id);
  if (at < 0) return rldb_aot_fail(kErrorType, "the cache has no sequence %lld", (long long)id);
  *out = fields_of(fields_of(&c.fields[kSequences]) + at);
  return kSucceeded;
}

int32_t rldb_aot_paged_clear(Cache c) {
  rldb_aot_release(&c.fields[kForward]);
  return rldb_aot_set_empty(&c.fields[kSequences]);
}

int32_t rldb_aot_paged_add(Cache c, int64_t id) {
  const int64_t most = number_of(c, kMostSequences);
  if (place_of(c, id) >= 0) return rldb_aot_fail(kErrorType, "the cache has a sequence %lld already", (long long)id);
  if (tuple_of(&c.fields[kSequences])->size >= most)
    return rldb_aot_fail(kErrorType, "the cache is for %lld sequences", (long long)most);
  static const int64_t kNoWindow[4] = {0};
  Any parts[kSequenceFields] = {{.type_index = kTVMFFIInt, .v_int64 = id}, {.type_index = kTVMFFIInt}}, made = {0};
  int32_t done = rldb_aot_set_ints(&parts[kPageList], NULL, 0);
  if (done == kSucceeded) done = rldb_aot_set_ints(&parts[kWindowOf], kNoWindow, 4);
  if (done == kSucceeded) done = rldb_aot_set_ints(&parts[kTree], NULL, 0);
  if (done == kSucceeded) done = rldb_aot_tuple(kSequenceFields, parts, &made);
  if (done == kSucceeded) done = rldb_aot_add_field(&c.fields[kSequences], &made);
  rldb_aot_release(&made);
  rldb_aot_release_all(parts, kSequenceFields);
  return done;
}

int32_t rldb_aot_paged_remove(Cache c, int64_t id) {
  const int64_t at = place_of(c, id);
  if (at < 0) return rldb_aot_fail(kErrorType, "the cache has no sequence %lld", (long long)id);
  return rldb_aot_remove_field(&c.fields[kSequences], at);
}

static int32_t uncommitted(int64_t id) {
  return rldb_aot_fail(kErrorType, "sequence %lld has a token tree whose accepted nodes are not committed",
                       (long long)id);
}

int32_t rldb_aot_paged_fork(Cache c, int64_t parent, int64_t child, int64_t position) {
  Sequence from, made;
  if (rldb_aot_paged_sequence(c, parent, &from) != kSucceeded) return kFailed;
  const int64_t rows = length_of(from), size = number_of(c, kPageSize);
  if (position < -1 || position > rows)
    return rldb_aot_fail(kErrorType, "sequence %lld of %lld rows cannot be forked at %lld", (long long)parent,
                         (long long)rows, (long long)position);
  if (tree_of(from).size > 0) return uncommitted(parent);
  const int64_t at = position < 0 ? rows : position, shared = at - at % size;
  Window w = window_of(from);
  if (w.size > 0 && at > w.sink)
    return rldb_aot_fail(kErrorType, "sequence %lld has a sliding window: it can be forked up to row %lld, not at %lld",
                         (long long)parent, (long long)w.sink, (long long)at);
  if (w.shared < shared) w.shared = shared;
  if (rldb_aot_paged_set_window(from, w) != kSucceeded || rldb_aot_paged_add(c, child) != kSucceeded ||
      rldb_aot_paged_sequence(c, child, &made) != kSucceeded ||
      rldb_aot_paged_set_window(made, (Window){.shared = shared}) != kSucceeded)
    return kFailed;
  return rldb_aot_paged_resize(c, made, at, pages_of(from).data, pages_of(from).size);
}

int32_t rldb_aot_paged_pop(Cache c, int64_t id, int64_t rows) {
  Sequence s;
  if (rldb_aot_paged_sequence(c, id, &s) != kSucceeded) return kFailed;
  const int64_t had = length_of(s);
  if (rows < 0 || rows > had)
    return rldb_aot_fail(kErrorType, "%lld rows are to be removed from sequence %lld, which has %lld", (long long)rows,
                         (long long)id, (long long)had);
  if (tree_of(s).size > 0) return uncommitted(id);
  return rldb_aot_paged_resize(c, s, had - rows, pages_of(s).data, pages_of(s).size);
}
