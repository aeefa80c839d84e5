// Snapshots: a machine that shares no mutable data with its original, with aliasing kept. Lists are as deep as they are
// long, so copies are made without recursion: empty shells first, then their contents once all shells exist.
#include <unordered_map>
#include <unordered_set>

#include "relay/vm/copy.h"
#include "rldb/support/cancel.h"

namespace rldb::relay_vm {

using runtime::ValueKind;
using support::Ref;

namespace {

using Storages = std::unordered_set<const runtime::Storage*>;

Storages constant_storages(const Program& program) {
  Storages out;
  for (const Value& c : program.constants()) out.insert(c.as_tensor().storage().get());
  return out;
}

class Copier {
 public:
  explicit Copier(const Program& program) : program_(program), constants_(constant_storages(program)) {}

  Result<support::Unit> copy_all(std::vector<Value>& values) {
    for (const Value& v : values) RLDB_TRY_VOID(add(v));
    while (!open_.empty()) {
      support::poll();
      const Value v = std::move(open_.back());
      open_.pop_back();
      for (const Value& part : parts(v)) RLDB_TRY_VOID(add(part));
      compound_.push_back(v);
    }
    for (const Value& v : compound_) {
      std::vector<Value>& to = parts(made_.at(v.object()));
      for (const Value& part : parts(v)) to.push_back(copy_of(part));
    }
    for (Value& v : values) v = copy_of(v);
    return support::Unit{};
  }

 private:
  Value empty_like(const Value& v) const {
    const auto* adt = dynamic_cast<const Adt*>(v.object());
    return make_adt(adt ? adt->tag : 0, {}, adt ? adt->constructors : nullptr);
  }

  static std::vector<Value>& parts(const Value& v) {
    return v.is(ValueKind::Tuple) ? v.as_tuple().fields : v.as_function().captured;
  }

  Value copy_of(const Value& v) const {
    const auto found = v.object() ? made_.find(v.object()) : made_.end();
    return found == made_.end() ? v : found->second;
  }

  Result<Ref<runtime::Storage>> copy_storage(const Ref<runtime::Storage>& s) {
    if (constants_.contains(s.get())) return s;
    if (const auto found = storages_.find(s.get()); found != storages_.end()) return found->second;
    RLDB_TRY(Ref<runtime::Storage> made, s->clone());
    storages_.emplace(s.get(), made);
    return made;
  }

  Result<support::Unit> add(const Value& v) {
    if (!v.object() || made_.contains(v.object())) return support::Unit{};
    if (v.is(ValueKind::Tensor)) {
      const runtime::Tensor& t = v.as_tensor();
      RLDB_TRY(Ref<runtime::Storage> s, copy_storage(t.storage()));
      made_.emplace(v.object(), support::make_ref<runtime::Tensor>(s, t.byte_offset(), t.shape(), t.dtype()));
    } else if (v.is(ValueKind::Storage)) {
      RLDB_TRY(Ref<runtime::Storage> s, copy_storage(v.storage_ref()));
      made_.emplace(v.object(), s);
    } else if (v.is(ValueKind::Tuple)) {
      made_.emplace(v.object(), empty_like(v));
      open_.push_back(v);
    } else if (v.is(ValueKind::Function) && !v.as_function().captured.empty()) {
      made_.emplace(v.object(), program_.closure(FunctionIndex(v.as_function().bytecode_index), {}));
      open_.push_back(v);
    }
    return support::Unit{};
  }

  const Program& program_;
  Storages constants_;
  std::unordered_map<const runtime::Object*, Value> made_;
  std::unordered_map<const runtime::Storage*, Ref<runtime::Storage>> storages_;
  std::vector<Value> open_, compound_;
};

}  // namespace

Result<support::Unit> copy_values(const Program& program, std::vector<Value>& values) {
  return Copier(program).copy_all(values);
}

Result<Machine> Machine::snapshot() const {
  Machine copy(*this);
  RLDB_TRY_VOID(copy_values(*program_, copy.registers_));
  return copy;
}

std::size_t Machine::snapshot_bytes() const { return copied_bytes(*program_, registers_); }

std::size_t copied_bytes(const Program& program, std::span<const Value> values) {
  const Storages constants = constant_storages(program);
  std::unordered_set<const runtime::Object*> seen;
  std::vector<Value> open(values.begin(), values.end());
  std::size_t total = 0;
  while (!open.empty()) {
    const Value v = std::move(open.back());
    open.pop_back();
    const runtime::Storage* s = v.is(ValueKind::Tensor)    ? v.as_tensor().storage().get()
                                : v.is(ValueKind::Storage) ? v.storage_ref().get()
                                                           : nullptr;
    if (s && !constants.contains(s) && seen.insert(s).second) total += s->size();
    if (v.is(ValueKind::Tuple) && seen.insert(v.object()).second)
      open.insert(open.end(), v.as_tuple().fields.begin(), v.as_tuple().fields.end());
    if (v.is(ValueKind::Function) && seen.insert(v.object()).second)
      open.insert(open.end(), v.as_function().captured.begin(), v.as_function().captured.end());
  }
  return total;
}

}  // namespace rldb::relay_vm
