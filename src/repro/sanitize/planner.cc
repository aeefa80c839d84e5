// name_planners: the pass that put tensors into one storage, from the versions of the program.
#include "rldb/repro/planner.h"

#include <algorithm>
#include <cctype>
#include <functional>

#include "repro/borrow.h"
#include "rldb/ir/op/memory.h"
#include "rldb/ir/op/vm.h"
#include "rldb/ir/walk.h"

namespace rldb::repro {

namespace {

bool has_storages(const ir::Module* module, const std::string& function) {
  bool found = false;
  const ir::Expr* f = module ? module->find(function) : nullptr;
  if (!ir::as<ir::Function>(f)) return false;
  ir::walk(f, [&](const ir::Node* n) {
    const auto* call = ir::as<ir::Call>(n);
    const auto* op = call ? ir::as<ir::Op>(call->callee) : nullptr;
    found = found || (op && (op->name == op::MemoryAllocStorage || op->name == op::VmAllocStorage));
    return !found;
  });
  return found;
}

struct Version {
  const ir::Module* module;
  std::string made_by;  // empty: it was loaded like this, or edited
};

// The storage in which lowered text allocates the tensor; null: it does not.
const ir::Var* storage_of(const Version& v, const std::string& function, const std::string& tensor) {
  const ir::Var* found = nullptr;
  const ir::Expr* f = v.module ? v.module->find(function) : nullptr;
  if (!ir::as<ir::Function>(f) || tensor.empty()) return nullptr;
  ir::walk(f, [&](const ir::Node* n) {
    const auto* b = ir::as<ir::Binding>(n);
    const auto* call = b && b->var->name == tensor ? ir::as<ir::Call>(b->value) : nullptr;
    const auto* op = call ? ir::as<ir::Op>(call->callee) : nullptr;
    if (op && (op->name == op::MemoryAllocTensor || op->name == op::VmAllocTensor) && !call->args.empty())
      found = ir::as<ir::Var>(call->args[0]);
    return !found;
  });
  return found;
}

// The first version that puts the two into one storage, of those from which on all do; `end`: none is known.
std::size_t first_together(const std::vector<Version>& versions, const Finding& f) {
  std::size_t first = versions.size();
  for (std::size_t v = versions.size(); v-- > 0;) {
    const ir::Var* a = storage_of(versions[v], f.function, f.allocation);
    const ir::Var* b = storage_of(versions[v], f.function, f.writer_allocation);
    if (!a || !b) continue;  // other names, or other code
    if (a != b) return first;
    first = v;
  }
  return versions.size();  // always, or not known since when
}

void name_by(std::vector<Finding>& findings, const std::vector<Version>& versions) {
  for (Finding& f : findings) {
    if (!f.is_about_storage()) continue;
    if (const std::size_t v = first_together(versions, f); v > 0 && v < versions.size()) {
      f.planner = versions[v].made_by;
      continue;
    }
    const auto first = std::find_if(versions.begin(), versions.end(),
                                    [&](const Version& v) { return has_storages(v.module, f.function); });
    if (first != versions.end() && first != versions.begin()) f.planner = first->made_by;
  }
}

bool any_in_storage(const std::vector<Finding>& findings) {
  return std::any_of(findings.begin(), findings.end(), [](const Finding& f) { return f.is_about_storage(); });
}

// `006_StaticPlanBlockMemory.py`
bool is_stage(const std::string& name) {
  const auto digits = std::size_t(
      std::find_if(name.begin(), name.end(), [](unsigned char c) { return !std::isdigit(c); }) - name.begin());
  return digits > 0 && digits < name.size() && name[digits] == '_' && name.ends_with(".py");
}

}  // namespace

void name_planners(std::vector<Finding>& findings, const pipeline::History& history) {
  std::vector<Version> versions;
  for (std::size_t v = 0; v <= history.position() && v < history.size(); ++v) {
    const bool by_pass = v > 0 && !history.is_edit(v);
    versions.push_back(
        {history.module_at(v).as<ir::Module>(), by_pass ? passes::to_string(history.record(v).pass) : std::string()});
  }
  name_by(findings, versions);
}

void name_planners(std::vector<Finding>& findings, const std::vector<Stage>& stages) {
  std::vector<Version> versions;
  for (const Stage& s : stages)
    if (s.module) versions.push_back({s.module, s.pass});
  name_by(findings, versions);
}

void name_planners(std::vector<Finding>& findings, session::Session& session, const std::string& file) {
  const auto slash = file.rfind('/');
  const std::string name = slash == std::string::npos ? file : file.substr(slash + 1);
  if (!any_in_storage(findings) || !is_stage(name)) return;
  const Borrow borrow(session);
  std::string problem;
  std::vector<Stage> stages = read_dump(session, slash == std::string::npos ? "." : file.substr(0, slash), problem);
  const auto here = std::find_if(stages.begin(), stages.end(), [&](const Stage& s) { return s.file == name; });
  if (here != stages.end()) stages.erase(here + 1, stages.end());
  name_planners(findings, stages);
}

}  // namespace rldb::repro
