// Statements of TensorIR.
#include <fmt/format.h>

#include <algorithm>

#include "frontend/script/module.h"
#include "frontend/script/relax/relax.h"
#include "frontend/script/tir/tir.h"
#include "frontend/script/value/convert.h"
#include "frontend/script/value/types.h"
#include "frontend/script/value/unsupported.h"
#include "rldb/ir/intrinsic/control.h"
#include "rldb/ir/printer.h"
#include "rldb/ir/scalar.h"
#include "rldb/source/diagnostic_script_expected.h"
#include "rldb/source/diagnostic_script_relax.h"
#include "rldb/source/diagnostic_script_tir.h"
#include "rldb/source/diagnostic_syntax.h"
#include "rldb/source/diagnostic_verify.h"
#include "rldb/support/cancel.h"

namespace rldb::frontend::script {

const ir::Stmt* close_sequence(Reader& r, Sequence& s) {
  for (std::size_t i = s.wrappers.size(); i-- > 0;) {
    const std::size_t from = s.wrappers[i].from;
    const ir::Stmt* body = r.ctx.seq_stmt(std::span(s.statements).subspan(from));
    const ir::Stmt* wrapped = s.wrappers[i].wrap(r.ctx, body);
    s.statements.resize(from);
    s.statements.push_back(wrapped);
  }
  return r.ctx.seq_stmt(s.statements);
}

const ir::Stmt* collect_sequence(Reader& r, const std::function<void()>& read) {
  Sequence s;
  Sequence* const before = std::exchange(r.fn->tir->sequence, &s);
  read();
  const ir::Stmt* out = close_sequence(r, s);
  r.fn->tir->sequence = before;
  return out;
}

const ir::Stmt* read_tir_block(Reader& r, Node block) {
  r.fn->scope.enter(ScopeKind::Block);
  const ir::Stmt* out = collect_sequence(r, [&] { read_tir_statements(r, block); });
  r.fn->scope.leave();
  return out;
}

namespace {

class StatementReader {
 public:
  explicit StatementReader(Reader& r) : r_(r), fn_(*r.fn), tir_(*r.fn->tir) {}

  void statement(Node s) {
    support::poll();
    switch (cst::statement_kind(s.kind())) {
      case cst::StatementKind::Binding:
      case cst::StatementKind::AxisBinding:
        return binding(s);
      case cst::StatementKind::BufferStore:
        return store(s);
      case cst::StatementKind::AugmentedAssignment:
        return augmented(s);
      case cst::StatementKind::Declaration:
        return declaration(s);
      case cst::StatementKind::ExpressionStatement:
        return expression(s);
      case cst::StatementKind::Loop:
        return read_loop(r_, s);
      case cst::StatementKind::WhileLoop:
        return while_loop(s);
      case cst::StatementKind::IfStatement:
        return if_statement(s);
      case cst::StatementKind::SBlock:
        return read_sblock(r_, s);
      case cst::StatementKind::InitBlock:
        return read_init(r_, s);
      case cst::StatementKind::WithStatement:
        return with_statement(s);
      case cst::StatementKind::AssertStatement:
        return assertion(s);
      case cst::StatementKind::ReturnStatement:
        return return_statement(s);
      case cst::StatementKind::BreakStatement:
        return tir_.emit(at(r_.ctx.evaluate(r_.ctx.intrin(ir::DType::Int(32), ir::intrin::BreakLoop, {})), s));
      case cst::StatementKind::ContinueStatement:
        return tir_.emit(at(r_.ctx.evaluate(r_.ctx.intrin(ir::DType::Int(32), ir::intrin::ContinueLoop, {})), s));
      case cst::StatementKind::PassStatement:
        return tir_.emit(at(r_.ctx.evaluate(r_.ctx.i32(0)), s));
      case cst::StatementKind::UnexpectedIndent:
        for (Node c : s.children()) statement(c);
        return;
      case cst::StatementKind::MacroDefinition:
        return define_macro(r_, s);
      case cst::StatementKind::FunctionDefinition:
        return undecorated_function(r_, s, "put `@T.macro` above it: its body is read where it is called");
      case cst::StatementKind::Damage:
        return;
#define RLDB_CST_STATEMENT(Kind, name, form, in_module, in_relax, in_tir, at_prompt) \
  RLDB_CST_ANSWER(CASE, in_tir, case cst::StatementKind::Kind:)
#include "frontend/cst/node_kinds.def"
      case cst::StatementKind::Other:
        unsupported_statement(r_, s, "in a TensorIR function");
    }
  }

