/* A paged cache as text, as src/runtime/kv/cache_text.cc has it. */
#include <stdlib.h>

#include "aot/runtime/format.h"
#include "aot/runtime/paged.h"

enum { kMostShown = 100, kMostPagesShown = 32 };

static void put_line(Buffer* b, size_t indent) { rldb_aot_put(b, "\n%*s", (int)indent, ""); }

static void put_sequence(Buffer* b, Sequence s) {
  const Ints pages = pages_of(s);
  const Window w = window_of(s);
  rldb_aot_put(b, "sequence %lld: %lld %s, %s", (long long)s[kId].v_int64, (long long)length_of(s),
               length_of(s) == 1 ? "row" : "rows", pages.size == 1 ? "page" : "pages");
  if (pages.size == 0) rldb_aot_put(b, " none");
  for (int64_t i = 0; i < pages.size && i < kMostPagesShown; ++i) rldb_aot_put(b, " %lld", (long long)pages.data[i]);
  if (pages.size > kMostPagesShown) rldb_aot_put(b, " and %lld more", (long long)(pages.size - kMostPagesShown));
  if (w.size > 0)
    rldb_aot_put(b, ", a window of %lld rows behind %lld kept ones", (long long)w.size, (long long)w.sink);
  if (tree_of(s).size > 0) rldb_aot_put(b, ", %lld of them in a token tree", (long long)tree_of(s).size);
}

static void put_pages(Buffer* b, Cache c) {
  int32_t* users = rldb_aot_paged_users(c);
  const int64_t pages = number_of(c, kPages);
  int64_t unused = 0, shared = 0;
  for (int64_t p = 0; users && p < pages; ++p) {
    unused += users[p] == 0;
    shared += users[p] > 1;
  }
  free(users);
  rldb_aot_put(b, "%lld pages of %lld rows: %lld free, %lld shared by sequences", (long long)pages,
               (long long)number_of(c, kPageSize), (long long)unused, (long long)shared);
}

int rldb_aot_put_cache(Buffer* b, const Any* v, size_t indent) {
  Cache c;
  if (!rldb_aot_paged_of(v, &c)) return 0;
  const int64_t first = number_of(c, kFirstLayer);
  rldb_aot_put(b, PAGED_KIND ": layers %lld to %lld, %lld heads of queries, %lld of keys; ", (long long)first,
               (long long)(first + number_of(c, kLayers) - 1), (long long)number_of(c, kQoHeads),
               (long long)number_of(c, kKvHeads));
  rldb_aot_put(b, "keys of %lld and values of %lld numbers, ", (long long)number_of(c, kKeyDim),
               (long long)number_of(c, kValueDim));
  rldb_aot_put_dtype(b, pool_of(c, kKeys)->dtype);
  put_line(b, indent);
  put_pages(b, c);
  const TVMFFISeqCell* all = tuple_of(&c.fields[kSequences]);
  if (all->size == 0) {
    put_line(b, indent);
    rldb_aot_put(b, "no sequences");
  }
  for (int64_t i = 0; i < all->size && i < kMostShown; ++i) {
    put_line(b, indent);
    put_sequence(b, fields_of((const Any*)all->data + i));
  }
  if (all->size > kMostShown) {
    put_line(b, indent);
    rldb_aot_put(b, "and %lld more sequences", (long long)(all->size - kMostShown));
  }
  return 1;
}
