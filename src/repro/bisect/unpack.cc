// Follows the arguments of a packed function from their records to the buffers that its body uses, and states its
// checks in terms of these.
#include "repro/bisect/unpack.h"

#include <fmt/format.h>

#include <map>
#include <unordered_map>
#include <unordered_set>

#include "rldb/ir/arith.h"
#include "rldb/ir/attr_name/host.h"
#include "rldb/ir/intrinsic/host.h"
#include "rldb/ir/printer.h"
#include "rldb/ir/scalar.h"
#include "rldb/ir/stmt.h"
#include "rldb/ir/walk.h"

namespace rldb::repro {

using ir::as;

namespace {

// TVM's number for the convention, and those of the fields of records: of a tensor, of an argument, of a list of dims.
constexpr std::int64_t kPackedFunction = 1;
constexpr std::int64_t kElements = 1, kShapeList = 2, kStrideList = 3, kRank = 4, kTypeCode = 5, kTypeBits = 6,
                       kTypeLanes = 7, kByteOffset = 8, kDevice = 9, kTypeIndex = 13, kArgument = 15, kItem = 17;
// Kinds of arguments.
constexpr std::int64_t kIntArgument = 1, kBoolArgument = 2, kFloatArgument = 3, kTensorArgument = 7;
constexpr std::size_t kPackedParameters = 4;  // self, the records, their number, the result

bool is_packed(const ir::PrimFunc* f) {
  const ir::Attr* conv = ir::find_attr(f->attrs, attr_name::CallingConv);
  return conv && conv->is(ir::AttrKind::Int) && conv->integer == kPackedFunction &&
         f->params.size() == kPackedParameters;
}

// A read of a record, `tvm_struct_get(record, index, field, dtype)`; nullopt: another expression, or the numbers are
// not constants.
struct FieldRead {
  const ir::Expr* record;
  std::int64_t index, field;
};
std::optional<FieldRead> field_read(const ir::Node* n) {
  const auto* c = as<ir::Call>(n);
  if (!c || !ir::is_call_of(c, ir::intrin::TvmStructGet) || c->args.size() < 3) return std::nullopt;
  const auto *index = as<ir::IntImm>(c->args[1]), *field = as<ir::IntImm>(c->args[2]);
  if (!index || !field) return std::nullopt;
  return FieldRead{c->args[0], index->value, field->value};
}

// The contents of the records if each argument is as the function's buffers declare it: on the CPU, compact, with
// strides.
class DeclaredRecords : public ir::Rewriter {
 public:
  using Params = std::map<std::int64_t, ir::PrimParam>;
  DeclaredRecords(ir::Context& ctx, const ir::PrimFunc* f, const Params& params,
                  const std::unordered_map<const ir::Var*, std::int64_t>& tensors, const ir::VarMap& pointers)
      : Rewriter(ctx), f_(f), params_(params), tensors_(tensors), pointers_(pointers) {}

 private:
  const ir::Expr* visit_expr(const ir::Expr* e) override {
    if (e == f_->params[2].var) return ctx_.int_imm(e->dtype(), std::int64_t(params_.size()));
    if (const auto* c = as<ir::Call>(e); c && ir::is_call_of(c, ir::intrin::Isnullptr)) return ctx_.bool_imm(false);
    const auto read = field_read(e);
    const ir::Expr* value = read ? value_of(*read, e->dtype()) : nullptr;
    return value ? value : default_expr(e);
  }

