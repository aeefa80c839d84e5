// Features that a spelling cannot express: the printer still writes readable text, but it does not read back the same.
#include <fmt/format.h>

#include <set>

#include "ir/print/printer_impl.h"
#include "rldb/ir/op/call_packed.h"
#include "rldb/ir/op/call_tir.h"
#include "rldb/ir/op_name.h"
#include "rldb/ir/walk.h"

namespace rldb::ir {
namespace print_detail {
namespace {

class Finder {
 public:
  Finder(const Module* m, Syntax syntax) : module_(m), syntax_(syntax) {}

  std::vector<std::string> run() {
    if (syntax_ == Syntax::Rfc) {
      if (!module_->global_infos.empty()) add("module", "global infos");
      if (!module_->attrs.empty()) add("module", "module attributes");
    }
    for (const ModuleEntry& e : module_->entries) {
      where_ = e.name;
      if (const auto* f = as<PrimFunc>(e.function)) prim_func(f);
      if (const auto* f = as<Function>(e.function)) function(f);
      if (isa<ExternFunc>(e.function) && syntax_ == Syntax::Rfc) add(where_, "an external function as a member");
      if (isa<OpaqueFunc>(e.function) && syntax_ != Syntax::Current) add(where_, "a Python function as a member");
    }
    PrintOptions options;
    options.syntax = syntax_;
    Printer p(options, module_);
    p.print_module();
    if (p.was_cut()) add("module", fmt::format("nesting deeper than {}", kMaxDepth));
    return std::move(out_);
  }

 private:
  void add(std::string_view where, std::string_view what) {
    std::string text = fmt::format("{}: {}", where, what);
    if (seen_.insert(text).second) out_.push_back(std::move(text));
  }

  void prim_func(const PrimFunc* f) {
    if (!f->s_tir && syntax_ != Syntax::Current) add(where_, "a PrimFunc that is not s_tir");
    for (const PrimParam& p : f->params)
      if (p.buffer != nullptr) buffer(p.buffer);
    walk(f, [this](const Node* n) {
      if (syntax_ == Syntax::Current) {
        if (isa<AllocateStmt>(n)) add(where_, "T.allocate");
        if (isa<AllocateConstStmt>(n)) add(where_, "T.allocate_const");
      } else {
        old_statement(n);
      }
      return !isa<Expr>(n) || isa<PrimFunc>(n);
    });
  }

  // Features that TensorIR lacked before 2026.
  void old_statement(const Node* n) {
    if (const auto* a = as<AssertStmt>(n)) {
      if (a->error_kind != "RuntimeError") add(where_, fmt::format("the error kind {} of an assert", a->error_kind));
      if (a->message_parts.size() != 1) add(where_, "the parts of an assert's message");
    }
    if (const auto* b = as<AllocBuffer>(n)) {
      if (!b->annotations.empty())
        add(where_, fmt::format("the annotations of T.alloc_buffer (`{}`)", b->buffer->name));
      buffer(b->buffer);
    }
    if (const auto* b = as<DeclBuffer>(n)) buffer(b->buffer);
    if (const auto* b = as<SBlock>(n))
      for (const Buffer* x : b->alloc_buffers) buffer(x);
  }
  void buffer(const Buffer* b) {
    if (b->layout != nullptr && syntax_ != Syntax::Current) add(where_, fmt::format("the layout of `{}`", b->name));
  }

  void function(const Function* f) {
    if (syntax_ != Syntax::Rfc) return;
    walk(f, [this](const Node* n) {
      if (const auto* fn = as<Function>(n)) {
        for (const Var* p : fn->params) type(p->type);
        type(fn->ret_type);
      } else if (const auto* b = as<Binding>(n)) {
        type(b->var->type);
        binding(b);
      } else if (const auto* c = as<Call>(n)) {
        call(c);
      }
      return true;
    });
  }

  void binding(const Binding* b) {
    if (b->is_match_cast()) {
      if (!matches_shape_only(b)) add(where_, "match_cast to anything but a shape");
      return;
    }
    // The annotation is the result type of such a call.
    const auto* c = as<Call>(b->value);
    if (c == nullptr || !isa<ExternFunc>(c->callee) || c->ty_args.empty()) return;
    typed_calls_.insert(c);
    bool said = c->ty_args.size() == 1 && c->ty_args[0] == b->var->type && b->var->type->kind != TypeKind::Any &&
                !is_nothing(b->var->type);
    if (!said) add(where_, "ty_args of call_packed");
  }

  // R.Tuple without fields is no annotation in this spelling.
  static bool is_nothing(const Type* t) {
    const auto* tuple = as<TupleType>(t);
    return tuple != nullptr && tuple->fields.empty();
  }

  void type(const Type* t) {
    if (const auto* x = as<TensorType>(t)) {
      if (!x->has_shape && x->shape_var == nullptr && x->ndim != kUnknownNdim)
        add(where_, "a rank without a shape (ndim=)");
      if (x->vdevice != nullptr) add(where_, "vdevice");
    } else if (const auto* s = as<ShapeType>(t)) {
      if (s->has_values || s->ndim != kUnknownNdim) add(where_, "the values or rank of a shape in its annotation");
    } else if (const auto* tuple = as<TupleType>(t)) {
      for (const Type* f : tuple->fields) type(f);
    } else if (const auto* f = as<FuncType>(t)) {
      if (!f->opaque) add(where_, "the signature of a callable");
    }
  }

  void call(const Call* c) {
    if (c->ty_args.empty()) return;
    const auto* op = as<Op>(c->callee);
    if (op == nullptr) {
      bool bound = typed_calls_.count(c) != 0;
      if (!bound) add(where_, "ty_args of call_packed");
      return;
    }
    if (op->name != op::CallTir && op->name != op::CallDpsPacked) {
      add(where_, fmt::format("ty_args of {}", op->name));
      return;
    }
    const auto* x = c->ty_args.size() == 1 ? as<TensorType>(c->ty_args[0]) : nullptr;
    if (x == nullptr) {
      add(where_, fmt::format("{} with several outputs", op::short_name(op->name)));
    } else if (!x->has_shape && x->shape_var == nullptr) {
      add(where_, fmt::format("{} with an output of unknown shape", op::short_name(op->name)));
    } else {
      type(x);
    }
  }

  const Module* module_;
  Syntax syntax_;
  std::string_view where_;
  std::vector<std::string> out_;
  std::set<std::string> seen_;
  std::unordered_set<const Call*> typed_calls_;  // calls of packed functions whose type is in the binding's annotation
};

}  // namespace
}  // namespace print_detail

std::vector<std::string> unsayable(const Module* m, Syntax syntax) { return print_detail::Finder(m, syntax).run(); }

}  // namespace rldb::ir