 private:
  template <class T>
  const T* at(const T* stmt, Node s) {
    return r_.at(stmt, s);
  }

  // ---- names ----

  std::vector<Node> target_nodes(Node target) {
    std::vector<Node> out;
    if (target.is(Kind::Tuple) || target.is(Kind::List)) {
      for (Node t : target.children()) out.push_back(t);
    } else if (target.is(Kind::Parenthesized)) {
      out.push_back(target.child(Field::Value));
    } else {
      out.push_back(target);
    }
    return out;
  }

  Val eval_named(const std::vector<Node>& targets, Node value) {
    std::vector<std::string_view> names;
    for (Node t : targets) names.push_back(t.text());
    std::swap(tir_.targets, names);
    const Val v = eval(r_, value);
    std::swap(tir_.targets, names);
    return v;
  }

  void binding(Node s) {
    const Node target = s.child(Field::Target), value = s.child(Field::Value), annotation = s.child(Field::Annotation);
    if (has_several_targets(s)) {
      r_.error(s, diag::UnsupportedSyntax, "a chain of assignments");
      return;
    }
    const std::vector<Node> targets = target_nodes(target);
    const bool several = target.is(Kind::Tuple) || target.is(Kind::List);
    // n, m = T.int64(), T.int64(): each value under its own name.
    if (several && (value.is(Kind::Tuple) || value.is(Kind::List))) {
      std::vector<Node> values;
      for (Node v : value.children()) values.push_back(v);
      if (values.size() != targets.size()) {
        r_.error(target, diag::UnpackCount, targets.size(), values.size());
        return;
      }
      std::vector<Val> all;
      for (std::size_t i = 0; i < targets.size(); ++i) all.push_back(eval_one(targets[i], values[i]));
      for (std::size_t i = 0; i < targets.size(); ++i) assign(s, targets[i], all[i], values[i], {});
      return;
    }
    if (!several) {
      if (const auto dtype = symbol_declaration(r_, value); dtype && targets[0].is(Kind::Identifier)) {
        define_symbol(r_, targets[0], *dtype);
        return;
      }
    }
    const Val v = several ? eval_named(targets, value) : eval_one(targets[0], value);
    if (!several) return assign(s, targets[0], v, value, annotation);
    unpack(s, target, targets, v, value);
  }

  Val eval_one(Node target, Node value) {
    if (const auto dtype = symbol_declaration(r_, value); dtype && target.is(Kind::Identifier)) {
      Val v = Val::of(define_symbol(r_, target, *dtype));
      v.fresh = true;
      return v;
    }
    return eval_named({target}, value);
  }

  void unpack(Node s, Node target, const std::vector<Node>& targets, const Val& v, Node value) {
    std::span<const Val> items = v.items;
    if (v.is(ValKind::Frame)) {
      const auto* frame = static_cast<const FrameSpec*>(v.pointer);
      push_frame(*frame);
      items = frame->result.items;
    } else if (!v.is_sequence()) {
      if (!v.poison()) r_.error(value, diag::CannotUnpack, describe(r_, v));
      for (Node t : targets) fn_.scope.define(t.text(), Val(), t.span());
      return;
    }
    if (unpack_starred(s, targets, items, value)) return;
    if (items.size() != targets.size()) {
      r_.error(target, diag::UnpackCount, targets.size(), items.size());
      for (Node t : targets) fn_.scope.define(t.text(), Val(), t.span());
      return;
    }
    for (std::size_t i = 0; i < targets.size(); ++i) assign(s, targets[i], items[i], value, {});
  }

