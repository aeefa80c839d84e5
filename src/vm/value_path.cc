#include "rldb/vm/value_path.h"

#include "rldb/runtime/object_value.h"
#include "rldb/vm/machine.h"

namespace rldb::vm {

using runtime::ValueKind;

namespace {

// Of a tuple or a map; null: there is none.
const Value* part_at(const Value& v, std::size_t i) {
  if (v.is(ValueKind::Tuple)) {
    const std::vector<Value>& fields = v.as_tuple().fields;
    return i < fields.size() ? &fields[i] : nullptr;
  }
  const auto* map = runtime::object_in<runtime::MapValue>(v);
  return map && i < map->items.size() ? &map->items[i].second : nullptr;
}

}  // namespace

Value value_at(const Machine& m, const ValuePath& path) {
  if (path.frame >= m.frames().size()) return Value();
  const Value* v = m.read_register(path.frame, path.reg);
  for (std::size_t i = 0; v && i < path.fields.size(); ++i) v = part_at(*v, path.fields[i]);
  return v ? *v : Value();
}

Ref<runtime::Storage> memory_of(const Value& v) {
  if (v.is(ValueKind::Tensor)) return v.as_tensor().storage();
  return v.is(ValueKind::Storage) ? v.storage_ref() : Ref<runtime::Storage>();
}

void each_memory(const Value& v, std::vector<std::size_t>& fields, const SeeMemory& f) {
  if (v.is(ValueKind::Tensor) || v.is(ValueKind::Storage)) return f(v);
  for (std::size_t i = 0; const Value* part = part_at(v, i); ++i) {
    fields.push_back(i);
    each_memory(*part, fields, f);
    fields.pop_back();
  }
}

void each_memory(const Machine& m, const std::function<void(const ValuePath& path, const Value& holder)>& f) {
  for (std::size_t frame = 0; frame < m.frames().size(); ++frame) {
    const auto registers = m.registers(frame);
    for (std::size_t r = 0; r < registers.size(); ++r) {
      ValuePath path{frame, bytecode::RegName(std::int64_t(r)), {}};
      each_memory(registers[r], path.fields, [&](const Value& holder) { f(path, holder); });
    }
  }
}

}  // namespace rldb::vm
