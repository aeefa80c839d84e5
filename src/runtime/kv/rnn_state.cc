// The state of recurrent layers (vm.builtin.rnn_state_*). The functions that a model passes for reading and writing it
// are for a GPU; here its memory is copied.
#include "runtime/kv/rnn_state.h"

#include <algorithm>
#include <cstring>

#include "rldb/runtime/contrib.h"
#include "rldb/support/text.h"

namespace rldb::runtime::kv {

namespace {

using Ints = std::vector<std::int64_t>;

constexpr std::string_view kKind = "state of recurrent layers";

namespace rnn {
// Fields of the tuple; `Sizes` is a shape of layers, sequences and steps of history; `Memory` holds the states of
// layer 0, then those of layer 1, ...
enum Field : std::size_t { Kind, Sizes, Initial, Memory, Sequences, Forward, FieldCount };
enum Size : std::size_t { Layers, MostSequences, History, SizeCount };
// A sequence is a shape of these values.
enum Info : std::size_t { Id, Length, Slot, Step, Past, InfoCount };
}  // namespace rnn

constexpr std::int64_t kMost = std::int64_t(1) << 32;

Ints memory_shape(const Ints& sizes, const Tensor& initial) {
  Ints shape{sizes[rnn::MostSequences], sizes[rnn::History]};
  shape.insert(shape.end(), initial.shape().begin(), initial.shape().end());
  return shape;
}

bool are_tensors(const Value& v) {
  return v.is(ValueKind::Tuple) && std::all_of(v.as_tuple().fields.begin(), v.as_tuple().fields.end(),
                                               [](const Value& t) { return t.is(ValueKind::Tensor); });
}

bool is_rnn_sequence(const Value& v, const Ints& sizes) {
  if (!v.is(ValueKind::Shape) || v.as_shape().size() != rnn::InfoCount) return false;
  const Ints& s = v.as_shape();
  return s[rnn::Slot] >= 0 && s[rnn::Slot] < sizes[rnn::MostSequences] && s[rnn::Step] >= 0 &&
         s[rnn::Step] < sizes[rnn::History] && s[rnn::Past] >= 0 && s[rnn::Past] < sizes[rnn::History];
}

bool is_state(const Value& v) {
  if (!is_tuple(v, rnn::FieldCount)) return false;
  const std::vector<Value>& f = v.as_tuple().fields;
  if (!f[rnn::Kind].is(ValueKind::String) || f[rnn::Kind].as_string() != kKind || !f[rnn::Sizes].is(ValueKind::Shape))
    return false;
  const Ints& sizes = f[rnn::Sizes].as_shape();
  if (sizes.size() != rnn::SizeCount ||
      std::any_of(sizes.begin(), sizes.end(), [](auto n) { return n < 1 || n > kMost; }))
    return false;
  if (!are_tensors(f[rnn::Initial]) || !are_tensors(f[rnn::Memory])) return false;
  const std::vector<Value>&initial = f[rnn::Initial].as_tuple().fields, &memory = f[rnn::Memory].as_tuple().fields;
  if (initial.empty() || memory.size() != initial.size() * std::size_t(sizes[rnn::Layers])) return false;
  for (std::size_t i = 0; i < memory.size(); ++i) {
    const Tensor& first = initial[i % initial.size()].as_tensor();
    if (memory[i].as_tensor().dtype() != first.dtype() || memory[i].as_tensor().shape() != memory_shape(sizes, first))
      return false;
  }
  if (!f[rnn::Sequences].is(ValueKind::Tuple)) return false;
  const std::vector<Value>& all = f[rnn::Sequences].as_tuple().fields;
  if (!std::all_of(all.begin(), all.end(), [&](const Value& s) { return is_rnn_sequence(s, sizes); })) return false;
  return f[rnn::Forward].is_null() ||
         (is_tuple(f[rnn::Forward], 2) && f[rnn::Forward].as_tuple().fields[0].is(ValueKind::Shape) &&
          f[rnn::Forward].as_tuple().fields[1].is(ValueKind::Shape) &&
          f[rnn::Forward].as_tuple().fields[0].as_shape().size() ==
              f[rnn::Forward].as_tuple().fields[1].as_shape().size());
}

const Ints& sizes_of(const Tuple& t) { return t.fields[rnn::Sizes].as_shape(); }
std::int64_t info(const Value& sequence, rnn::Info what) { return sequence.as_shape()[what]; }

}  // namespace

std::optional<RnnState> RnnState::of(const Value& v) {
  if (!is_state(v)) return std::nullopt;
  return RnnState(v.as_tuple());
}

// ---- sequences ----

Value* RnnState::find(std::int64_t id) const {
  for (Value& s : tuple_->fields[rnn::Sequences].as_tuple().fields)
    if (info(s, rnn::Id) == id) return &s;
  return nullptr;
}

Result<Value*> RnnState::sequence(std::int64_t id) const {
  Value* found = find(id);
  if (!found) return mismatch(fmt::format("the state has no sequence {}", id));
  return found;
}

Result<std::int64_t> RnnState::free_slot() const {
  const std::int64_t most = sizes_of(*tuple_)[rnn::MostSequences];
  Ints taken;
  for (const Value& s : tuple_->fields[rnn::Sequences].as_tuple().fields) taken.push_back(info(s, rnn::Slot));
  std::sort(taken.begin(), taken.end());
  std::int64_t slot = 0;
  for (const std::int64_t t : taken) slot += t == slot ? 1 : 0;
  if (slot >= most) return mismatch(fmt::format("the state is for {} sequences", most));
  return slot;
}

void RnnState::clear() const {
  tuple_->fields[rnn::Sequences] = Value::of_tuple({});
  tuple_->fields[rnn::Forward] = Value();
}

Result<support::Unit> RnnState::add(std::int64_t id) const {
  if (find(id)) return mismatch(fmt::format("the state has a sequence {} already", id));
  RLDB_TRY(const std::int64_t slot, free_slot());
  const std::vector<Value>& initial = tuple_->fields[rnn::Initial].as_tuple().fields;
  const std::vector<Value>& memory = tuple_->fields[rnn::Memory].as_tuple().fields;
  for (std::size_t i = 0; i < memory.size(); ++i) {
    const Tensor& from = initial[i % initial.size()].as_tensor();
    std::memcpy(place(memory[i].as_tensor(), slot, 0), from.data(), from.byte_size());
  }
  tuple_->fields[rnn::Sequences].as_tuple().fields.push_back(Value::of_shape({id, 0, slot, 0, 0}));
  return support::Unit{};
}

Result<support::Unit> RnnState::remove(std::int64_t id) const {
  RLDB_TRY(Value * s, sequence(id));
  std::vector<Value>& all = tuple_->fields[rnn::Sequences].as_tuple().fields;
  all.erase(all.begin() + (s - all.data()));
  return support::Unit{};
}

Result<support::Unit> RnnState::fork(std::int64_t parent, std::int64_t child, std::int64_t position) const {
  RLDB_TRY(const Value* from, sequence(parent));
  if (find(child)) return mismatch(fmt::format("the state has a sequence {} already", child));
  Ints made = from->as_shape();
  if (position != -1 && position != made[rnn::Length])
    return unsupported(fmt::format("the state of sequence {} is forked at its end, step {}, not at {}", parent,
                                   made[rnn::Length], position));
  RLDB_TRY(const std::int64_t slot, free_slot());
  const std::int64_t parent_slot = made[rnn::Slot], history = sizes_of(*tuple_)[rnn::History];
  for (const Value& v : tuple_->fields[rnn::Memory].as_tuple().fields) {
    Tensor& memory = v.as_tensor();
    std::memcpy(place(memory, slot, 0), place(memory, parent_slot, 0), bytes_of(memory) * std::size_t(history));
  }
  made[rnn::Id] = child;
  made[rnn::Slot] = slot;
  tuple_->fields[rnn::Sequences].as_tuple().fields.push_back(Value::of_shape(std::move(made)));
  return support::Unit{};
}

Result<support::Unit> RnnState::pop(std::int64_t id, std::int64_t steps) const {
  RLDB_TRY(Value * s, sequence(id));
  Ints now = s->as_shape();
  if (steps < 0 || steps > now[rnn::Past])
    return mismatch(fmt::format("cannot take back {} of sequence {}: {} are kept",
                                support::counted(std::size_t(steps), "step"), id, now[rnn::Past]));
  const std::int64_t history = sizes_of(*tuple_)[rnn::History];
  now[rnn::Length] -= steps;
  now[rnn::Past] -= steps;
  now[rnn::Step] = (now[rnn::Step] - steps + history) % history;
  *s = Value::of_shape(std::move(now));
  return support::Unit{};
}

// ---- the forward ----

Result<support::Unit> RnnState::begin(const Ints& ids, const Ints& lengths, const Ints* parents) const {
  if (ids.size() != lengths.size())
    return mismatch(fmt::format("{} sequences, but {} lengths", ids.size(), lengths.size()));
  std::size_t node = 0;
  for (std::size_t i = 0; i < ids.size(); ++i) {
    RLDB_TRY_VOID(sequence(ids[i]));
    if (std::count(ids.begin(), ids.end(), ids[i]) > 1)
      return mismatch(fmt::format("sequence {} is given twice", ids[i]));
    if (lengths[i] < 0) return mismatch(fmt::format("{} steps cannot be taken", lengths[i]));
    for (std::int64_t k = 0; parents && k < lengths[i]; ++k, ++node)
      if (node >= parents->size() || (*parents)[node] != k - 1)
        return unsupported(
            fmt::format("the state of recurrent layers takes chains, and the token tree of sequence {} "
                        "is none",
                        ids[i]));
  }
  if (parents && node != parents->size())
    return mismatch(fmt::format("{} nodes of token trees for a forward of {} steps", parents->size(), node));
  tuple_->fields[rnn::Forward] = Value::of_tuple({Value::of_shape(ids), Value::of_shape(lengths)});
  return support::Unit{};
}

Result<std::vector<Value*>> RnnState::forward() const {
  if (tuple_->fields[rnn::Forward].is_null()) return mismatch("no forward of the state has begun");
  std::vector<Value*> out;
  for (const std::int64_t id : tuple_->fields[rnn::Forward].as_tuple().fields[0].as_shape()) {
    RLDB_TRY(Value * s, sequence(id));
    out.push_back(s);
  }
  return out;
}

// A forward of several steps leaves no past: the states in between are not kept.
Result<support::Unit> RnnState::end() const {
  RLDB_TRY(const std::vector<Value*> sequences, forward());
  const Ints lengths = tuple_->fields[rnn::Forward].as_tuple().fields[1].as_shape();
  const std::int64_t history = sizes_of(*tuple_)[rnn::History];
  for (std::size_t i = 0; i < sequences.size(); ++i) {
    Ints now = sequences[i]->as_shape();
    if (__builtin_add_overflow(now[rnn::Length], lengths[i], &now[rnn::Length]))
      return mismatch("a sequence is too long");
    now[rnn::Past] = lengths[i] > 1 ? 0 : std::min(now[rnn::Past] + 1, history - 1);
    now[rnn::Step] = (now[rnn::Step] + 1) % history;
    *sequences[i] = Value::of_shape(std::move(now));
  }
  tuple_->fields[rnn::Forward] = Value();
  return support::Unit{};
}

// ---- states ----

std::size_t RnnState::bytes_of(const Tensor& memory) const {
  std::size_t bytes = memory.dtype().bytes();
  for (std::size_t i = 2; i < memory.shape().size(); ++i) bytes *= std::size_t(memory.shape()[i]);
  return bytes;
}

std::byte* RnnState::place(Tensor& memory, std::int64_t slot, std::int64_t step) const {
  return memory.data() + std::size_t(slot * sizes_of(*tuple_)[rnn::History] + step) * bytes_of(memory);
}

Result<Tensor*> RnnState::memory(std::int64_t layer, std::int64_t state) const {
  const std::int64_t layers = sizes_of(*tuple_)[rnn::Layers];
  const auto states = std::int64_t(tuple_->fields[rnn::Initial].as_tuple().fields.size());
  if (layer < 0 || layer >= layers || state < 0 || state >= states)
    return mismatch(fmt::format("there is no state {} of layer {}: there are {} of {}", state, layer,
                                support::counted(std::size_t(layers), "layer"),
                                support::counted(std::size_t(states), "state")));
  return &tuple_->fields[rnn::Memory].as_tuple().fields[std::size_t(layer * states + state)].as_tensor();
}

namespace {

// (sequences, shape of the state)
Result<support::Unit> check_batch(const Tensor& memory, const Tensor& batch, std::size_t sequences) {
  Ints wanted{std::int64_t(sequences)};
  wanted.insert(wanted.end(), memory.shape().begin() + 2, memory.shape().end());
  if (batch.shape() == wanted && batch.dtype() == memory.dtype()) return support::Unit{};
  return fail(ErrorKind::ShapeMismatch,
              fmt::format("the states of the forward are {} of ({}), not {} of ({})", to_string(memory.dtype()),
                          fmt::join(wanted, ", "), to_string(batch.dtype()), fmt::join(batch.shape(), ", ")));
}

}  // namespace

Result<support::Unit> RnnState::get(std::int64_t layer, std::int64_t state, Tensor& out) const {
  RLDB_TRY(Tensor * from, memory(layer, state));
  RLDB_TRY(const std::vector<Value*> sequences, forward());
  RLDB_TRY_VOID(check_batch(*from, out, sequences.size()));
  const std::size_t bytes = bytes_of(*from);
  for (std::size_t i = 0; i < sequences.size(); ++i)
    std::memcpy(out.data() + i * bytes, place(*from, info(*sequences[i], rnn::Slot), info(*sequences[i], rnn::Step)),
                bytes);
  return support::Unit{};
}

Result<support::Unit> RnnState::put(std::int64_t layer, std::int64_t state, const Tensor& in) const {
  RLDB_TRY(Tensor * to, memory(layer, state));
  RLDB_TRY(const std::vector<Value*> sequences, forward());
  RLDB_TRY_VOID(check_batch(*to, in, sequences.size()));
  const std::size_t bytes = bytes_of(*to);
  const std::int64_t history = sizes_of(*tuple_)[rnn::History];
  for (std::size_t i = 0; i < sequences.size(); ++i) {
    const std::int64_t next = (info(*sequences[i], rnn::Step) + 1) % history;
    std::memcpy(place(*to, info(*sequences[i], rnn::Slot), next), in.data() + i * bytes, bytes);
  }
  return support::Unit{};
}

Result<Value> RnnState::current(std::int64_t layer, std::int64_t state, std::int64_t id) const {
  RLDB_TRY(Tensor * from, memory(layer, state));
  RLDB_TRY(const Value* s, sequence(id));
  RLDB_TRY(auto out, Tensor::empty({from->shape().begin() + 2, from->shape().end()}, from->dtype()));
  std::memcpy(out->data(), place(*from, info(*s, rnn::Slot), info(*s, rnn::Step)), bytes_of(*from));
  return Value(std::move(out));
}

}  // namespace rldb::runtime::kv