  // i, *js = ...: js takes the rest. False when no target has a star, or there are too few items.
  bool unpack_starred(Node s, const std::vector<Node>& targets, std::span<const Val> items, Node value) {
    const auto star = std::find_if(targets.begin(), targets.end(), [](Node t) { return t.is(Kind::Splat); });
    if (star == targets.end() || items.size() + 1 < targets.size()) return false;
    const std::size_t at = std::size_t(star - targets.begin()), count = items.size() + 1 - targets.size();
    for (std::size_t i = 0; i < at; ++i) assign(s, targets[i], items[i], value, {});
    const std::vector<Val> rest(items.begin() + std::ptrdiff_t(at), items.begin() + std::ptrdiff_t(at + count));
    assign(s, star->child(Field::Value), Val::of_list(ValKind::List, r_.keep(rest)), value, {});
    for (std::size_t i = at + 1; i < targets.size(); ++i) assign(s, targets[i], items[i - 1 + count], value, {});
    return true;
  }

  void push_frame(const FrameSpec& frame) {
    tir_.sequence->wrappers.push_back({tir_.sequence->statements.size(), frame.wrap});
  }

  static bool is_alias(const Val& v) {
    constexpr bool Yes = true, No = false;
    switch (v.kind) {
#define RLDB_VAL_KIND(Kind, as_scalar, as_value, as_type, as_dtype, in_relax, alias_in_tir, statement_in_tir) \
  case ValKind::Kind:                                                                                         \
    return alias_in_tir || v.fresh;
#include "frontend/script/value/val_kind.def"
    }
    return v.fresh;
  }

  void assign(Node s, Node target, const Val& v, Node value, Node annotation) {
    if (target.is(Kind::Subscript)) {
      const Val object = eval(r_, target.child(Field::Object));
      if (!object.poison()) r_.error(target, diag::UnsupportedSyntax, "an access among several targets");
      return;
    }
    if (!target.is(Kind::Identifier)) {
      r_.error(target, diag::BadTarget);
      return;
    }
    if (redefines(target, v)) return;
    if (v.is(ValKind::Frame)) {
      const auto* frame = static_cast<const FrameSpec*>(v.pointer);
      push_frame(*frame);
      fn_.scope.define(target.text(), frame->result, target.span());
      return;
    }
    if (v.is(ValKind::Lambda) && value.is(Kind::Lambda)) {
      r_.error(value, diag::UnsupportedSyntax, "a lambda bound to a name in a TensorIR function");
      fn_.scope.define(target.text(), Val(), target.span());
      return;
    }
    if (v.is(ValKind::Nothing)) {
      fn_.scope.define(target.text(), Val(), target.span());
      r_.error(value, diag::NoValue, value.text().substr(0, value.text().find('(')));
      return;
    }
    if (const Val* known = find_name(r_, target.text()); known && stores_into(*known, v)) {
      const Val zero = Val::of_int(0);
      emit_store(r_, known->buffer(), {&zero, 1}, v, s, value);
      return;
    }
    const bool binds = annotation && is_let(annotation) && v.is(ValKind::Expr);  // `x: T.let[T.int32] = tx`
    if (!v.is(ValKind::Region) && !binds && is_alias(v)) {
      fn_.scope.define(target.text(), v, target.span());
      return;
    }
    if (tir_.mutable_names && !(annotation && is_let(annotation)) && !is_pointer(v))
      return scalar(s, target, v, value, annotation);
    let(s, target, v, value, annotation);
  }

  bool is_axis(const Val& v) const {
    if (tir_.blocks.empty()) return false;
    const std::vector<ir::IterVar>& axes = tir_.blocks.back()->axes;
    return std::any_of(axes.begin(), axes.end(), [&](const ir::IterVar& a) { return a.var == v.expr(); });
  }

