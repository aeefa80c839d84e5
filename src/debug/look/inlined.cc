// Inlined calls: chains of calls that lead to a function, and which of them a place belongs to.
#include "debug/look/inlined.h"

#include <fmt/format.h>

#include <algorithm>

#include "rldb/ir/type.h"

namespace rldb::debug {

InlinedCalls::InlinedCalls(const CodeMap& map, FunctionIndex function, Pc pc, int here, bool at_end)
    : map_(map), own_(map.function_name(pc)), here_(here), at_end_(at_end) {
  const bytecode::FunctionEntry& f = map.executable().functions[std::size_t(function)];
  if (!map.written_module()) return;
  for (Pc at = f.start; at < f.end; ++at)
    for (const int i : map.group_of(at))
      if (map.binding(i).function != own_) functions_.insert(map.binding(i).function);
  if (here_ < 0 || !contains(here_)) return;
  for (const Site& s : map.starts_of(here_)) passed_ += map.function_of(s.pc) == function && s.pc <= pc;
}

const ir::Function* InlinedCalls::written(std::string_view function) const {
  const ir::Module* module = map_.written_module();
  return module ? ir::as<ir::Function>(module->find(function)) : nullptr;
}

std::vector<InlinedCalls::Chain> InlinedCalls::chains_to(std::string_view function, int depth) const {
  constexpr int kMost = 20;  // a function that calls itself is not inlined
  std::vector<Chain> found;
  if (depth > kMost) return found;
  for (std::size_t i = 0; i < map_.bindings().size(); ++i) {
    const UserBinding& b = map_.binding(int(i));
    const auto* call = b.binding ? ir::as<ir::Call>(b.binding->value) : nullptr;
    const auto* callee = call ? ir::as<ir::GlobalVar>(call->callee) : nullptr;
    if (!callee || callee->name != function) continue;
    if (b.function == own_) found.push_back({int(i)});
    if (b.function == own_ || !functions_.contains(b.function)) continue;
    for (Chain chain : chains_to(b.function, depth + 1)) {
      chain.push_back(int(i));
      found.push_back(std::move(chain));
    }
  }
  std::sort(found.begin(), found.end());
  return found;
}

InlinedCalls::Chain InlinedCalls::at_place() const {
  if (here_ < 0 || !contains(here_)) return here_ < 0 ? Chain() : Chain{here_};
  const std::vector<Chain> all = chains_to(map_.binding(here_).function, 0);
  return all.empty() ? Chain() : all[std::min(std::max<std::size_t>(passed_, 1), all.size()) - 1];
}

// Its calls come before the place, or lead to it.
bool InlinedCalls::was_passed(const Chain& chain) const {
  if (at_end_) return true;
  Chain place = at_place();
  if (here_ >= 0 && contains(here_)) place.push_back(here_);
  const bool around = chain.size() < place.size() && std::equal(chain.begin(), chain.end(), place.begin());
  return around || chain < place;
}

InlinedCalls::Chain InlinedCalls::chosen(std::string_view function) const {
  const std::vector<Chain> all = chains_to(function, 0);
  for (auto it = all.rbegin(); it != all.rend(); ++it)
    if (was_passed(*it)) return *it;
  return all.empty() ? Chain() : all.front();
}

std::vector<int> InlinedCalls::bindings(std::string_view name) const {
  std::vector<int> found;
  const std::string_view first = here_ >= 0 ? std::string_view(map_.binding(here_).function) : own_;
  for (const bool own : {true, false})
    for (const std::string& f : functions_)
      if ((f == first) == own)
        for (const int i : map_.find_bindings(f, name, here_)) found.push_back(i);
  return found;
}

bool InlinedCalls::is_reached(int binding) const {
  const std::string& function = map_.binding(binding).function;
  const Chain chain = chosen(function);
  if (chain.empty() || !was_passed(chain)) return false;
  return at_end_ || here_ < 0 || map_.binding(here_).function != function || chain != at_place() || binding < here_;
}

const ir::Var* InlinedCalls::parameter(std::string_view name) const {
  const ir::Function* f = here_ >= 0 && contains(here_) ? written(map_.binding(here_).function) : nullptr;
  if (!f) return nullptr;
  const auto it = std::find_if(f->params.begin(), f->params.end(), [&](const ir::Var* p) { return p->name == name; });
  return it == f->params.end() ? nullptr : *it;
}

const ir::Expr* InlinedCalls::argument(const ir::Var* parameter) const {
  for (const std::string& name : functions_) {
    const ir::Function* f = written(name);
    if (!f) continue;
    const auto at = std::find(f->params.begin(), f->params.end(), parameter);
    if (at == f->params.end()) continue;
    const Chain chain = chosen(name);
    const auto* call = chain.empty() ? nullptr : ir::as<ir::Call>(map_.binding(chain.back()).binding->value);
    const std::size_t i = std::size_t(at - f->params.begin());
    return call && i < call->args.size() ? call->args[i] : nullptr;
  }
  return nullptr;
}

InlinedCalls::Dimension InlinedCalls::dimension(const ir::Var* symbol) const {
  for (const std::string& name : functions_) {
    const ir::Function* f = written(name);
    for (std::size_t p = 0; f && p < f->params.size(); ++p) {
      const auto* type = ir::as<ir::TensorType>(f->params[p]->type);
      for (std::size_t d = 0; type && type->has_shape && d < type->shape.size(); ++d)
        if (type->shape[d] == symbol) return {f->params[p], d};
    }
  }
  return {};
}

int InlinedCalls::call_here() const {
  const Chain chain = at_place();
  return chain.empty() ? -1 : chain.front();
}

std::string InlinedCalls::place(int binding) const {
  const std::string& function = map_.binding(binding).function;
  const Chain chain = chosen(function);
  return chain.empty() ? function : fmt::format("{}, inlined at {}", function, map_.binding(chain.back()).name);
}

}  // namespace rldb::debug
