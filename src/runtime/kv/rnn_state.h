// The state of recurrent layers: for each sequence, layer and state a tensor, with its predecessors, so that
// steps can be undone. Room-private.
//
// Like a paged cache it is a tuple of plain values: the sizes, the initial states, the memory, the sequences, and the
// forward in progress. The memory of a state of a layer is (sequences, history, shape of the state); a forward writes
// the next place in the history, and its end makes that the current one.
#pragma once

#include <optional>

#include "runtime/kv/args.h"

namespace rldb::runtime::kv {

class RnnState {
 public:
  explicit RnnState(Tuple& tuple) : tuple_(&tuple) {}
  // Null: the value is not such a state. A program may make a tuple that looks like one.
  static std::optional<RnnState> of(const Value& v);

  void clear() const;
  Result<support::Unit> add(std::int64_t id) const;
  Result<support::Unit> remove(std::int64_t id) const;
  // The child has the parent's history too. Positions other than its end (-1) are refused: its past is not kept whole.
  Result<support::Unit> fork(std::int64_t parent, std::int64_t child, std::int64_t position) const;
  Result<support::Unit> pop(std::int64_t id, std::int64_t steps) const;
  // Token trees are chains.
  Result<support::Unit> begin(const std::vector<std::int64_t>& ids, const std::vector<std::int64_t>& lengths,
                              const std::vector<std::int64_t>* parents) const;
  Result<support::Unit> end() const;

  // States of the sequences of the forward, one after another; `out` and `in` are (sequences, shape of the state).
  Result<support::Unit> get(std::int64_t layer, std::int64_t state, Tensor& out) const;
  Result<support::Unit> put(std::int64_t layer, std::int64_t state, const Tensor& in) const;
  Result<Value> current(std::int64_t layer, std::int64_t state, std::int64_t id) const;

 private:
  Value* find(std::int64_t id) const;
  Result<Value*> sequence(std::int64_t id) const;
  Result<std::int64_t> free_slot() const;
  Result<Tensor*> memory(std::int64_t layer, std::int64_t state) const;
  std::byte* place(Tensor& memory, std::int64_t slot, std::int64_t step) const;
  std::size_t bytes_of(const Tensor& memory) const;
  Result<std::vector<Value*>> forward() const;

  Tuple* tuple_;
};

}  // namespace rldb::runtime::kv