  // Reports a name that the same block of the text has already defined, as TVM's table of variables does. An inner
  // block may define it again, and an assignment may be a store.
  bool redefines(Node target, const Val& v) {
    const Scope::Entry* known = fn_.scope.find_here(target.text());
    if (!known || v.poison() || known->value.poison()) return false;
    const bool axes = is_axis(v) && is_axis(known->value);
    if (!axes && (v.fresh || known->value.fresh)) return false;
    if (stores_into(known->value, v) || known->value.is(ValKind::Module) || v.is(ValKind::Path)) return false;
    if (known->value.expr() ? known->value.expr() == v.expr() : known->value.kind != v.kind && is_alias(v))
      return false;
    source::Message m = source::message(diag::VerifyRedefined, target.text());
    m.notes.push_back({known->span, "defined before here"});
    r_.report(target.span(), std::move(m));
    fn_.scope.define(target.text(), Val(), target.span());  // later uses are not reported again
    return true;
  }

  // x = e where x is a scalar of its own (today: any buffer of one element) is a store.
  bool stores_into(const Val& known, const Val& v) const {
    if (!known.is(ValKind::Buffer)) return false;
    const ir::Buffer* b = known.buffer();
    if (tir_.scalars.count(b)) return true;
    const bool one = b->shape.size() == 1 && ir::is_const(b->shape[0], 1);
    return tir_.mutable_names && one && (v.is_number() || (v.expr() && !v.fresh && is_scalar_expr(v.expr())));
  }
  bool is_let(Node annotation) const {
    return path_of(r_, annotation.is(Kind::Subscript) ? annotation.child(Field::Object) : annotation).rest == "let";
  }
  static bool is_pointer(const Val& v) { return v.expr() && v.expr()->type->kind == ir::TypeKind::Pointer; }

  // x = e, x: T.int32 = e: a buffer of one element, which later assignments write.
  void scalar(Node s, Node target, const Val& v, Node value, Node annotation) {
    const ir::Type* type = annotation ? read_type(r_, annotation) : nullptr;
    if (annotation && !type) return fn_.scope.define(target.text(), Val(), target.span());
    if (type && type->kind != ir::TypeKind::Prim) return let(s, target, v, value, annotation);
    const auto* prim = ir::as<ir::PrimType>(type);
    const ir::Expr* e = to_scalar(r_, v, value, prim ? prim->dtype : ir::DType::Void());
    if (!e) return fn_.scope.define(target.text(), Val(), target.span());
    if (e->type->kind != ir::TypeKind::Prim || e->dtype().is_handle() || e->dtype().is_void())
      return let(s, target, Val::of(e), value, annotation);
    const ir::Buffer* b = declare_scalar(s, target, prim ? prim->dtype : e->dtype());
    const Val zero = Val::of_int(0);
    emit_store(r_, b, {&zero, 1}, Val::of(e), s, value);
  }

  const ir::Buffer* declare_scalar(Node s, Node target, ir::DType dtype) {
    const ir::Expr* one = r_.ctx.i32(1);
    const ir::Buffer* b = at(r_.ctx.buffer(target.text(), {&one, 1}, dtype, "local"), target);
    tir_.scalars.insert(b);
    tir_.emit(at(r_.ctx.alloc_buffer(b), s));
    fn_.scope.define(b->name, Val::of(b), target.span());
    return b;
  }

  // No value of a kernel is a tuple: `x: [T.handle] = ...` is an error, and the value tells the type.
  const ir::Type* mismatched(Node target, Node annotation, const ir::Type* type, const Val& v) {
    const std::string found = v.is(ValKind::Expr) ? ir::print_type(v.expr()->type) : "a scalar";
    r_.error(annotation, diag::AnnotationMismatch, target.text(), ir::print_type(type), found);
    return nullptr;
  }

