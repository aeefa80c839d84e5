// The walk over the objects of a run: breadth first, each object once, with its holders.
#include "rldb/debug/objects.h"

#include <fmt/format.h>

#include <unordered_map>

#include "debug/impl.h"
#include "rldb/support/cancel.h"

namespace rldb::debug {

using runtime::Value;
using runtime::ValueKind;

namespace {

bool is_object(const Value& v) { return v.is(ValueKind::Tuple) || v.is(ValueKind::Function); }

std::span<const Value> parts_of(const Value& v) {
  if (v.is(ValueKind::Tuple)) return v.as_tuple().fields;
  return v.as_function().captured;
}

class Walk {
 public:
  Walk(HeapObjects& out, std::size_t most) : out_(out), most_(most) {}

  void hold(const Value& v, const std::string& holder) {
    if (!is_object(v) || (v.is(ValueKind::Function) && parts_of(v).empty())) return;
    const auto [at, fresh] = ids_.try_emplace(v.object(), int(values_.size()));
    if (fresh && values_.size() >= most_) {
      ids_.erase(at);
      out_.complete = false;
      return;
    }
    if (fresh) {
      values_.push_back(v);
      out_.list.push_back({at->second, {}, {}, {}});
    }
    out_.list[std::size_t(at->second)].held_by.push_back(holder);
  }

  void follow() {
    for (std::size_t i = 0; i < values_.size(); ++i) {
      support::poll();
      const Value v = values_[i];
      for (const Value& part : parts_of(v)) hold(part, fmt::format("o{}", i));
      HeapObject& o = out_.list[i];
      o.text =
          v.is(ValueKind::Function) ? fmt::format("closure of {}", v.as_function().name) : runtime::format_brief(v);
      for (const Value& part : parts_of(v)) {
        if (o.fields.size() >= kMostFields) {
          o.fields.push_back("...");
          break;
        }
        const auto known = is_object(part) ? ids_.find(part.object()) : ids_.end();
        o.fields.push_back(known == ids_.end() ? runtime::format_brief(part) : fmt::format("o{}", known->second));
      }
    }
  }

 private:
  static constexpr std::size_t kMostFields = 8;
  HeapObjects& out_;
  std::size_t most_;
  std::vector<Value> values_;
  std::unordered_map<const runtime::Object*, int> ids_;
};

}  // namespace

HeapObjects objects_of(const Debugger& debugger, std::size_t most) {
  constexpr std::size_t kMostFrames = 100;
  HeapObjects out;
  const vm::Machine* machine = debugger.machine();
  if (!machine) return out;
  Walk walk(out, most);
  const std::size_t depth = machine->frames().size();
  out.complete = depth <= kMostFrames;
  for (std::size_t n = 0; n < std::min(depth, kMostFrames); ++n) {
    const std::size_t index = depth - 1 - n;
    const auto registers = machine->registers(index);
    const vm::Frame& f = machine->frames()[index];
    for (std::size_t r = 0; r < registers.size(); ++r) {
      const auto* known = machine->executable().debug.variable_at(f.function, bytecode::RegName(r), f.pc);
      const std::string name = known ? known->name : fmt::format("%{}", r);
      walk.hold(registers[r], n == 0 ? name : fmt::format("{} of #{}", name, n));
    }
  }
  walk.follow();
  return out;
}

}  // namespace rldb::debug
