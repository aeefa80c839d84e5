// Texts of versions: which code a line became.
#include "rldb/debug/version_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <unordered_map>

#include "debug/impl.h"
#include "debug/kernel/text.h"
#include "debug/look/version_index.h"
#include "rldb/ir/printer.h"

namespace rldb::debug {

std::vector<ModuleVersion> module_versions(const session::Session& session, const session::Build* build) {
  std::vector<ModuleVersion> list;
  const session::Program* program = session.program();
  if (!session.module()) return list;
  const pipeline::History& history = program->history();
  for (std::size_t v = 0; v <= history.position(); ++v) {
    const auto* module = history.module_at(v).as<ir::Module>();
    if (list.empty() || list.back().module != module)
      list.push_back({history.is_edit(v) ? "" : passes::to_string(history.record(v).pass), false, module});
  }
  if (!build || build->source != session.module()) return list;
  for (const pipeline::Record& record : build->records) {
    if (!record.after || record.after == record.before) continue;
    list.push_back({passes::to_string(record.pass), true, record.after.as<ir::Module>()});
  }
  return list;
}

class VersionText::Lines : public ir::Decorator {
 public:
  Lines(VersionText& text, const ir::Module* module) : text_(text) {
    for (std::size_t i = 0; i < module->entries.size(); ++i) functions_.try_emplace(module->entries[i].function, i);
    text_.functions_.resize(module->entries.size());
  }
  void line(int number, const ir::Node* node) override {
    const auto line = std::uint32_t(number);
    if (const auto it = functions_.find(node); node && it != functions_.end()) {
      current_ = it->second;
      if (text_.functions_[current_].first == 0) text_.functions_[current_].first = line;
      inside_ = true;
    }
    if (!inside_) return;
    text_.functions_[current_].last = line;
    if (node && (ir::isa<ir::Binding>(node) || ir::isa<ir::Stmt>(node))) text_.rows_.push_back({line, node, current_});
  }

 private:
  VersionText& text_;
  std::unordered_map<const ir::Node*, std::size_t> functions_;
  std::size_t current_ = 0;
  bool inside_ = false;
};

VersionText::VersionText(session::Session& session, std::vector<ModuleVersion> versions, std::size_t index,
                         std::shared_ptr<const session::Build> build)
    : session_(session), versions_(std::move(versions)), index_(index), build_(std::move(build)) {
  const ir::Module* module = versions_[index_].module;
  Lines lines(*this, module);
  text_ = ir::print(module, session.options().print, &lines);
}

void VersionText::map() const {
  if (mapped_) return;
  if (build_ && build_->lowered) {
    map_code();
    map_kernels();
    std::sort(code_.begin(), code_.end());
  }
  mapped_ = true;
}

// From each instruction back through the versions to its binding in this one.
void VersionText::map_code() const {
  std::unordered_map<const ir::Node*, std::uint32_t> line_of_binding;
  for (const Row& row : rows_) line_of_binding.try_emplace(row.node, row.line);
  const auto& origins = session_.context().origins();
  const bytecode::Executable& exe = *build_->executable;
  std::vector<const ir::Binding*> at(std::size_t(exe.instruction_count()));
  line_of_.assign(at.size(), 0);
  const VersionIndex lowered(build_->lowered);
  for (Pc pc = 0; pc < exe.end(); ++pc)
    if (const bytecode::InstructionDebug* debug = exe.debug.instruction(pc))
      at[std::size_t(pc)] = ancestor(lowered, origins, {debug->binding, debug->node});
  for (std::size_t v = versions_.size(); v-- > index_;) {
    if (versions_[v].module == build_->lowered) continue;
    const VersionIndex version(versions_[v].module);
    std::unordered_map<const ir::Binding*, const ir::Binding*> known;
    for (const ir::Binding*& b : at) {
      if (!b) continue;
      support::poll();
      const auto [it, fresh] = known.try_emplace(b, nullptr);
      if (fresh) it->second = ancestor(version, origins, ids_of(b));
      if (it->second) b = it->second;
    }
  }
  std::map<std::pair<FunctionIndex, std::uint32_t>, Pc> first;
  for (Pc pc = 0; pc < exe.end(); ++pc) {
    const ir::Binding* b = at[std::size_t(pc)];
    const auto it = b ? line_of_binding.find(b) : line_of_binding.end();
    if (it == line_of_binding.end()) continue;
    line_of_[std::size_t(pc)] = it->second;
    first.try_emplace({exe.function_of(pc), it->second}, pc);
  }
  for (const auto& [key, pc] : first) code_.emplace_back(key.second, fmt::format("*{}", pc));
}

// Statements of kernels that the build has in the same form.
void VersionText::map_kernels() const {
  const ir::Module* module = versions_[index_].module;
  for (std::size_t i = 0; i < module->entries.size(); ++i) {
    const auto* f = ir::as<ir::PrimFunc>(module->entries[i].function);
    const std::string name(module->entries[i].name);
    if (!f || build_->lowered->find(name) != f) continue;
    const KernelText text(session_, name, f);
    for (const Row& row : rows_) {
      if (row.function != i || !ir::isa<ir::Stmt>(row.node)) continue;
      if (const std::uint32_t line = text.line_of(static_cast<const ir::Stmt*>(row.node)))
        code_.emplace_back(row.line, fmt::format("{}:{}", name, line));
    }
  }
}

std::uint32_t VersionText::line_of(Pc pc) const {
  map();
  return pc >= 0 && std::size_t(pc) < line_of_.size() ? line_of_[std::size_t(pc)] : 0;
}

std::optional<VersionText::Place> VersionText::place_at(std::uint32_t line) const {
  map();
  const auto inside = std::find_if(functions_.begin(), functions_.end(),
                                   [&](const Extent& e) { return e.first <= line && line <= e.last; });
  const auto from = std::lower_bound(code_.begin(), code_.end(), std::pair(line, std::string()));
  if (inside == functions_.end() || from == code_.end() || from->first > inside->last) return std::nullopt;
  Place place{from->first, {}};
  for (auto it = from; it != code_.end() && it->first == place.line; ++it) place.specs.push_back(it->second);
  return place;
}

// ---- questions about the code of a binding ----

Position Debugger::position_at(const Site& site) const {
  const auto map = impl_->current_code();
  return map && site.pc >= 0 && site.pc < map->executable().end() ? map->position(site.pc, site.part) : Position{};
}

std::vector<Debugger::BindingCall> Debugger::calls_of_binding() const {
  std::vector<BindingCall> calls;
  const Impl& d = *impl_;
  if (!active() || !d.run->machine().running() || d.run->in_kernel() || d.run->fault()) return calls;
  const CodeMap& map = d.run->code();
  const bytecode::Executable& exe = map.executable();
  const std::vector<int>& group = map.group_of(d.run->pc());
  const bytecode::FunctionEntry& f = exe.functions[std::size_t(d.run->machine().frame().function)];
  for (Pc pc = d.run->pc(); pc < f.end; ++pc) {
    if (pc != d.run->pc() && (group.empty() || map.group_of(pc) != group)) break;
    const bytecode::Instruction i = exe.instruction(pc);
    if (i.op != bytecode::Opcode::Call) continue;
    const bool kernel = d.run->is_kernel_call(pc);
    const bytecode::FunctionEntry& callee = exe.functions[std::size_t(i.callee)];
    calls.push_back({kernel ? std::string(d.run->kernel_called(pc)) : callee.name, pc, kernel,
                     callee.kind == bytecode::FunctionKind::Bytecode});
  }
  return calls;
}

}  // namespace rldb::debug