  const ir::Expr* value_of(const FieldRead& read, ir::DType dtype) const {
    if (read.record == f_->params[1].var) return read.field == kTypeIndex ? kind_of(read.index, dtype) : nullptr;
    const auto* var = as<ir::Var>(read.record);
    if (!var) return nullptr;
    if (const auto list = pointers_.find(var); list != pointers_.end() && read.field == kItem) {
      const auto pointer = field_read(list->second);
      const ir::Buffer* buffer = pointer ? buffer_of(as<ir::Var>(pointer->record)) : nullptr;
      if (!buffer || read.index < 0 || std::size_t(read.index) >= buffer->shape.size()) return nullptr;
      if (pointer->field == kShapeList) return ir::cast_to(ctx_, dtype, buffer->shape[std::size_t(read.index)]);
      return pointer->field == kStrideList ? stride_of(buffer, std::size_t(read.index), dtype) : nullptr;
    }
    const ir::Buffer* buffer = buffer_of(var);
    return buffer ? of_tensor(buffer, read.field, dtype) : nullptr;
  }

  const ir::Expr* of_tensor(const ir::Buffer* buffer, std::int64_t field, ir::DType dtype) const {
    // Compilers write bools and elements of less than a byte in more than one way.
    const bool in_bytes = !buffer->dtype.is_bool() && buffer->dtype.bits >= 8;
    if (!in_bytes && (field == kTypeCode || field == kTypeBits || field == kTypeLanes)) return nullptr;
    switch (field) {
      case kRank:
        return ctx_.int_imm(dtype, std::int64_t(buffer->shape.size()));
      case kTypeCode:
        return ctx_.int_imm(dtype, std::int64_t(buffer->dtype.code));
      case kTypeBits:
        return ctx_.int_imm(dtype, buffer->dtype.bits);
      case kTypeLanes:
        return ctx_.int_imm(dtype, buffer->dtype.lanes);
      case kByteOffset:
      case kDevice:
        return ctx_.int_imm(dtype, 0);
      default:
        return nullptr;
    }
  }

  const ir::Expr* stride_of(const ir::Buffer* buffer, std::size_t dim, ir::DType dtype) const {
    if (!buffer->strides.empty()) return ir::cast_to(ctx_, dtype, buffer->strides[dim]);
    const ir::Expr* stride = ctx_.int_imm(dtype, 1);
    for (std::size_t i = dim + 1; i < buffer->shape.size(); ++i)
      stride = ir::mul(ctx_, stride, ir::cast_to(ctx_, dtype, buffer->shape[i]));
    return stride;
  }

  const ir::Expr* kind_of(std::int64_t index, ir::DType dtype) const {
    const auto it = params_.find(index);
    if (it == params_.end()) return nullptr;
    const ir::DType t = it->second.buffer ? ir::DType{} : it->second.var->dtype();
    return ctx_.int_imm(dtype, it->second.buffer ? kTensorArgument
                               : t.is_bool()     ? kBoolArgument
                               : t.is_float()    ? kFloatArgument
                                                 : kIntArgument);
  }

  const ir::Buffer* buffer_of(const ir::Var* handle) const {
    const auto it = handle ? tensors_.find(handle) : tensors_.end();
    const auto param = it == tensors_.end() ? params_.end() : params_.find(it->second);
    return param == params_.end() ? nullptr : param->second.buffer;
  }

  const ir::PrimFunc* f_;
  const Params& params_;
  const std::unordered_map<const ir::Var*, std::int64_t>& tensors_;
  const ir::VarMap& pointers_;  // of lists of dims: the reads that give them
};

bool is_true(const ir::Expr* e) {
  const auto* n = as<ir::IntImm>(e);
  return n && n->value != 0;
}

class Unpacking {
 public:
  Unpacking(ir::Context& ctx, const ir::PrimFunc* f) : ctx_(ctx), f_(f), records_(f->params[1].var) {}