  // x = e, x: T.let[T.float32] = e, x: T.float32 = e
  void let(Node s, Node target, const Val& v, Node value, Node annotation) {
    const ir::Type* type = nullptr;
    if (annotation && path_of(r_, annotation).rest != "let") {
      type = read_type(r_, annotation);
      if (!type) return fn_.scope.define(target.text(), Val(), target.span());
      if (type->kind == ir::TypeKind::Tuple) type = mismatched(target, annotation, type, v);
    }
    const auto* prim = ir::as<ir::PrimType>(type);
    const ir::Expr* e = to_scalar(r_, v, value, prim ? prim->dtype : ir::DType::Void());
    if (!e) return fn_.scope.define(target.text(), Val(), target.span());
    if (prim && e->dtype() != prim->dtype && !e->dtype().is_void() && e->type->kind == ir::TypeKind::Prim) {
      r_.error(annotation, diag::AnnotationMismatch, target.text(), ir::print_type(type), ir::print_type(e->type));
    }
    if (!type) type = e->type == r_.ctx.prim(ir::DType::Handle()) ? r_.ctx.pointer() : e->type;
    const ir::Var* var = at(r_.ctx.var(target.text(), type), target);
    tir_.emit(at(r_.ctx.bind(var, e), s));
    fn_.scope.define(var->name, Val::of(var), target.span());
  }

  // x: T.float32[4, 4]: a local buffer of that shape.
  bool vector_declaration(Node s, Node target, Node annotation) {
    const Path p = path_of(r_, annotation.child(Field::Object));
    const auto dtype = p.space == Space::Tir ? runtime::parse_dtype(p.rest) : std::nullopt;
    if (!dtype || dtype->is_void() || dtype->is_handle()) return false;
    std::vector<const ir::Expr*> shape;
    for (Node c : annotation.children()) {
      if (c.field() != Field::Index) continue;
      const ir::Expr* d = to_scalar(r_, eval(r_, c), c);
      if (!d) {
        fn_.scope.define(target.text(), Val(), target.span());
        return true;
      }
      shape.push_back(d);
    }
    const ir::Buffer* b = at(r_.ctx.buffer(target.text(), shape, *dtype, "local"), target);
    tir_.emit(at(r_.ctx.alloc_buffer(b), s));
    fn_.scope.define(b->name, Val::of(b), target.span());
    return true;
  }

  // x: T.int32: a scalar of its own (new flavour).
  void declaration(Node s) {
    const Node target = s.child(Field::Target), annotation = s.child(Field::Annotation);
    if (annotation.is(Kind::Subscript) && vector_declaration(s, target, annotation)) return;
    const ir::Type* type = read_type(r_, annotation);
    const auto* prim = ir::as<ir::PrimType>(type);
    if (!prim) {
      if (type) r_.error(s.child(Field::Annotation), diag::ExpectedDType, ir::print_type(type));
      return;
    }
    declare_scalar(s, target, prim->dtype);
  }

  // ---- stores ----

  void store(Node s) {
    const Node target = s.child(Field::Target);
    const Val object = eval_indexed(r_, target.child(Field::Object));
    const Node value = s.child(Field::Value);
    if (!object.buffer()) {
      if (!object.poison()) r_.error(target.child(Field::Object), diag::NotABuffer, describe(r_, object));
      eval(r_, value);  // for its own errors
      return;
    }
    const Val access = eval_subscript(r_, target);
    const Val v = eval(r_, value);
    if (access.poison() || v.poison()) return;
    emit_store(r_, object.buffer(), indices_of(access), v, s, value);
  }

  // The indices of an access that was read as a value.
  std::vector<Val> indices_of(const Val& access) {
    if (access.is(ValKind::Region)) return {access.items.begin(), access.items.end()};
    std::vector<Val> out;
    if (const auto* load = ir::as<ir::BufferLoad>(access.expr()))
      for (const ir::Expr* i : load->indices) out.push_back(Val::of(i));
    return out;
  }

