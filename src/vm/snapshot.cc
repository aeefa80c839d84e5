// Snapshots: a machine that shares no mutable data with the one it was made from, aliasing kept. Large memory is shared
// until one of them writes it (runtime/shared_memory.h).
//
// Identity is kept object by object: one storage, tensor or tuple of the original is one in the copy. Strings, shapes,
// functions without captured values and opaque objects are immutable (or not ours) and stay shared.
#include <limits>
#include <unordered_map>

#include "rldb/runtime/object_value.h"
#include "rldb/runtime/shared_memory.h"
#include "rldb/vm/instruction_set.h"
#include "rldb/vm/partial_snapshot.h"
#include "vm/link.h"

namespace rldb::vm {
namespace {

using runtime::ValueKind;

// Tuples and closures nest as deep as a program made them.
constexpr int kMaxDepth = 1000;

class Copier {
 public:
  // `shared`: storages of so many bytes and more are not copied.
  explicit Copier(const Program::Impl& impl, std::size_t shared = std::numeric_limits<std::size_t>::max(),
                  bool until_written = false)
      : impl_(impl), shared_(shared), until_written_(until_written) {}

  Result<Value> copy(const Value& v, int depth = 0) {
    switch (v.kind()) {
#define RLDB_VALUE_PLAIN(Kind, ...) case ValueKind::Kind:
#include "rldb/runtime/value_kind.def"
      case ValueKind::Shape:
        return v;
      case ValueKind::Object:
        if (runtime::object_in<runtime::MapValue>(v)) break;
        return v;
      case ValueKind::Storage: {
        RLDB_TRY(Ref<runtime::Storage> s, copy_storage(v.storage_ref()));
        return Value(s);
      }
      case ValueKind::Tensor:
      case ValueKind::Tuple:
      case ValueKind::Function:
        break;
    }
    if (auto it = made_.find(v.object()); it != made_.end()) return it->second;
    if (depth > kMaxDepth) return runtime::fail(runtime::ErrorKind::Unsupported, "values nest too deep to be copied");
    return copy_object(v, depth);
  }

 private:
  Result<Value> copy_object(const Value& v, int depth) {
    if (v.is(ValueKind::Tensor)) {
      const runtime::Tensor& t = v.as_tensor();
      if (stays(t.storage().get())) return v;
      RLDB_TRY(Ref<runtime::Storage> s, copy_storage(t.storage()));
      return known(v, Value(support::make_ref<runtime::Tensor>(std::move(s), t.byte_offset(), t.shape(), t.dtype())));
    }
    // Registered before its parts: a reference may be part of what it refers to.
    if (v.is(ValueKind::Tuple)) {
      const Value made = known(v, Value::of_tuple({}));
      for (const Value& f : v.as_tuple().fields) {
        RLDB_TRY(Value part, copy(f, depth + 1));
        made.as_tuple().fields.push_back(std::move(part));
      }
      return made;
    }
    if (const auto* map = runtime::object_in<runtime::MapValue>(v)) return copy_map(v, *map, depth);
    const runtime::Function& f = v.as_function();
    if (f.captured.empty()) return v;
    Ref<runtime::Function> closure = make_closure(f, {});
    closure->captured.clear();  // copies follow
    const Value made = known(v, Value(closure));
    for (const Value& c : f.captured) {
      RLDB_TRY(Value part, copy(c, depth + 1));
      closure->captured.push_back(std::move(part));
    }
    return made;
  }

  // It is immutable, so that it cannot be a part of itself; the tensors in it are not.
  Result<Value> copy_map(const Value& v, const runtime::MapValue& map, int depth) {
    std::vector<std::pair<Value, Value>> items;
    for (const auto& [key, item] : map.items) {
      RLDB_TRY(Value made, copy(item, depth + 1));
      items.emplace_back(key, std::move(made));
    }
    return known(v, Value::of_object(support::make_ref<runtime::MapValue>(std::move(items))));
  }

  Value known(const Value& v, Value made) { return made_.emplace(v.object(), std::move(made)).first->second; }

  Result<Ref<runtime::Storage>> copy_storage(const Ref<runtime::Storage>& s) {
    if (stays(s.get())) return s;
    if (auto it = storages_.find(s.get()); it != storages_.end()) return it->second;
    RLDB_TRY(Ref<runtime::Storage> made, until_written_ ? runtime::share(s) : s->clone());
    storages_.emplace(s.get(), made);
    return made;
  }

