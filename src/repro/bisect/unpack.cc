// Follows the arguments of a packed function from their records to the buffers that its body uses.
#include "repro/bisect/unpack.h"

#include <map>
#include <unordered_map>

#include "rldb/ir/attr_name/host.h"
#include "rldb/ir/intrinsic/host.h"
#include "rldb/ir/scalar.h"
#include "rldb/ir/stmt.h"
#include "rldb/ir/walk.h"

namespace rldb::repro {

using ir::as;

namespace {

// TVM's number for the convention, and those of the fields of a record that are read here.
constexpr std::int64_t kPackedFunction = 1;
constexpr std::int64_t kElements = 1, kDevice = 9, kArgument = 15;
constexpr std::size_t kPackedParameters = 4;  // self, the records, their number, the result

bool is_packed(const ir::PrimFunc* f) {
  const ir::Attr* conv = ir::find_attr(f->attrs, attr_name::CallingConv);
  return conv && conv->is(ir::AttrKind::Int) && conv->integer == kPackedFunction &&
         f->params.size() == kPackedParameters;
}

class Unpacking {
 public:
  Unpacking(ir::Context& ctx, const ir::PrimFunc* f) : ctx_(ctx), f_(f), records_(f->params[1].var) {}

  const ir::PrimFunc* run() {
    ir::walk(f_->body, [&](const ir::Node* n) {
      if (const auto* b = as<ir::BindStmt>(n)) bind(b);
      if (const auto* b = as<ir::BindStmt>(n); b && ir::is_call_of(b->value, ir::intrin::TvmStackAlloca))
        memory_.push_back(b);
      if (const auto* d = as<ir::DeclBuffer>(n)) declare(d);
      if (const auto* a = as<ir::AttrStmt>(n); a && a->key == attr_name::ComputeScope) body_ = a->body;
      return body_ == nullptr;
    });
    if (!body_ || params_.empty() || std::size_t(params_.rbegin()->first) + 1 != params_.size()) return nullptr;
    std::vector<ir::PrimParam> params;
    for (const auto& [index, p] : params_) params.push_back(p);
    memory_.push_back(body_);  // which the calls of packed functions use
    const ir::Stmt* body = ir::substitute(ctx_, memory_.size() > 1 ? ctx_.seq_stmt(memory_) : body_, devices_);
    const ir::PrimFunc* made = ctx_.prim_func(params, ctx_.tuple_type({}), body, f_->attrs, f_->s_tir);
    for (const ir::Var* v : ir::free_vars(made))
      if (v->type->kind != ir::TypeKind::Pointer) return nullptr;  // pointers come with the buffers
    return made;
  }

 private:
  // The number of the argument whose value the expression reads.
  std::optional<std::int64_t> argument_in(const ir::Expr* e) const {
    std::optional<std::int64_t> found;
    ir::walk(e, [&](const ir::Node* n) {
      if (const auto index = field_of(n, records_, kArgument)) found = index;
      if (const auto* v = as<ir::Var>(n))
        if (const auto it = arguments_.find(v); it != arguments_.end()) found = it->second;
      return !found;
    });
    return found;
  }

  // The index in a read of that field; `record` null: of any record.
  static std::optional<std::int64_t> field_of(const ir::Node* n, const ir::Var* record, std::int64_t field) {
    const auto* c = as<ir::Call>(n);
    if (!c || !ir::is_call_of(c, ir::intrin::TvmStructGet) || c->args.size() < 3) return std::nullopt;
    const auto *index = as<ir::IntImm>(c->args[1]), *number = as<ir::IntImm>(c->args[2]);
    if (!index || !number || number->value != field || (record && c->args[0] != record)) return std::nullopt;
    return index->value;
  }

  void bind(const ir::BindStmt* b) {
    if (field_of(b->value, nullptr, kDevice)) devices_[b->var] = ctx_.int_imm(b->var->dtype(), 0);
    const auto index = argument_in(b->value);
    if (!index) return;
    const bool reads_a_field = !field_in(b->value) && arguments_in(b->value);
    if (reads_a_field) return;  // a dim, a stride
    arguments_[b->var] = *index;
    if (b->var->type->kind == ir::TypeKind::Prim && !b->var->dtype().is_handle()) params_[*index] = {b->var, nullptr};
  }

  // Whether the records themselves are read.
  bool field_in(const ir::Expr* e) const {
    bool found = false;
    ir::walk(e, [&](const ir::Node* n) {
      found = found || field_of(n, records_, kArgument);
      return !found;
    });
    return found;
  }

  // Whether the record of a tensor is read.
  bool arguments_in(const ir::Expr* e) const {
    bool found = false;
    ir::walk(e, [&](const ir::Node* n) {
      const auto* c = as<ir::Call>(n);
      found = found || (c && ir::is_call_of(c, ir::intrin::TvmStructGet));
      return !found;
    });
    return found;
  }

  void declare(const ir::DeclBuffer* d) {
    if (!d->data) return;
    std::optional<std::int64_t> index;
    ir::walk(d->data, [&](const ir::Node* n) {
      if (field_of(n, nullptr, kElements)) index = argument_in(static_cast<const ir::Expr*>(n));
      return !index;
    });
    if (index) params_[*index] = {d->buffer->data, d->buffer};
  }

  ir::Context& ctx_;
  const ir::PrimFunc* f_;
  const ir::Var* records_;
  const ir::Stmt* body_ = nullptr;
  std::unordered_map<const ir::Var*, std::int64_t> arguments_;  // handles of tensors, and numbers
  std::map<std::int64_t, ir::PrimParam> params_;
  std::vector<const ir::Stmt*> memory_;
  ir::VarMap devices_;  // numbers of devices: that of the host
};

}  // namespace

const ir::PrimFunc* unpacked(ir::Context& ctx, const ir::PrimFunc* f) {
  return is_packed(f) ? Unpacking(ctx, f).run() : f;
}

const ir::Module* with_unpacked(ir::Context& ctx, const ir::Module* module) {
  ir::ModuleBuilder builder(ctx, *module);
  bool changed = false;
  for (const ir::ModuleEntry& e : module->entries) {
    const auto* f = ir::as<ir::PrimFunc>(e.function);
    const ir::PrimFunc* plain = f ? unpacked(ctx, f) : nullptr;
    if (!plain || plain == f) continue;
    builder.set(e.name, plain);
    changed = true;
  }
  return changed ? builder.build() : module;
}

}  // namespace rldb::repro