  const ir::PrimFunc* run() {
    ir::walk(f_->body, [&](const ir::Node* n) {
      if (const auto* b = as<ir::BindStmt>(n)) bind(b);
      if (const auto* a = as<ir::AssertStmt>(n)) checks_.push_back(a);
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
    const ir::Stmt* body = memory_.size() > 1 ? ctx_.seq_stmt(memory_) : body_;
    body = with_checks(ir::substitute(ctx_, body, devices_));
    const ir::PrimFunc* made = ctx_.prim_func(params, ctx_.tuple_type({}), body, f_->attrs, f_->s_tir);
    for (const ir::Var* v : ir::free_vars(made))
      if (v->type->kind != ir::TypeKind::Pointer) return nullptr;  // pointers come with the buffers
    return made;
  }

 private:
  // Checks that do not hold for whatever the buffers declare, and dims that are read from another place than they are
  // declared at: the packed function fails, or runs with other dims, where its form before did not.
  const ir::Stmt* with_checks(const ir::Stmt* body) {
    DeclaredRecords records(ctx_, f_, params_, arguments_, lists_);
    ir::Analyzer analyzer(ctx_);
    std::unordered_set<const ir::Var*> known;  // numbers that the plain form has too
    for (const auto& [index, p] : params_) {
      if (!p.buffer) known.insert(p.var);
      for (const ir::Expr* dim : p.buffer ? p.buffer->shape : ir::Span<const ir::Expr*>())
        for (const ir::Var* v : ir::free_vars(dim)) known.insert(v);
    }
    ir::VarMap kinds;
    for (const ir::BindStmt* b : kinds_) kinds[b->var] = records.rewrite(b->value);
    std::vector<const ir::Stmt*> all;
    const auto add = [&](const ir::Expr* cond, std::string_view kind, std::span<const std::string_view> parts) {
      const ir::Expr* simple = analyzer.simplify(ir::substitute(ctx_, cond, kinds));
      bool open = false;
      ir::walk(simple, [&](const ir::Node* n) {
        const auto* v = as<ir::Var>(n);
        open = open || field_read(n) || (v && !known.contains(v));
        return !open;
      });
      if (!open && !is_true(simple)) all.push_back(ctx_.assert_stmt(simple, kind, parts));
    };
    for (const auto& [dim, read] : dims_) {
      const ir::Expr* value = records.rewrite(read);
      if (value == read) continue;
      ir::PrintOptions in_kernels;
      in_kernels.tensor_ir = true;
      const std::string text = fmt::format("`{}` is read as {}", dim->name, ir::print_expr(read, in_kernels));
      const std::string_view parts[] = {ctx_.str(text)};
      add(ir::compare(ctx_, ir::BinaryKind::EQ, dim, ir::cast_to(ctx_, dim->dtype(), value)), "ValueError", parts);
    }
    for (const ir::AssertStmt* a : checks_)
      add(ir::substitute(ctx_, records.rewrite(a->cond), devices_), a->error_kind, a->message_parts);
    all.push_back(body);
    return ctx_.seq_stmt(all);
  }

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
    const auto read = field_read(n);
    if (!read || read->field != field || (record && read->record != record)) return std::nullopt;
    return read->index;
  }

  void bind(const ir::BindStmt* b) {
    if (field_of(b->value, nullptr, kDevice)) devices_[b->var] = ctx_.int_imm(b->var->dtype(), 0);
    if (field_of(b->value, records_, kTypeIndex)) kinds_.push_back(b);
    if (const auto item = field_read(b->value); item && item->field == kItem) dims_.emplace_back(b->var, b->value);
    const auto index = argument_in(b->value);
    if (!index) return;
    const bool reads_a_field = !field_in(b->value) && arguments_in(b->value);
    if (reads_a_field) {  // a list of dims or strides
      const auto read = field_read(b->value);
      if (read && (read->field == kShapeList || read->field == kStrideList)) lists_[b->var] = b->value;
      return;
    }
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
  ir::VarMap lists_;    // pointers to shapes and strides: the reads that give them
  std::vector<std::pair<const ir::Var*, const ir::Expr*>> dims_;  // that are read from lists
  std::vector<const ir::BindStmt*> kinds_;                        // of arguments, that are read
  std::vector<const ir::AssertStmt*> checks_;
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
