/* The pages of the sequences of a paged cache, and sliding windows. */
#include <stdlib.h>
#include <string.h>

#include "aot/runtime/paged.h"

int32_t rldb_aot_paged_set_window(Sequence s, Window w) {
  const int64_t parts[4] = {w.size, w.sink, w.gap, w.shared};
  return rldb_aot_set_ints(&s[kWindowOf], parts, 4);
}

/* `pages` may be those of the sequence itself; as many of them as the length needs are kept. */
int32_t rldb_aot_paged_resize(Cache c, Sequence s, int64_t length, const int64_t* pages, int64_t count) {
  const int64_t size = number_of(c, kPageSize);
  Window w = window_of(s);
  if (length <= w.sink) w.gap = 0;
  const int64_t needed = (span_of(length, w) + size - 1) / size;
  Any list = {0};
  if (rldb_aot_shape(needed < count ? needed : count, pages, &list) != kSucceeded) return kFailed;
  if (rldb_aot_paged_set_window(s, w) != kSucceeded) {
    rldb_aot_release(&list);
    return kFailed;
  }
  s[kLength].v_int64 = length;
  rldb_aot_set(&s[kPageList], &list);
  return kSucceeded;
}

/* ---- pages ---- */

int32_t* rldb_aot_paged_users(Cache c) {
  const TVMFFISeqCell* all = tuple_of(&c.fields[kSequences]);
  int32_t* count = calloc((size_t)number_of(c, kPages), sizeof *count);
  if (!count) {
    rldb_aot_fail(kErrorMemory, "no memory for %lld pages", (long long)number_of(c, kPages));
    return NULL;
  }
  for (int64_t i = 0; i < all->size; ++i) {
    const Ints pages = pages_of(fields_of((const Any*)all->data + i));
    for (int64_t p = 0; p < pages.size; ++p) ++count[pages.data[p]];
  }
  return count;
}

int64_t rldb_aot_paged_free_pages(Cache c) {
  int32_t* users = rldb_aot_paged_users(c);
  if (!users) return -1;
  int64_t free_ones = 0;
  for (int64_t p = 0; p < number_of(c, kPages); ++p) free_ones += users[p] == 0;
  free(users);
  return free_ones;
}

static int64_t take_page(Cache c, int32_t* users) {
  const int64_t pages = number_of(c, kPages);
  for (int64_t p = 0; p < pages; ++p)
    if (users[p] == 0) {
      users[p] = 1;
      return p;
    }
  rldb_aot_fail(kErrorMemory, "the %lld pages of the cache are in use", (long long)pages);
  return -1;
}

static void copy_page(Cache c, int64_t from, int64_t to) {
  const uint64_t layers = (uint64_t)number_of(c, kLayers), pages = (uint64_t)number_of(c, kPages);
  for (int which = kKeys; which <= kValues; ++which) {
    const DLTensor* t = pool_of(c, which);
    const uint64_t all = (uint64_t)rldb_aot_element_count(t) * element_bytes(t->dtype);
    const uint64_t bytes = layers == 0 ? 0 : all / (layers * pages);
    for (uint64_t layer = 0; layer < layers; ++layer)
      memcpy(data_of(t) + (layer * pages + (uint64_t)to) * bytes, data_of(t) + (layer * pages + (uint64_t)from) * bytes,
             bytes);
  }
}

/* The pages of a sequence that gets `more` rows: the last one is copied if others use it, too. */
static int32_t extended(Cache c, Sequence s, int64_t more, int64_t* list, int64_t* count, int32_t* users) {
  const int64_t size = number_of(c, kPageSize), before = span_of(length_of(s), window_of(s));
  if (before % size != 0 && more > 0 && users[list[*count - 1]] > 1) {
    const int64_t own = take_page(c, users);
    if (own < 0) return kFailed;
    copy_page(c, list[*count - 1], own);
    list[*count - 1] = own;
  }
  while (*count * size < before + more) {
    const int64_t own = take_page(c, users);
    if (own < 0) return kFailed;
    list[(*count)++] = own;
  }
  return rldb_aot_paged_resize(c, s, length_of(s) + more, list, *count);
}

int32_t rldb_aot_paged_extend(Cache c, Sequence s, int64_t more) {
  const Ints had = pages_of(s);
  int64_t count = had.size;
  /* It never has more than all pages besides its own, or the pages run out first. */
  int64_t* list = malloc(((size_t)count + (size_t)number_of(c, kPages)) * sizeof(int64_t));
  int32_t* users = list ? rldb_aot_paged_users(c) : NULL;
  int32_t done = kFailed;
  if (!list) rldb_aot_fail(kErrorMemory, "no memory for a list of pages");
  if (users) {
    if (count > 0) memcpy(list, had.data, (size_t)count * sizeof(int64_t));
    done = extended(c, s, more, list, &count, users);
  }
  free(users);
  free(list);
  return done;
}

/* ---- sliding windows ---- */

int32_t rldb_aot_paged_enable_window(Cache c, int64_t id, int64_t size, int64_t sink) {
  Sequence s;
  if (rldb_aot_paged_sequence(c, id, &s) != kSucceeded) return kFailed;
  Window w = window_of(s);
  const int by_layer = rldb_aot_paged_has(c, kWindowed);
  if (number_of(c, kSliding) == 0 && !by_layer)
    return rldb_aot_fail(kErrorType, "the cache was created without sliding windows");
  if (w.size > 0) return rldb_aot_fail(kErrorType, "sequence %lld has a sliding window already", (long long)id);
  if (size <= 0 || size > INT64_MAX / 4 || sink < 0 || sink >= size)
    return rldb_aot_fail(kErrorType, "a sliding window of %lld rows cannot keep the first %lld", (long long)size,
                         (long long)sink);
  if (by_layer) return kSucceeded;
  w.sink = sink > w.shared ? sink : w.shared;
  if (w.sink >= size)
    return rldb_aot_fail(kErrorType,
                         "a sliding window of %lld rows cannot keep the %lld that sequence %lld shares with others",
                         (long long)size, (long long)w.sink, (long long)id);
  w.size = size;
  return rldb_aot_paged_set_window(s, w);
}

int32_t rldb_aot_paged_slide(Cache c, Sequence s) {
  Window w = window_of(s);
  const int64_t size = number_of(c, kPageSize), passed = length_of(s) - w.size;
  if (w.size == 0 || passed <= 0) return kSucceeded;
  const Ints had = pages_of(s);
  int64_t* list = malloc(((size_t)had.size + 1) * sizeof(int64_t));
  if (!list) return rldb_aot_fail(kErrorMemory, "no memory for a list of pages");
  const int64_t kept = (w.sink + size - 1) / size; /* pages of the first rows */
  int64_t dropped = 0;
  w.gap += passed;
  for (; (kept + 1) * size <= w.sink + w.gap; ++dropped) w.gap -= size;
  for (int64_t i = 0; i < had.size - dropped; ++i) list[i] = had.data[i < kept ? i : i + dropped];
  int32_t done = rldb_aot_paged_set_window(s, w);
  if (done == kSucceeded) done = rldb_aot_paged_resize(c, s, w.size, list, had.size - dropped);
  free(list);
  return done;
}
