// The paged key-value cache: sequences that share a pool of pages. Room-private.
//
// Its state is plain values, like that of the simple cache, so that a machine can copy it and go back: a tuple of the
// sizes, the rotation, two pools, the sequences, and the forward in progress. PagedCache reads and writes such a tuple.
// Rows of a sequence are counted as the model sees them: rows that a sliding window has passed are not among them.
#pragma once

#include <optional>

#include "runtime/kv/args.h"

namespace rldb::runtime::kv {

// TVM's numbers.
enum class RopeMode : std::int64_t { None = 0, Normal = 1, Inline = 2 };
enum class AttentionKind : std::int64_t { MultiHead = 0, Latent = 1, Linear = 2, Windowed = 3 };
// Of a layer with a window: the rows that it sees, and, where keys are rotated when they are used, how. Both are fixed
// in TVM's cache.
inline constexpr std::int64_t kLayerWindow = 1024;
inline bool is_layer_kind(std::int64_t k) {
  return k >= 0 && k <= std::int64_t(AttentionKind::Windowed) && k != std::int64_t(AttentionKind::Linear);
}
inline constexpr double kLayerWindowTheta = 10000;

// Fields of the tuple; `Numbers` is a shape with the values of Number, `Rotation` a tuple of scale and theta, `Kinds`
// the kinds of attention by layer.
enum Field : std::size_t { Kind, Numbers, Rotation, Kinds, Keys, Values, Sequences, Forward, FieldCount };
enum class Number : std::size_t {
  FirstLayer,
  Layers,
  QoHeads,
  KvHeads,
  KeyDim,
  ValueDim,
  PageSize,
  Pages,
  MostSequences,
  Chunk,
  Rope,
  Sliding,
  Count
};
// Fields of a sequence.
enum SequenceField : std::size_t { Id, Length, PageList, WindowOf, Tree, SequenceFieldCount };
// Of `WindowOf`: rows of the window (0: none), rows at the start that it keeps, rows between them and the others that
// are passed and still in pages, and rows in pages shared by a fork, which are never dropped.
struct Window {
  std::int64_t size = 0, sink = 0, gap = 0, shared = 0;
};

inline constexpr std::int64_t kMostTreeNodes = 256;

class PagedCache {
 public:
  explicit PagedCache(Tuple& tuple) : tuple_(&tuple) {}
  // Null: the value is not a paged cache. A program may make a tuple that looks like one.
  static std::optional<PagedCache> of(const Value& v);

  std::int64_t number(Number n) const { return tuple_->fields[Numbers].as_shape()[std::size_t(n)]; }
  RopeMode rope() const { return RopeMode(number(Number::Rope)); }
  double rope_scale() const { return tuple_->fields[Rotation].as_tuple().fields[0].as_float(); }
  double rope_theta() const { return tuple_->fields[Rotation].as_tuple().fields[1].as_float(); }
  bool slides() const { return number(Number::Sliding) != 0; }
  // By the number of the layer in the cache.
  AttentionKind kind(std::int64_t layer) const;
  bool has(AttentionKind kind) const;

  // ---- sequences ----

  std::vector<Value>& sequences() const { return tuple_->fields[Sequences].as_tuple().fields; }
  static std::vector<Value>& parts(const Value& sequence) { return sequence.as_tuple().fields; }
  static std::int64_t length(const Value& sequence) { return parts(sequence)[Length].as_int(); }
  static const std::vector<std::int64_t>& pages(const Value& sequence) { return parts(sequence)[PageList].as_shape(); }
  static Window window(const Value& sequence);
  // The parents of the nodes of its token tree, which are its last rows, until accepted ones are committed.
  static const std::vector<std::int64_t>& tree(const Value& sequence) { return parts(sequence)[Tree].as_shape(); }
  // Rows in front of the tree, and the depth of a node.
  static std::int64_t base(const Value& s) { return length(s) - std::int64_t(tree(s).size()); }
  static std::int64_t depth(const Value& sequence, std::int64_t node);

  const Value* find(std::int64_t id) const;
  Result<const Value*> sequence(std::int64_t id) const;
  void clear() const;
  Result<support::Unit> add(std::int64_t id) const;
  Result<support::Unit> remove(std::int64_t id) const;
  // The new sequence shares the pages of the old one; a writer to a shared page copies it first. -1: all rows.
  Result<support::Unit> fork(std::int64_t parent, std::int64_t child, std::int64_t position) const;
  Result<support::Unit> pop(std::int64_t id, std::int64_t rows) const;
  Result<support::Unit> enable_window(std::int64_t id, std::int64_t size, std::int64_t sink) const;
  // Keeps the rows on the path to a node of the tree, in order; -1: none.
  Result<support::Unit> commit(std::int64_t id, std::int64_t leaf) const;
  std::int64_t free_pages() const;
  std::vector<int> users() const;  // the number of sequences using each page

  // ---- rows ----

  // An element of a row of keys or values: [layer, page, head, row in the page, dim].
  double load(Field which, std::int64_t layer, const Value& sequence, std::int64_t row, std::int64_t head,
              std::int64_t dim) const;
  void store(Field which, std::int64_t layer, const Value& sequence, std::int64_t row, std::int64_t head,
             std::int64_t dim, double value) const;

  const Tensor& pool(Field which) const { return tuple_->fields[which].as_tensor(); }
  // Of such an element in its pool, in bytes.
  std::size_t offset(Field which, std::int64_t layer, const Value& sequence, std::int64_t row, std::int64_t head,
                     std::int64_t dim) const;

  // ---- the forward ----

  // The rows that it appends to a sequence.
  struct Rows {
    const Value* sequence;
    std::int64_t begin;
    std::int64_t count;
    std::int64_t position(std::int64_t i) const;                  // of the i-th of them, for rotations
    std::vector<std::int64_t> before() const;                     // earlier rows, seen by each of them
    std::vector<std::int64_t> seen_before(std::int64_t i) const;  // and those of the tree seen by the i-th
    std::vector<std::int64_t> seen_here(std::int64_t i) const;    // rows of the forward that it sees, itself the last
  };
  // The sequences may have changed since it began.
  Result<std::vector<Rows>> forward() const;
  // `parents`: of the nodes of token trees, sequence by sequence.
  Result<support::Unit> begin(const std::vector<std::int64_t>& ids, const std::vector<std::int64_t>& lengths,
                              const std::vector<std::int64_t>* parents) const;
  // Slides the windows.
  Result<support::Unit> end() const;

 private:
  Result<support::Unit> check_forward(const std::vector<std::int64_t>& ids, const std::vector<std::int64_t>& lengths,
                                      const std::vector<std::int64_t>* parents) const;
  Result<support::Unit> check_tree(const Value& sequence, std::span<const std::int64_t> more) const;
  Result<support::Unit> extend(const Value& sequence, std::int64_t more) const;
  Result<support::Unit> slide(const Value& sequence) const;
  void set(const Value& sequence, std::int64_t length, std::vector<std::int64_t> pages) const;
  void set_window(const Value& sequence, const Window& w) const;
  const std::vector<std::int64_t>& part(std::size_t i) const {
    return tuple_->fields[Forward].as_tuple().fields[i].as_shape();
  }
  support::Failure<Error> full() const;
  void copy_page(std::int64_t from, std::int64_t to) const;
  void copy_row(const Value& sequence, std::int64_t from, std::int64_t to) const;

  Tuple* tuple_;
};

inline constexpr std::string_view kPagedKind = "paged cache of keys and values";

// The paged cache that is the first argument.
Result<PagedCache> cache_of(const Args& a);

}  // namespace rldb::runtime::kv