namespace rldb::runtime {

using namespace kv;

namespace {

Result<RnnState> state_of(const Args& a) {
  const auto state = a.size() > 0 ? RnnState::of(a.at(0)) : std::nullopt;
  if (!state) return a.wrong(0);
  return *state;
}

}  // namespace

Result<Value> rnn_state_create(PackedArgs args) {
  const Args a(args, "layers, sequences, steps of history, functions that read, functions that write, initial states");
  RLDB_TRY(const std::int64_t layers, a.integer(0));
  RLDB_TRY(const std::int64_t sequences, a.integer(1));
  RLDB_TRY(const std::int64_t history, a.integer(2));
  if (args.size() != 6 || !are_tensors(args[5])) return a.wrong(args.size() > 5 ? 5 : args.size());
  const Ints sizes{layers, sequences, history};
  const std::vector<Value>& initial = args[5].as_tuple().fields;
  if (initial.empty()) return mismatch("a layer has at least one state");
  if (std::any_of(sizes.begin(), sizes.end(), [](std::int64_t n) { return n < 1 || n > kMost; }))
    return mismatch("layers, sequences and steps of history are positive, the state itself being the first step");
  std::vector<Value> memory;
  for (std::int64_t i = 0; i < layers; ++i)
    for (const Value& v : initial) {
      RLDB_TRY(auto t, Tensor::empty(memory_shape(sizes, v.as_tensor()), v.as_tensor().dtype()));
      std::memset(t->data(), 0, t->byte_size());
      memory.emplace_back(std::move(t));
    }
  return Value::of_tuple({Value::of_string(std::string(kKind)), Value::of_shape(sizes), args[5],
                          Value::of_tuple(std::move(memory)), Value::of_tuple({}), Value()});
}

Result<Value> rnn_state_get(PackedArgs args) {
  const Args a(args, "state, layer, number of the state, out");
  RLDB_TRY(const RnnState state, state_of(a));
  RLDB_TRY(const std::int64_t layer, a.integer(1));
  RLDB_TRY(const std::int64_t which, a.integer(2));
  RLDB_TRY(Tensor * out, a.tensor(3));
  RLDB_TRY_VOID(state.get(layer, which, *out));
  return Value::null();
}

Result<Value> rnn_state_set(PackedArgs args) {
  const Args a(args, "state, layer, number of the state, its values");
  RLDB_TRY(const RnnState state, state_of(a));
  RLDB_TRY(const std::int64_t layer, a.integer(1));
  RLDB_TRY(const std::int64_t which, a.integer(2));
  RLDB_TRY(const Tensor* in, a.tensor(3));
  RLDB_TRY_VOID(state.put(layer, which, *in));
  return args[0];
}

Result<Value> rnn_state_debug_get(PackedArgs args) {
  const Args a(args, "state, layer, number of the state, sequence");
  RLDB_TRY(const RnnState state, state_of(a));
  RLDB_TRY(const std::int64_t layer, a.integer(1));
  RLDB_TRY(const std::int64_t which, a.integer(2));
  RLDB_TRY(const std::int64_t id, a.integer(3));
  return state.current(layer, which, id);
}

}  // namespace rldb::runtime
