// Sizes of storages by their names, as a run allocates them, and those that differ between two stages.
#include "repro/bisect/storage_sizes.h"

#include <algorithm>
#include <set>

#include "rldb/ir/op/memory.h"
#include "rldb/ir/op/vm.h"
#include "rldb/ir/walk.h"

namespace rldb::repro {

namespace {

// Keeps no copies of tensors.
class SizeRecorder : public Recorder {
 public:
  SizeRecorder() : Recorder(0) {}

  void enter(std::string_view name, const ir::Function* f, runtime::PackedArgs args) override {
    functions_.emplace_back(name);
    Recorder::enter(name, f, args);
  }
  void leave(const runtime::Value& result) override {
    Recorder::leave(result);
    functions_.pop_back();
  }
  void begin(const ir::Binding* b) override {
    bindings_.push_back(b);
    Recorder::begin(b);
  }
  runtime::Result<support::Unit> bound(const ir::Binding* b, const runtime::Value& value) override {
    bindings_.pop_back();
    return Recorder::bound(b, value);
  }

  StorageSizes take_sizes() {
    for (const auto& key : varying_) sizes_.erase(key);
    return std::move(sizes_);
  }

 protected:
  void fresh(const runtime::Value& memory) override {
    if (!memory.is(runtime::ValueKind::Storage) || bindings_.empty() || functions_.empty()) return;
    const auto bytes = std::int64_t(static_cast<const runtime::Storage*>(memory.object())->size());
    const std::pair key(functions_.back(), std::string(bindings_.back()->var->name));
    const auto [it, made] = sizes_.emplace(key, bytes);
    if (!made && it->second != bytes) varying_.insert(key);
  }

 private:
  std::vector<std::string> functions_;
  std::vector<const ir::Binding*> bindings_;  // in progress
  StorageSizes sizes_;
  std::set<std::pair<std::string, std::string>> varying_;
};

}  // namespace

bool has_storages(const ir::Module* module) {
  bool found = false;
  for (const ir::ModuleEntry& e : module->entries)
    if (ir::as<ir::Function>(e.function))
      ir::walk(e.function, [&](const ir::Node* n) {
        const auto* call = ir::as<ir::Call>(n);
        const auto* op = call ? ir::as<ir::Op>(call->callee) : nullptr;
        found = found || (op && (op->name == op::MemoryAllocStorage || op->name == op::VmAllocStorage));
        return !found;
      });
  return found;
}

StorageSizes storage_sizes(session::Session& session, const Program& program) {
  SizeRecorder recorder;
  record(session, program, recorder);
  return recorder.take_sizes();
}

std::vector<Finding> resized_storages(const StorageSizes& before, const StorageSizes& now) {
  std::vector<Finding> out;
  // Names are given anew when storages come, go or change places: then nothing tells which is which.
  const auto same_name = [](const auto& a, const auto& b) { return a.first == b.first; };
  if (!std::equal(before.begin(), before.end(), now.begin(), now.end(), same_name)) return out;
  const auto sorted_sizes = [](const StorageSizes& sizes) {
    std::vector<StorageSizes::mapped_type> all;
    for (const auto& [key, bytes] : sizes) all.push_back(bytes);
    std::sort(all.begin(), all.end());
    return all;
  };
  if (sorted_sizes(before) == sorted_sizes(now)) return out;
  for (const auto& [key, bytes] : now) {
    const auto it = before.find(key);
    if (it == before.end() || it->second == bytes) continue;
    Finding f;
    f.kind = Finding::Kind::Resized;
    f.function = key.first;
    f.storage = key.second;
    f.number = std::to_string(it->second);
    f.value = double(bytes);
    out.push_back(std::move(f));
  }
  return out;
}

}  // namespace rldb::repro
