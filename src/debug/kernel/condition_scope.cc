// The names that a condition may use where a probe arrives: what is around it in the kernel.
#include <memory>

#include "debug/kernel/condition.h"

namespace rldb::debug {

ConditionScope scope_of(const KernelText& text, const Probe& probe) {
  struct Names {
    std::vector<const ir::Var*> variables;  // innermost first
    std::vector<const ir::Buffer*> buffers;
  };
  auto names = std::make_shared<Names>();
  const auto enter = [&](const ir::Stmt* s) {
    if (const auto* loop = ir::as<ir::ForStmt>(s)) names->variables.push_back(loop->var);
    const auto* realize = ir::as<ir::SBlockRealize>(s);
    if (realize)
      for (std::size_t i = realize->block->iter_vars.size(); i-- > 0;)
        names->variables.push_back(realize->block->iter_vars[i].var);
    if (const auto* block = realize ? realize->block : ir::as<ir::SBlock>(s)) {
      for (std::size_t i = block->match_buffers.size(); i-- > 0;)
        names->buffers.push_back(block->match_buffers[i].buffer);
      for (std::size_t i = block->alloc_buffers.size(); i-- > 0;) names->buffers.push_back(block->alloc_buffers[i]);
    }
  };
  const auto before = [&](const ir::SeqStmt* seq, const ir::Stmt* here) {
    std::size_t end = 0;
    while (end < seq->stmts.size() && seq->stmts[end] != here) ++end;
    while (end-- > 0) {
      if (const auto* b = ir::as<ir::BindStmt>(seq->stmts[end])) names->variables.push_back(b->var);
      if (const auto* b = ir::as<ir::AllocBuffer>(seq->stmts[end])) names->buffers.push_back(b->buffer);
      if (const auto* b = ir::as<ir::DeclBuffer>(seq->stmts[end])) names->buffers.push_back(b->buffer);
    }
  };
  if (probe.arrival != Probe::Arrival::Statement) enter(probe.at);
  const ir::Stmt* inner = probe.at;
  for (const ir::Stmt* s = text.parent_of(inner); s; inner = s, s = text.parent_of(s)) {
    if (const auto* seq = ir::as<ir::SeqStmt>(s)) before(seq, inner);
    enter(s);
  }
  const auto& params = text.function()->params;
  for (std::size_t i = params.size(); i-- > 0;) {
    if (!params[i].buffer) {
      names->variables.push_back(params[i].var);
      continue;
    }
    names->buffers.push_back(params[i].buffer);
    for (std::size_t d = params[i].buffer->shape.size(); d-- > 0;)
      if (const auto* v = ir::as<ir::Var>(params[i].buffer->shape[d])) names->variables.push_back(v);
  }
  ConditionScope scope;
  scope.variable = [names](std::string_view name) -> const ir::Var* {
    for (const ir::Var* v : names->variables)
      if (v->name == name) return v;
    return nullptr;
  };
  scope.buffer = [names](std::string_view name) -> const ir::Buffer* {
    for (const ir::Buffer* b : names->buffers)
      if (b->name == name) return b;
    return nullptr;
  };
  return scope;
}

}  // namespace rldb::debug