  void augmented(Node s) {
    const Node target = s.child(Field::Target), value = s.child(Field::Value);
    std::string_view op = s.child(Field::Operator).text();
    op.remove_suffix(1);
    const Val old = eval(r_, target);
    const Val v = eval(r_, value);
    if (old.poison() || v.poison()) return;
    const ir::Buffer* buffer = old.buffer();
    const auto* load = ir::as<ir::BufferLoad>(old.expr());
    if (load) buffer = load->buffer;
    if (!buffer) {
      r_.error_hint(target, "a name stands for one value; write to a buffer instead", diag::NotABuffer,
                    describe(r_, old));
      return;
    }
    const Val sum = apply_binary(r_, op, old, v, s);
    if (sum.poison()) return;
    std::vector<Val> index = indices_of(old);
    if (old.is(ValKind::Buffer) && !buffer->shape.empty()) index = {Val::of_int(0)};
    emit_store(r_, buffer, index, sum, s, value);
  }

  // ---- other statements ----

  void expression(Node s) {
    const Node value = s.child(Field::Value);
    if (value.is(Kind::String) || value.is(Kind::ConcatenatedString) || value.is(Kind::Ellipsis)) return;
    const Val v = eval_named({}, value);
    switch (v.kind) {
      case ValKind::Nothing:
      case ValKind::Poison:
      case ValKind::None:
        return;
      case ValKind::Frame:
        return push_frame(*static_cast<const FrameSpec*>(v.pointer));
      case ValKind::Tuple:
      case ValKind::List:
        if (v.items.empty()) return;
        break;
#define RLDB_VAL_KIND(Kind, as_scalar, as_value, as_type, as_dtype, in_relax, alias_in_tir, statement_in_tir) \
  RLDB_CST_ANSWER(CASE, statement_in_tir, case ValKind::Kind:)
#include "frontend/script/value/val_kind.def"
        break;
    }
    if (v.fresh) return;
    if (const ir::Expr* e = to_operand(r_, v, value)) tir_.emit(at(r_.ctx.evaluate(e), s));
  }

  const ir::Expr* condition(Node n) {
    const Val v = eval(r_, n);
    return to_scalar(r_, v, n);
  }

  void while_loop(Node s) {
    if (const Node alternative = s.child(Field::Alternative))
      r_.error(alternative, diag::UnsupportedSyntax, "`else` after a loop");
    const ir::Expr* cond = condition(s.child(Field::Condition));
    const ir::Stmt* body = read_tir_block(r_, s.child(Field::Body));
    if (cond) tir_.emit(at(r_.ctx.while_stmt(cond, body), s));
  }

  void if_statement(Node s) {
    std::vector<Node> alternatives;
    for (Node c : s.children())
      if (c.field() == Field::Alternative) alternatives.push_back(c);
    if_chain(s, alternatives, 0);
  }

  void if_chain(Node s, const std::vector<Node>& alternatives, std::size_t next) {
    const Node cond_node = s.child(Field::Condition);
    if (next > 200) {
      r_.error(cond_node, diag::NestedTooDeepText);
      return;
    }
    const Val v = eval(r_, cond_node);
    const bool decided = v.is_number();
    const bool taken = v.integer != 0 || v.floating != 0;
    if (decided && taken) return inline_block(s.child(Field::Consequence));
    const auto other = [&]() {
      if (next >= alternatives.size()) return;
      const Node a = alternatives[next];
      if (a.is(Kind::ElifClause)) {
        if_chain(a, alternatives, next + 1);
      } else {
        inline_block(a.child(Field::Body));
      }
    };
    if (decided) return other();
    const ir::Expr* cond = to_scalar(r_, v, cond_node);
    const ir::Stmt* then_case = read_tir_block(r_, s.child(Field::Consequence));
    const ir::Stmt* else_case = nullptr;
    if (next < alternatives.size()) else_case = collect_sequence(r_, other);
    if (cond) tir_.emit(at(r_.ctx.if_stmt(cond, then_case, else_case), s));
  }

