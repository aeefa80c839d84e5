// Types of names, by the place or the name of the variable.
#include "protocol/lsp/types.h"

#include <fmt/format.h>

#include "rldb/ir/printer.h"
#include "rldb/ir/signature.h"
#include "rldb/ir/walk.h"

namespace rldb::protocol::lsp {

using frontend::NameDefinition;
using frontend::NameKind;

void Types::follow(const frontend::Document& document) {
  context_ = document.context();
  for (auto& [name, f] : functions_) f.seen = false;
  for (const frontend::Document::ReadFunction& f : document.functions()) {
    const auto found = functions_.find(f.name);
    Function& mine = found == functions_.end() ? functions_[std::string(f.name)] : found->second;
    mine.seen = true;
    mine.known.reset();
    mine.now = f.function;
    if (!f.broken && f.function) {
      mine.good = f.function;
      mine.context = context_;
    }
  }
  // A text that cannot be read has no functions; one that can has lost those that it does not name.
  for (auto& [name, f] : functions_) {
    if (f.seen) continue;
    f.now = nullptr;
    f.known.reset();
  }
  if (document.result().ok) std::erase_if(functions_, [](const auto& row) { return !row.second.seen; });
}

const ir::Expr* Types::function_of(std::string_view name) const {
  const auto it = functions_.find(name);
  if (it == functions_.end()) return nullptr;
  return it->second.now ? it->second.now : it->second.good;
}

void Types::learn(const ir::Context& context, const ir::Expr* function, bool places, Known& known) {
  const auto add = [&](const ir::Var* v) {
    if (!v) return;
    known.by_name.insert_or_assign(v->name, v);
    if (const source::Span at = context.spans().get(v->id); places && at) known.by_place.emplace(at.begin, v);
  };
  const auto add_symbols = [&](const ir::Type* t) {
    std::vector<const ir::Var*> symbols;
    ir::collect_vars(t, symbols);
    for (const ir::Var* v : symbols) known.by_name.emplace(v->name, v);
  };
  const auto add_buffer = [&](const ir::Buffer* b) {
    if (b) known.buffers.emplace(b->name, b);
  };
  if (const auto* k = ir::as<ir::PrimFunc>(function)) {
    for (const ir::PrimParam& p : k->params) {
      add(p.var);
      add_buffer(p.buffer);
    }
  }
  ir::walk(function, [&](const ir::Node* n) {
    if (const auto* f = ir::as<ir::Function>(n)) {
      for (const ir::Var* p : f->params) {
        add(p);
        add_symbols(p->type);
      }
    } else if (const auto* b = ir::as<ir::Binding>(n)) {
      add(b->var);
      if (b->cast_type) add_symbols(b->cast_type);
    } else if (const auto* v = ir::as<ir::Var>(n)) {
      known.by_name.emplace(v->name, v);
    } else if (const auto* load = ir::as<ir::BufferLoad>(n)) {
      add_buffer(load->buffer);
    } else if (const auto* store = ir::as<ir::BufferStore>(n)) {
      add_buffer(store->buffer);
    } else if (const auto* alloc = ir::as<ir::AllocBuffer>(n)) {
      add_buffer(alloc->buffer);
    } else if (const auto* decl = ir::as<ir::DeclBuffer>(n)) {
      add_buffer(decl->buffer);
    } else if (const auto* loop = ir::as<ir::ForStmt>(n)) {
      add(loop->var);
    }
    return true;
  });
}

// Those of the function that the name is in.
const Types::Known* Types::known_of(const frontend::TextIndex& index, std::uint32_t name) {
  std::uint32_t owner = index.definitions()[name].owner;
  std::uint32_t function = frontend::kNoName;
  for (; owner != frontend::kNoName; owner = index.definitions()[owner].owner)
    if (frontend::is_function(index.definitions()[owner].kind)) function = owner;
  if (function == frontend::kNoName) return nullptr;
  const auto it = functions_.find(index.definitions()[function].name);
  if (it == functions_.end()) return nullptr;
  Function& f = it->second;
  if (!f.known) {
    f.known = std::make_unique<Known>();
    if (f.good && f.good != f.now) learn(*f.context, f.good, false, *f.known);
    if (f.now) learn(*context_, f.now, true, *f.known);
  }
  return f.known.get();
}

const ir::Type* Types::type_of(const frontend::TextIndex& index, std::uint32_t name) {
  const NameDefinition& d = index.definitions()[name];
  const Known* known = known_of(index, name);
  if (!known) return nullptr;
  if (const auto at = known->by_place.find(d.at.begin); at != known->by_place.end() && at->second->name == d.name)
    return at->second->type;
  const auto by_name = known->by_name.find(d.name);
  return by_name == known->by_name.end() ? nullptr : by_name->second->type;
}

std::string Types::text_of(const frontend::TextIndex& index, std::uint32_t name) {
  const NameDefinition& d = index.definitions()[name];
  if (frontend::is_function(d.kind)) {
    const ir::Expr* f = function_of(d.name);
    return f ? ir::signature_text(f) : std::string();
  }
  switch (d.kind) {
    case NameKind::Buffer: {
      const Known* known = known_of(index, name);
      if (!known) return {};
      const auto b = known->buffers.find(d.name);
      return b == known->buffers.end() ? std::string() : ir::buffer_text(b->second);
    }
    case NameKind::Symbol:
    case NameKind::LoopVariable: {
      const ir::Type* type = type_of(index, name);
      const auto* prim = ir::as<ir::PrimType>(type);
      return prim ? "T." + to_string(prim->dtype) : d.kind == NameKind::Symbol ? std::string("T.int64") : std::string();
    }
    case NameKind::Parameter:
    case NameKind::Variable:
    case NameKind::DataflowVariable: {
      const ir::Type* type = type_of(index, name);
      if (!type) return {};
      const std::uint32_t owner = d.owner;
      const bool tensor_ir = owner != frontend::kNoName && index.definitions()[owner].kind == NameKind::PrimFunc;
      const auto* prim = ir::as<ir::PrimType>(type);
      return tensor_ir && prim ? "T." + to_string(prim->dtype) : ir::print_type(type);
    }
#define RLDB_NAME_FUNCTION(Kind, ...) case NameKind::Kind:
#include "rldb/frontend/name_kind.def"
    case NameKind::Module:
    case NameKind::Block:
    case NameKind::Constant:
      return {};
  }
  return {};
}

}  // namespace rldb::protocol::lsp
