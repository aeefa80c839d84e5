// Makers of TensorIR statements.
#include "ir/build/context_tables.h"

namespace rldb::ir {

const BindStmt* Context::bind(const Var* var, const Expr* value) {
  RLDB_CHECK(var && value, "a bind needs a variable and a value");
  return make<BindStmt>(NodeKind::Bind, var, value);
}
const AttrStmt* Context::attr_stmt(const Attr* node, std::string_view key, const Expr* value, const Stmt* body,
                                   const Var* thread_var) {
  RLDB_CHECK(value && body, "an attribute statement needs a value and a body");
  return make<AttrStmt>(NodeKind::Attr, node ? node : attr_none(), thread_var, str(key), value, body);
}
const AssertStmt* Context::assert_stmt(const Expr* cond, std::string_view error_kind,
                                       std::span<const std::string_view> parts) {
  RLDB_CHECK(cond != nullptr, "an assert needs a condition");
  std::vector<std::string_view> kept;
  kept.reserve(parts.size());
  for (std::string_view p : parts) kept.push_back(str(p));
  return make<AssertStmt>(NodeKind::Assert, cond, str(error_kind), list(kept));
}
const BufferStore* Context::store(const Buffer* buffer, const Expr* value, std::span<const Expr* const> indices,
                                  const Expr* predicate) {
  RLDB_CHECK(buffer && value, "a store needs a buffer and a value");
  return make<BufferStore>(NodeKind::BufferStore, buffer, value, list(indices), predicate);
}
const AllocBuffer* Context::alloc_buffer(const Buffer* buffer, std::span<const NamedAttr> annotations) {
  RLDB_CHECK(buffer != nullptr, "alloc_buffer needs a buffer");
  return make<AllocBuffer>(NodeKind::AllocBuffer, buffer, list(annotations));
}
const DeclBuffer* Context::decl_buffer(const Buffer* buffer, const Expr* data) {
  RLDB_CHECK(buffer != nullptr, "decl_buffer needs a buffer");
  return make<DeclBuffer>(NodeKind::DeclBuffer, buffer, data);
}
const AllocateStmt* Context::allocate(const Var* var, DType dtype, std::span<const Expr* const> extents,
                                      std::string_view scope, std::span<const NamedAttr> annotations) {
  RLDB_CHECK(var != nullptr, "allocate needs a variable");
  return make<AllocateStmt>(NodeKind::Allocate, var, dtype, list(extents), str(scope), list(annotations));
}
const AllocateConstStmt* Context::allocate_const(const Var* var, runtime::Value tensor) {
  RLDB_CHECK(var && tensor.is(runtime::ValueKind::Tensor), "allocate_const needs a variable and a tensor");
  tables_->values.push_back(std::move(tensor));
  return make<AllocateConstStmt>(NodeKind::AllocateConst, var, &tables_->values.back());
}
const ForStmt* Context::for_stmt(const Var* var, const Expr* min, const Expr* extent, ForKind kind, const Stmt* body,
                                 std::span<const NamedAttr> annotations, std::string_view thread_tag,
                                 const Expr* step) {
  RLDB_CHECK(var && min && extent && body, "a loop needs a variable, a range and a body");
  return make<ForStmt>(NodeKind::For, var, min, extent, step, kind, str(thread_tag), list(annotations), body);
}
const WhileStmt* Context::while_stmt(const Expr* cond, const Stmt* body) {
  RLDB_CHECK(cond && body, "a while needs a condition and a body");
  return make<WhileStmt>(NodeKind::While, cond, body);
}
const IfThenElse* Context::if_stmt(const Expr* cond, const Stmt* then_case, const Stmt* else_case) {
  RLDB_CHECK(cond && then_case, "an if needs a condition and a body");
  return make<IfThenElse>(NodeKind::IfThenElse, cond, then_case, else_case);
}

// An empty sequence becomes an evaluation of 0, as in TVM.
static bool is_nothing(const Stmt* s) {
  const auto* e = as<Evaluate>(s);
  const auto* zero = e ? as<IntImm>(e->value) : nullptr;
  return zero && zero->value == 0;
}

const Stmt* Context::seq_stmt(std::span<const Stmt* const> stmts) {
  std::vector<const Stmt*> flat;
  flat.reserve(stmts.size());
  for (const Stmt* s : stmts) {
    RLDB_CHECK(s != nullptr, "a statement is missing");
    if (const auto* inner = as<SeqStmt>(s)) {
      flat.insert(flat.end(), inner->stmts.begin(), inner->stmts.end());
    } else {
      flat.push_back(s);
    }
  }
  if (flat.empty()) return evaluate(i32(0));
  // T.evaluate(0) is an empty statement, so beside others it is left out, as in TVM.
  const Stmt* first = flat[0];
  if (flat.size() > 1) std::erase_if(flat, is_nothing);
  if (flat.empty()) return first;
  if (flat.size() == 1) return flat[0];
  return make<SeqStmt>(NodeKind::Seq, list(flat));
}
const Evaluate* Context::evaluate(const Expr* value) {
  RLDB_CHECK(value != nullptr, "evaluate of nothing");
  return make<Evaluate>(NodeKind::Evaluate, value);
}

const SBlock* Context::sblock(const SBlock& fields) {
  RLDB_CHECK(fields.body != nullptr, "a block needs a body");
  const auto regions = [&](Span<BufferRegion> from) {
    std::vector<BufferRegion> out;
    out.reserve(from.size());
    for (const BufferRegion& r : from) out.push_back({r.buffer, list(r.region)});
    return list(out);
  };
  std::vector<MatchBufferRegion> matches;
  matches.reserve(fields.match_buffers.size());
  for (const MatchBufferRegion& m : fields.match_buffers)
    matches.push_back({m.buffer, {m.source.buffer, list(m.source.region)}});
  SBlock b = fields;
  b.kind = NodeKind::SBlock;
  b.id = next_id_++;
  b.name = str(b.name);
  b.iter_vars = list(b.iter_vars);
  b.reads = regions(b.reads);
  b.writes = regions(b.writes);
  b.alloc_buffers = list(b.alloc_buffers);
  b.match_buffers = list(matches);
  b.annotations = list(b.annotations);
  return arena_.make<SBlock>(b);
}

const SBlockRealize* Context::realize(std::span<const Expr* const> iter_values, const Expr* predicate,
                                      const SBlock* block) {
  RLDB_CHECK(block && iter_values.size() == block->iter_vars.size(), "a block needs one value for each axis");
  return make<SBlockRealize>(NodeKind::SBlockRealize, list(iter_values), predicate ? predicate : bool_imm(true), block);
}

}  // namespace rldb::ir