  void inline_block(Node block) {
    fn_.scope.enter(ScopeKind::Block);
    for (Node c : block.children()) statement(c);
    fn_.scope.leave();
  }

  void with_statement(Node s) {
    std::vector<Node> items;
    for (Node c : s.children())
      if (c.is(Kind::WithItem)) items.push_back(c);
    fn_.scope.enter(ScopeKind::Block);
    const ir::Stmt* body = collect_sequence(r_, [&] {
      for (Node item : items)
        if (!with_item(item, s)) return;
      read_tir_statements(r_, s.child(Field::Body));
    });
    fn_.scope.leave();
    tir_.emit(body);
  }

  bool with_item(Node item, Node s) {
    const Node alias = item.child(Field::Alias), value = item.child(Field::Value);
    const std::vector<Node> targets = alias ? target_nodes(alias) : std::vector<Node>();
    const Val v = eval_named(targets, value);
    if (v.poison()) {
      for (Node t : targets) fn_.scope.define(t.text(), Val(), t.span());
      return true;
    }
    if (v.is(ValKind::Loop)) {  // RFC: with T.grid(n) as i:
      read_loop_over(r_, *static_cast<const LoopSpec*>(v.pointer), alias, value, s.child(Field::Body));
      return false;
    }
    // OLD: with T.decl_buffer(...) as B: its declaration already precedes the body.
    if (v.is(ValKind::Buffer) && value.is(Kind::Call)) {
      if (targets.size() == 1) fn_.scope.define(targets[0].text(), v, targets[0].span());
      return true;
    }
    if (!v.is(ValKind::Frame)) {
      r_.error(value, diag::NotAScope, describe(r_, v));
      return true;
    }
    const auto* frame = static_cast<const FrameSpec*>(v.pointer);
    push_frame(*frame);
    if (targets.size() == 1) fn_.scope.define(targets[0].text(), frame->result, targets[0].span());
    if (targets.size() > 1)
      for (std::size_t i = 0; i < targets.size() && i < frame->result.items.size(); ++i)
        fn_.scope.define(targets[i].text(), frame->result.items[i], targets[i].span());
    return true;
  }

  void assertion(Node s) {
    const ir::Expr* cond = condition(s.child(Field::Condition));
    std::string_view kind = "RuntimeError";
    std::vector<std::string_view> parts;
    if (const Node message = s.child(Field::Message)) {
      const Val v = eval(r_, message);
      const auto add = [&](const Val& item) {
        if (const auto text = to_str(r_, item, message)) parts.push_back(*text);
      };
      if (v.is(ValKind::Tuple) && v.items.size() == 2) {
        if (const auto k = to_str(r_, v.items[0], message)) kind = *k;
        if (!v.items[1].is_sequence()) add(v.items[1]);
        if (v.items[1].is_sequence())
          for (const Val& item : v.items[1].items) add(item);
      } else {
        add(v);
      }
    }
    if (cond) tir_.emit(at(r_.ctx.assert_stmt(cond, kind, parts), s));
  }

  void return_statement(Node s) {
    const Node value = s.child(Field::Value);
    const Val v = value ? eval(r_, value) : Val();
    // TVM refuses it too: it would have to leave the function here.
    if (!value || v.is(ValKind::None)) {
      r_.error(s, diag::UnsupportedSyntax, "a `return` without a value in a TensorIR function");
      return;
    }
    const ir::Expr* e = to_scalar(r_, v, value);
    if (e) tir_.emit(at(r_.ctx.evaluate(r_.ctx.intrin(e->dtype(), ir::intrin::Ret, {e})), s));
  }

  Reader& r_;
  FunctionState& fn_;
  TirFunction& tir_;
};

}  // namespace

void read_tir_statements(Reader& r, Node block) {
  StatementReader reader(r);
  for (Node s : block.children()) reader.statement(s);
}

}  // namespace rldb::frontend::script