  bool stays(const runtime::Storage* s) const { return s->size() >= shared_ || impl_.constant_storages.contains(s); }

  const Program::Impl& impl_;
  std::size_t shared_;
  bool until_written_;
  std::unordered_map<const runtime::Object*, Value> made_;
  std::unordered_map<const runtime::Storage*, Ref<runtime::Storage>> storages_;
};

// Sums over distinct storages: what a snapshot copies, and what it shares.
class Sizer {
 public:
  explicit Sizer(const Program::Impl& impl) : impl_(impl) {}
  void add(const Value& v, int depth = 0) {
    if (depth > kMaxDepth) return;
    if (v.is(ValueKind::Tensor)) add_storage(v.as_tensor().storage().get());
    if (v.is(ValueKind::Storage)) add_storage(v.storage_ref().get());
    if (v.is(ValueKind::Tuple) && fresh(v.object()))
      for (const Value& f : v.as_tuple().fields) add(f, depth + 1);
    if (v.is(ValueKind::Function) && fresh(v.object()))
      for (const Value& c : v.as_function().captured) add(c, depth + 1);
    if (const auto* map = runtime::object_in<runtime::MapValue>(v); map && fresh(v.object()))
      for (const auto& [key, item] : map->items) add(item, depth + 1);
  }
  std::size_t copied() const { return copied_; }
  std::vector<SharedBlock> take_blocks() { return std::move(blocks_); }

 private:
  bool fresh(const runtime::Object* o) { return seen_.insert(o).second; }
  void add_storage(const runtime::Storage* s) {
    if (impl_.constant_storages.contains(s) || !fresh(s)) return;
    const runtime::Object* block = runtime::shared_block(*s);
    if (block && fresh(block)) blocks_.push_back({block, s->size()});
    if (!runtime::can_share(*s)) copied_ += s->size();
  }
  const Program::Impl& impl_;
  std::unordered_set<const runtime::Object*> seen_;
  std::size_t copied_ = 0;
  std::vector<SharedBlock> blocks_;
};

}  // namespace

Result<Value> copy_value(const Program& program, const Value& value) { return Copier(program.impl()).copy(value); }

Result<Machine> Machine::snapshot() const {
  Machine copy(*this);
  if (const InstructionSet* other = instructions_of(*program_)) {
    RLDB_TRY_VOID(other->copy(copy.registers_));
    return copy;
  }
  Copier copier(program_->impl(), std::numeric_limits<std::size_t>::max(), true);
  for (std::vector<Value>* values : {&copy.registers_, &copy.native_args_}) {
    for (Value& v : *values) {
      RLDB_TRY(Value made, copier.copy(v));
      v = std::move(made);
    }
  }
  RLDB_TRY(copy.native_, copier.copy(native_));
  return copy;
}

Result<Machine> partial_snapshot(const Machine& machine, std::size_t from) {
  Machine copy(machine);
  Copier copier(machine.program().impl(), from);
  for (std::size_t frame = 0; frame < copy.frames().size(); ++frame)
    for (std::size_t r = 0; r < copy.registers(frame).size(); ++r) {
      const bytecode::RegName reg{std::int64_t(r)};
      RLDB_TRY(Value made, copier.copy(copy.registers(frame)[r]));
      copy.write_register(frame, reg, std::move(made));
    }
  return copy;
}

bool clears_memory(const Program& program, Pc pc) {
  if (instructions_of(program)) return false;
  const Decoded& d = program.impl().code[std::size_t(pc)];
  return d.op == Op::CallBuiltin && d.builtin == alloc_cleared_tensor;
}

std::size_t Machine::snapshot_bytes() const {
  if (const InstructionSet* other = instructions_of(*program_)) return other->copied_bytes(registers_);
  Sizer sizer(program_->impl());
  for (const Value& v : registers_) sizer.add(v);
  for (const Value& v : native_args_) sizer.add(v);
  return sizer.copied();
}

std::vector<SharedBlock> shared_blocks(const Machine& machine) {
  if (instructions_of(machine.program())) return {};
  Sizer sizer(machine.program().impl());
  for (std::size_t frame = 0; frame < machine.frames().size(); ++frame)
    for (const Value& v : machine.registers(frame)) sizer.add(v);
  return sizer.take_blocks();
}

}  // namespace rldb::vm
