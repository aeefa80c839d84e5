// Statements of Relax functions: bindings, dataflow blocks, if, return.
//
// Over 800 lines: one reader over one scope. It should be split along with its folder.
#include <fmt/format.h>

#include <algorithm>

#include "frontend/script/module.h"
#include "frontend/script/relax/relax.h"
#include "frontend/script/symbols.h"
#include "frontend/script/value/convert.h"
#include "frontend/script/value/types.h"
#include "frontend/script/value/unsupported.h"
#include "rldb/ir/block_builder.h"
#include "rldb/ir/op_name.h"
#include "rldb/ir/printer.h"
#include "rldb/ir/size.h"
#include "rldb/ir/type_relation.h"
#include "rldb/source/diagnostic_script.h"
#include "rldb/source/diagnostic_syntax.h"
#include "rldb/source/diagnostic_type.h"
#include "rldb/support/cancel.h"

namespace rldb::frontend::script {

std::optional<ir::DType> symbol_declaration(Reader& r, Node value) {
  if (!value.is(Kind::Call)) return std::nullopt;
  const Node function = value.child(Field::Function);
  if (function.text() == "TypeVar" || function.text() == "typing.TypeVar") return ir::DType::Int(64);
  const Path p = path_of(r, function);
  if (p.space != Space::Tir) return std::nullopt;
  const Node arguments = value.child(Field::Arguments);
  if (p.rest == "var") {  // RFC: T.var("int32"); T.var("n") names the variable
    ir::DType t = ir::DType::Int(64);
    for (Node a : arguments.children())
      if (a.is(Kind::String))
        if (const auto given = runtime::parse_dtype(eval(r, a).text)) t = *given;
    return t;
  }
  if (!arguments.children().empty()) return std::nullopt;
  const auto t = runtime::parse_dtype(p.rest);
  return t && !t->is_void() && !t->is_handle() ? t : std::nullopt;
}

const ir::Var* define_symbol(Reader& r, Node name, ir::DType dtype) {
  for (FunctionState* f = r.fn; f; f = f->outer) {
    const auto it = f->symbols.find(name.text());
    if (it == f->symbols.end()) continue;
    const ir::Var* v = it->second.var;
    if (v->dtype() != dtype) {
      source::Message m =
          source::message(diag::SymbolDType, name.text(), runtime::to_string(dtype), runtime::to_string(v->dtype()));
      m.notes.push_back({it->second.span, "named by the signature here"});
      r.report(name.span(), std::move(m));
    }
    r.fn->scope.define(v->name, Val::of(v), name.span());
    return v;
  }
  const ir::Type* type = r.ctx.prim(dtype);
  const bool remembered = r.memo && r.memo->function() == r.fn;
  const ir::Var* v = remembered ? r.memo->take_variable(name.text(), type, false) : nullptr;
  if (!v) v = r.ctx.var(name.text(), type);
  r.at(v, name);
  r.fn->scope.define(v->name, Val::of(v), name.span());
  return v;
}

namespace {

// Which statement of a dataflow block makes which output.
struct Outputs {
  std::unordered_map<std::string_view, std::size_t> last;  // output name -> last statement that binds it
  std::size_t statement = 0;                               // the one being read
};

class BodyReader {
 public:
  explicit BodyReader(Reader& r)
      : r_(r), fn_(*r.fn), body_(*r.fn->body), memo_(r.memo && r.memo->function() == r.fn ? r.memo : nullptr) {}

  BlockResult function_body(Node block) {
    BlockResult result;
    std::vector<Node> statements;
    for (Node s : block.children()) statements.push_back(s);
    for (std::size_t i = 0; i < statements.size(); ++i) {
      const Node s = statements[i];
      if (result.returned) {
        if (s.is(Kind::ReturnStatement)) {
          r_.error(s, diag::SecondReturn);
        } else if (!s.is(Kind::Error) && !s.is(Kind::PassStatement)) {
          r_.error(s, diag::AfterReturn);
        }
        break;
      }
      if (s.is(Kind::ReturnStatement)) {
        result.returned = true;
        result.value = returned_value(s);
      } else if (s.is(Kind::DataflowBlock)) {
        dataflow(s, i + 1 < statements.size() ? statements[i + 1] : Node());
      } else {
        remembered_statement(s);
      }
    }
    return result;
  }

  // A statement at the top of the body or of a dataflow block: may have been read before.
  void remembered_statement(Node s) {
    if (!memo_ || memo_->is_open()) return statement(s);
    const bool beside_damage = cut_short(s);
    const bool adjacent = s.index() == behind_last_;
    behind_last_ = s.row().next;
    if (s.is(Kind::Kept)) {
      if (beside_damage) return memo_->abandon();
      if (memo_->replay(r_, s, body_, adjacent, [this](std::string_view name) { return makes_output(name); })) return;
      if (!s) return;
    }
    memo_->open(s, body_, adjacent);
    statement(s);
    memo_->close(body_, beside_damage);
  }

  void statement(Node s) {
    support::poll();
    switch (cst::statement_kind(s.kind())) {
      case cst::StatementKind::Binding:
        binding(s);
        return;
      case cst::StatementKind::ExpressionStatement:
        expression_statement(s);
        return;
      case cst::StatementKind::IfStatement:
        if_statement(s);
        return;
      case cst::StatementKind::RelaxFunction:
        read_local_function(r_, s, body_.in_dataflow() && !makes_output(s.child(Field::Name).text()));
        return;
      case cst::StatementKind::PrimFunc:
        // Its name is poisoned: uses of it are no further errors.
        fn_.scope.define(s.child(Field::Name).text(), Val(), s.child(Field::Name).span());
        r_.error(s.child(Field::Name), diag::InlinePrimFunc, s.child(Field::Name).text());
        return;
      case cst::StatementKind::DataflowBlock:
        if (body_.in_dataflow()) {
          r_.error(header_of(s), diag::NestedDataflow);
          poison_bindings(s);
        } else {
          dataflow(s, {});
        }
        return;
      case cst::StatementKind::ReturnStatement:
        r_.error_hint(s,
                      body_.in_dataflow() ? "name the value in `R.output(...)` and return it after the block"
                                          : "bind the value to a name in both branches, and return it after the `if`",
                      diag::MisplacedReturn);
        return;
      case cst::StatementKind::UnexpectedIndent:
        for (Node c : s.children()) statement(c);
        return;
      case cst::StatementKind::PassStatement:
      case cst::StatementKind::Damage:
      case cst::StatementKind::ImportStatement:
      case cst::StatementKind::ImportFromStatement:
        return;
      case cst::StatementKind::MacroDefinition:
      case cst::StatementKind::FunctionDefinition:
        define_macro(r_, s);
        return;
      case cst::StatementKind::Declaration:
        r_.error(s, diag::DeclarationWithoutValue, s.child(Field::Target).text());
        return;
      case cst::StatementKind::Module:
      case cst::StatementKind::PythonFunction:
      case cst::StatementKind::SBlock:
      case cst::StatementKind::InitBlock:
      case cst::StatementKind::WithStatement:
      case cst::StatementKind::Loop:
      case cst::StatementKind::WhileLoop:
      case cst::StatementKind::TryStatement:
      case cst::StatementKind::AxisBinding:
      case cst::StatementKind::BufferStore:
      case cst::StatementKind::AugmentedAssignment:
      case cst::StatementKind::AssertStatement:
      case cst::StatementKind::BreakStatement:
      case cst::StatementKind::ContinueStatement:
      case cst::StatementKind::RaiseStatement:
      case cst::StatementKind::DeleteStatement:
      case cst::StatementKind::ScopeStatement:
      case cst::StatementKind::Other:
        unsupported_statement(r_, s, "a Relax function");
        return;
    }
  }

 private:
  // A compound statement's first line stands for it in reports.
  Node header_of(Node s) {
    if (const Node item = s.child(Field::Item)) return item;
    if (const Node c = s.child(Field::Condition)) return c;
    if (const Node c = s.child(Field::Target)) return c;
    if (const Node c = s.child(Field::Name)) return c;
    return s;
  }

  const ir::Expr* returned_value(Node s) {
    const Node value = s.child(Field::Value);
    if (!value) return r_.ctx.tuple({});
    const Val v = eval(r_, value);
    if (v.is(ValKind::None)) return r_.ctx.tuple({});
    const ir::Expr* e = to_leaf(r_, v, value);
    if (e && !r_.ctx.spans().get(e->id)) r_.at(e, value);
    return e;
  }

  // ---- bindings ----

  // Is the statement followed by text, on the same line, that fits nowhere?
  static bool cut_short(Node s) {
    const cst::Tree& tree = *s.tree();
    const std::uint32_t next = s.row().next;
    if (next >= tree.rows.size() || tree.rows[next].kind != Kind::Error || tree.rows[next].begin < s.row().end)
      return false;
    return tree.text.substr(s.row().end, tree.rows[next].begin - s.row().end).find('\n') == std::string_view::npos;
  }

  void binding(Node s) {
    const Node target = s.child(Field::Target);
    const Node value = s.child(Field::Value);
    if (target.is(Kind::Tuple) || target.is(Kind::List)) return unpack(s, target, value);
    if (!target.is(Kind::Identifier)) {
      if (target && !target.is(Kind::Missing)) r_.error(target, diag::BadTarget);
      return;
    }
    // What was read of a damaged line is not what was meant.
    if (cut_short(s)) return define_broken(target, nullptr);
    if (value.is(Kind::Binding)) {
      r_.error(value, diag::UnsupportedSyntax, "a chain of assignments");
      fn_.scope.define(target.text(), Val(), target.span());
      return;
    }
    if (const auto dtype = symbol_declaration(r_, value)) return declare(s, target, *dtype);
    if (const Path callee = value.is(Kind::Call) ? path_of(r_, value.child(Field::Function)) : Path();
        callee.space == Space::Relax && (callee.rest == "match_cast" || callee.rest == "match_shape")) {
      match_cast(s, target, value, callee.rest == "match_shape");
      return;
    }
    const Node annotation = s.child(Field::Annotation);
    const ir::Type* type = annotation ? read_type(r_, annotation) : nullptr;
    r_.expected = type;
    r_.expected_at = value.index();
    Val v = eval(r_, value);
    r_.expected = nullptr;
    assign(s, target, v, value, type, annotation);
  }

  void assign(Node s, Node target, const Val& v, Node value, const ir::Type* type, Node annotation) {
    switch (v.kind) {
      case ValKind::Poison:
        // The annotation, when there is one, lets what follows be checked.
        return define_broken(target, type);
      case ValKind::Module:
      case ValKind::Path:
      case ValKind::Lambda:
      case ValKind::DType:
      case ValKind::Dict:
      case ValKind::Type:
      case ValKind::Attr:
        // Parse-time aliases: cls = Module, f = R.add.
        fn_.scope.define(target.text(), v, target.span());
        return;
      case ValKind::Nothing:
      case ValKind::None:
      case ValKind::Ellipsis:
      case ValKind::Bool:
      case ValKind::Int:
      case ValKind::Float:
      case ValKind::Str:
      case ValKind::Tuple:
      case ValKind::List:
      case ValKind::Expr:
      case ValKind::Buffer:
      case ValKind::Region:
      case ValKind::Slice:
      case ValKind::Range:
      case ValKind::Method:
      case ValKind::Loop:
      case ValKind::Frame:
        break;
    }
    if (v.fresh) {  // a meta value
      fn_.scope.define(target.text(), v, target.span());
      return;
    }
    const ir::Expr* e = nullptr;
    if (v.is_sequence() && ir::as<ir::ShapeType>(type)) {
      // RFC: lv3: R.Shape = (n * m,)
      if (const auto dims = to_dims(r_, v, value, ir::DType::Int(64))) e = r_.at(r_.ctx.shape(*dims), value);
    } else {
      e = to_relax(r_, v, value);
    }
    if (!e) return define_broken(target, type);
    bind(s, target, e, type, annotation);
  }

  void define_broken(Node target, const ir::Type* type) {
    ++broken_definitions_;
    fn_.scope.define(target.text(), type ? Val::of(make_var(target, type)) : Val(), target.span());
  }

  bool makes_output(std::string_view name) const {
    if (!outputs_) return false;
    const auto it = outputs_->last.find(name);
    return it != outputs_->last.end() && it->second == outputs_->statement;
  }

  // A variable of a tuple is looked through by its users: after an edit they must see a new one.
  const ir::Var* make_var(Node target, const ir::Type* type, bool is_tuple = false) {
    const bool dataflow = body_.in_dataflow() && !makes_output(target.text());
    if (const ir::Var* v = memo_ && !is_tuple ? memo_->take_variable(target.text(), type, dataflow) : nullptr)
      return r_.at(v, target);
    return r_.at(dataflow ? r_.ctx.dataflow_var(target.text(), type) : r_.ctx.var(target.text(), type), target);
  }

  // The registry does not see the module's devices: the annotation says which one a copy goes to.
  static bool is_device_copy(const ir::Expr* e) {
    const auto* call = ir::as<ir::Call>(e);
    const auto* op = call ? ir::as<ir::Op>(call->callee) : nullptr;
    return op && op->name == op::ToVdevice;
  }

  // Each statement may double what the one before it made: what is immense when written out ends here.
  bool within_limits(Node target, const ir::Type* type) {
    support::poll();
    auto fault = budget_.add(target.text(), type);
    if (!fault) return true;
    // Once all variables together are too much, each further one is.
    const bool together = fault->id == diag::TypesTooLarge;
    if (!together || !together_too_large_) r_.report(target.span(), std::move(*fault));
    together_too_large_ = together_too_large_ || together;
    define_broken(target, nullptr);
    return false;
  }

  void bind(Node s, Node target, const ir::Expr* e, const ir::Type* type, Node annotation) {
    const ir::Type* value_type = e->type;
    if (!type) type = device_copy_type(r_, e, s.child(Field::Value));
    const auto distributed = [](const ir::Type* t) { return t && t->kind == ir::TypeKind::DTensor; };
    const bool checked = (!r_.module || r_.module->check_well_formed) && distributed(type) == distributed(value_type) &&
                         !is_device_copy(e);
    if (checked && type && type != value_type && ir::base_check(r_.ctx, type, value_type) == ir::BaseCheck::FailL0) {
      source::Message m =
          source::message(diag::AnnotationMismatch, target.text(), ir::print_type(type), ir::print_type(value_type));
      r_.report(annotation.span(), std::move(m));
    }
    if (!within_limits(target, type ? type : value_type)) return;
    const ir::Var* v = make_var(target, type ? type : value_type, ir::isa<ir::Tuple>(e));
    body_.append(r_.at(r_.ctx.binding(v, e), s));
    if (const auto* t = ir::as<ir::Tuple>(e)) fn_.tuples[v] = t;
    fn_.scope.define(v->name, Val::of(v), target.span());
  }

  // n = T.int64(): names a symbolic variable; nothing is bound.
  void declare(Node s, Node target, ir::DType dtype) {
    if (const Node annotation = s.child(Field::Annotation)) {
      const ir::Type* type = read_type(r_, annotation);
      if (type && type != r_.ctx.prim(dtype))
        r_.error(annotation, diag::AnnotationMismatch, target.text(), ir::print_type(type),
                 ir::print_type(r_.ctx.prim(dtype)));
    }
    if (memo_) memo_->declared_symbol();
    define_symbol(r_, target, dtype);
  }

  void unpack(Node s, Node target, Node value) {
    std::vector<Node> targets;
    for (Node t : target.children()) targets.push_back(t);
    if (value.is(Kind::Tuple) || value.is(Kind::List)) {
      std::vector<Node> values;
      for (Node v : value.children()) values.push_back(v);
      if (values.size() != targets.size()) {
        r_.error(target, diag::UnpackCount, targets.size(), values.size());
        return poison(targets);
      }
      for (std::size_t i = 0; i < targets.size(); ++i) {
        if (const auto dtype = symbol_declaration(r_, values[i])) {
          if (memo_) memo_->declared_symbol();
          define_symbol(r_, targets[i], *dtype);
        } else {
          assign(s, targets[i], eval(r_, values[i]), values[i], nullptr, {});
        }
      }
      return;
    }
    if (const Path callee = value.is(Kind::Call) ? path_of(r_, value.child(Field::Function)) : Path();
        callee.space == Space::Relax && callee.rest == "match_shape")
      return match_shape_targets(s, targets, value);
    const Val v = eval(r_, value);
    if (v.is_sequence()) {
      if (v.items.size() != targets.size()) {
        r_.error(target, diag::UnpackCount, targets.size(), v.items.size());
        return poison(targets);
      }
      for (std::size_t i = 0; i < targets.size(); ++i) assign(s, targets[i], v.items[i], value, nullptr, {});
      return;
    }
    const ir::Expr* e = to_leaf(r_, v, value);
    if (!e) return poison(targets);
    const auto* tuple = ir::as<ir::TupleType>(e->type);
    if (!tuple || tuple->fields.size() != targets.size()) {
      if (tuple) {
        r_.error(target, diag::UnpackCount, targets.size(), tuple->fields.size());
      } else {
        r_.error(value, diag::NotATuple, describe(r_, v));
      }
      return poison(targets);
    }
    for (std::size_t i = 0; i < targets.size(); ++i) {
      auto field = r_.ctx.tuple_get(e, std::int64_t(i));
      if (field.ok()) assign(s, targets[i], Val::of(static_cast<const ir::Expr*>(*field)), value, nullptr, {});
    }
  }

  void poison(const std::vector<Node>& targets) {
    ++broken_definitions_;
    for (Node t : targets)
      if (t.is(Kind::Identifier)) fn_.scope.define(t.text(), Val(), t.span());
  }

  // ---- match_cast, match_shape ----

  // The type that match_shape's pattern asserts of a value; new names in it are declared.
  const ir::Type* pattern_type(const ir::Expr* value, const Val& pattern, Node at) {
    const auto dims = to_dims(r_, pattern, at, ir::DType::Int(64));
    if (!dims) return nullptr;
    if (value->type->kind == ir::TypeKind::Shape) return r_.ctx.shape_type(*dims);
    const auto* t = ir::as<ir::TensorType>(value->type);
    return r_.ctx.tensor(*dims, t ? t->dtype : ir::DType::Void(), t ? t->vdevice : nullptr);
  }

  // Bare names of the pattern that are not defined become symbolic variables.
  void declare_pattern(Node n) {
    if (n.is(Kind::Identifier)) {
      const Val* known = find_name(r_, n.text());
      if (!known || !known->expr()) define_symbol(r_, n, ir::DType::Int(64));
      return;
    }
    if (n.is(Kind::Tuple) || n.is(Kind::List) || n.is(Kind::Parenthesized))
      for (Node c : n.children()) declare_pattern(c);
  }

  void match_cast(Node s, Node target, Node value, bool is_match_shape) {
    CallNode call{value, value.child(Field::Function), value.child(Field::Arguments), Space::Relax, "match_cast"};
    Arguments args(r_, call);
    const auto subject = args.require(0, "value");
    const ir::Expr* e = subject ? to_leaf(r_, *subject, args.node(0, "value")) : nullptr;
    const ir::Type* type = nullptr;
    Argument* pattern = args.find(1, is_match_shape ? "pattern" : "ty");
    if (!pattern && !is_match_shape) pattern = args.find("struct_info");
    if (!pattern) {
      r_.error(value, diag::MissingArgument, is_match_shape ? "pattern" : "ty", call.shown());
    } else if (is_match_shape) {
      declare_pattern(pattern->node);
      const Val p = args.value(pattern);
      type = e ? pattern_type(e, p, pattern->node) : nullptr;
    } else {
      pattern->used = true;
      type = read_type(r_, pattern->node);
    }
    args.finish();
    const Node annotation = s.child(Field::Annotation);
    const ir::Type* annotated = annotation ? read_type(r_, annotation) : nullptr;
    if (!e || !type) return define_broken(target, annotated ? annotated : type);
    if (ir::base_check(r_.ctx, type, e->type) == ir::BaseCheck::FailL0 &&
        ir::base_check(r_.ctx, e->type, type) == ir::BaseCheck::FailL0) {
      r_.error(pattern->node, diag::CastImpossible, ir::print_type(e->type), ir::print_type(type));
      return define_broken(target, annotated ? annotated : type);
    }
    if (annotated && ir::base_check(r_.ctx, annotated, type) == ir::BaseCheck::FailL0)
      r_.error(annotation, diag::AnnotationMismatch, target.text(), ir::print_type(annotated), ir::print_type(type));
    if (!within_limits(target, type) || (annotated && !within_limits(target, annotated))) return;
    const ir::Var* v = make_var(target, annotated ? annotated : type);
    body_.append(r_.at(r_.ctx.match_cast(v, e, type), s));
    fn_.scope.define(v->name, Val::of(v), target.span());
  }

  // n, m = R.match_shape(x.shape): the targets are the pattern.
  void match_shape_targets(Node s, const std::vector<Node>& targets, Node value) {
    CallNode call{value, value.child(Field::Function), value.child(Field::Arguments), Space::Relax, "match_shape"};
    Arguments args(r_, call);
    const auto subject = args.require(0, "value");
    const ir::Expr* e = nullptr;
    if (subject && subject->is_sequence()) {
      if (const auto dims = to_dims(r_, *subject, args.node(0, "value"), ir::DType::Int(64))) e = r_.ctx.shape(*dims);
    } else if (subject) {
      e = to_leaf(r_, *subject, args.node(0, "value"));
    }
    args.finish();
    if (!e) return poison(targets);
    std::vector<Val> dims;
    for (Node t : targets)
      if (t.is(Kind::Identifier)) dims.push_back(Val::of(define_symbol(r_, t, ir::DType::Int(64))));
    const ir::Type* type = pattern_type(e, Val::of_list(ValKind::Tuple, r_.keep(dims)), value);
    if (!type) return;
    const ir::Var* v = body_.in_dataflow() ? r_.ctx.dataflow_var("_", type) : r_.ctx.var("_", type);
    body_.append(r_.at(r_.ctx.match_cast(v, e, type), s));
  }

  // ---- other statements ----

  void expression_statement(Node s) {
    const Node value = s.child(Field::Value);
    if (value.is(Kind::String) || value.is(Kind::ConcatenatedString)) return;  // a docstring
    if (value.is(Kind::Ellipsis)) return;
    if (value.is(Kind::Call)) {
      const Path p = path_of(r_, value.child(Field::Function));
      if (p.space == Space::Relax) {
        if (p.rest == "func_attr") return func_attr(value);
        if (p.rest == "func_name" || p.rest == "func_ret_value") return;
        if (p.rest == "output" || p.rest == "outputs") {
          if (!body_.in_dataflow()) r_.error(value, diag::OutputOutside);
          return;
        }
        if (p.rest == "match_cast" || p.rest == "match_shape") return bare_match(s, value, p.rest == "match_shape");
      }
    }
    const Val v = eval(r_, value);
    if (v.poison() || v.is(ValKind::Nothing)) return;
    const ir::Expr* e = to_relax(r_, v, value);
    if (!e) return;
    const auto* t = ir::as<ir::TupleType>(e->type);
    const bool is_void = t && t->fields.empty();
    const bool is_call = ir::isa<ir::Call>(e);
    if (is_void || (is_call && e->type->kind == ir::TypeKind::Any)) {
      const ir::Var* v2 = body_.in_dataflow() ? r_.ctx.dataflow_var("_", e->type) : r_.ctx.var("_", e->type);
      body_.append(r_.at(r_.ctx.binding(r_.at(v2, value), e), s));
      return;
    }
    r_.error(value, diag::ValueNotUsed, ir::print_type(e->type));
  }

  void bare_match(Node s, Node value, bool is_match_shape) {
    // Only its effect on symbolic variables is wanted.
    match_cast(s, value.child(Field::Function), value, is_match_shape);
  }

  void func_attr(Node value) {
    CallNode call{value, value.child(Field::Function), value.child(Field::Arguments), Space::Relax, "func_attr"};
    Arguments args(r_, call);
    const auto dict = args.require(0, "attrs");
    args.finish();
    if (!dict || dict->poison()) return;
    if (!dict->is(ValKind::Dict)) {
      r_.error(args.node(0, "attrs"), diag::ExpectedDictionary, describe(r_, *dict));
      return;
    }
    for (const ir::NamedAttr& a : to_fields(r_, *dict, value)) {
      if (ir::find_attr(fn_.attrs, a.name)) {
        r_.error(value, diag::RepeatedKey, a.name);
      } else {
        fn_.attrs.push_back(a);
      }
    }
  }

  // ---- dataflow ----

  static bool is_output(Reader& r, Node s) {
    if (!s.is(Kind::ExpressionStatement)) return false;
    const Node value = s.child(Field::Value);
    if (!value.is(Kind::Call)) return false;
    const Path p = path_of(r, value.child(Field::Function));
    return p.space == Space::Relax && (p.rest == "output" || p.rest == "outputs");
  }

  static void names_in(Node n, std::vector<Node>& out) {
    if (n.is(Kind::Identifier)) out.push_back(n);
    if (n.is(Kind::Attribute)) return names_in(n.child(Field::Object), out);
    for (Node c : n.children())
      if (!c.is(Kind::KeywordArgument) || c.child(Field::Value))
        names_in(c.is(Kind::KeywordArgument) ? c.child(Field::Value) : c, out);
  }

  void collect_outputs(const std::vector<Node>& statements, Node next, Outputs& out) {
    std::vector<Node> names;
    for (Node s : statements)
      if (is_output(r_, s)) {
        names_in(s.child(Field::Value).child(Field::Arguments), names);
        break;
      }
    // A dataflow variable that the return right after the block names is an output too.
    if (next.is(Kind::ReturnStatement)) names_in(next.child(Field::Value), names);
    for (Node n : names) out.last.emplace(n.text(), statements.size());
    if (memo_ && !memo_->is_open()) remember_outputs(out);
    for (std::size_t i = 0; i < statements.size(); ++i) {
      if (statements[i].is(Kind::Kept)) {
        memo_->for_each_output(statements[i], [&](std::string_view name) {
          if (const auto it = out.last.find(name); it != out.last.end()) it->second = i;
        });
        continue;
      }
      // Rejected, but what it binds counts as bound.
      if (statements[i].is(Kind::IfStatement)) {
        for (const std::string_view name : names_bound_in(statements[i]))
          if (const auto it = out.last.find(name); it != out.last.end()) it->second = i;
        continue;
      }
      const Node target =
          statements[i].is(Kind::Binding) ? statements[i].child(Field::Target) : statements[i].child(Field::Name);
      const auto note = [&](Node t) {
        if (const auto it = out.last.find(t.text()); it != out.last.end()) it->second = i;
      };
      if (target.is(Kind::Identifier)) note(target);
      if (target.is(Kind::Tuple) || target.is(Kind::List))
        for (Node t : target.children()) note(t);
    }
  }

  void remember_outputs(const Outputs& outputs) {
    std::vector<std::string> names;
    for (const auto& [name, last] : outputs.last) names.emplace_back(name);
    std::sort(names.begin(), names.end());
    memo_->outputs(std::move(names));
  }

  void dataflow(Node s, Node next) {
    behind_last_ = 0;
    std::vector<Node> statements;
    for (Node c : s.child(Field::Body).children()) statements.push_back(c);
    Outputs outputs;
    collect_outputs(statements, next, outputs);
    outputs_ = &outputs;
    body_.begin_dataflow();
    fn_.scope.enter(ScopeKind::Dataflow);
    bool ended = false;
    std::vector<Node> listed;
    for (std::size_t i = 0; i < statements.size(); ++i) {
      outputs.statement = i;
      if (is_output(r_, statements[i])) {
        if (ended) {
          r_.error(statements[i], diag::SecondOutput);
          continue;
        }
        ended = true;
        names_in(statements[i].child(Field::Value).child(Field::Arguments), listed);
        continue;
      }
      if (ended && !statements[i].is(Kind::Error) && !statements[i].is(Kind::PassStatement)) {
        r_.error(statements[i], diag::AfterOutput);
        // Later bindings still define their names, so that uses of them are no errors of their own.
      }
      if (statements[i].is(Kind::IfStatement)) {
        r_.error(statements[i].child(Field::Condition), diag::IfInDataflow);
        poison_bindings(statements[i]);
        continue;
      }
      remembered_statement(statements[i]);
    }
    outputs_ = nullptr;
    behind_last_ = 0;
    std::vector<std::pair<std::string_view, Scope::Entry>> kept;
    for (const auto& [name, last] : outputs.last) {
      const Scope::Entry* e = fn_.scope.find_entry(name);
      if (e && last < statements.size()) kept.emplace_back(name, *e);
    }
    for (Node n : listed)
      if (outputs.last.at(n.text()) == statements.size()) report_not_bound(n, s);
    fn_.scope.leave();
    body_.end_dataflow();
    for (const auto& [name, entry] : kept) fn_.scope.define(name, entry.value, entry.span);
  }

  void report_not_bound(Node name, Node block) {
    if (find_name(r_, name.text())) {
      r_.error(name, diag::OutputNotBound, name.text());
    } else if (!block.damaged()) {
      unknown_name(r_, name.text(), name);
    }
  }

  void poison_bindings(Node n) {
    for (Node c : n.children()) {
      if (c.is(Kind::Binding)) {
        if (const Node t = c.child(Field::Target); t.is(Kind::Identifier)) fn_.scope.define(t.text(), Val(), t.span());
      } else {
        poison_bindings(c);
      }
    }
  }
  static std::vector<std::string_view> names_bound_in(Node n) {
    std::vector<std::string_view> out;
    for (std::uint32_t i = n.index(); i < n.row().next; ++i) {
      const Node c(n.tree(), i);
      if (c.is(Kind::Binding) && c.child(Field::Target).is(Kind::Identifier))
        out.push_back(c.child(Field::Target).text());
    }
    return out;
  }

  // ---- if ----

  struct Branch {
    const ir::SeqExpr* seq = nullptr;
    const ir::Var* var = nullptr;
    Node block;
    bool poisoned = false;
  };

  Branch branch(const std::function<void()>& read, Node block) {
    Branch b;
    b.block = block;
    fn_.scope.enter(ScopeKind::Branch);
    body_.begin_branch();
    const std::size_t errors = r_.out.error_count();
    const std::size_t broken = broken_definitions_;
    read();
    const ir::Expr* value = nullptr;
    std::vector<const ir::Binding*>& current = body_.current();
    if (!current.empty()) {
      const ir::Binding* last = current.back();
      b.var = last->var;
      value = last->var;
      // The last binding of a leaf is the branch's value itself.
      if (!last->is_match_cast() && (ir::is_leaf(last->value) || ir::isa<ir::Tuple>(last->value))) {
        value = last->value;
        current.pop_back();
      }
    }
    if (!value) {
      // A branch that ends in a dataflow block: its last output.
      if (const ir::Binding* last = body_.last_output()) value = b.var = last->var;
    }
    b.poisoned = r_.out.error_count() != errors || broken_definitions_ != broken;
    b.seq = body_.end_branch(value ? value : r_.ctx.tuple({}));
    fn_.scope.leave();
    return b;
  }

  Branch block_branch(Node block) {
    return branch(
        [&] {
          for (Node s : block.children()) statement(s);
        },
        block);
  }

  void if_statement(Node s) {
    std::vector<Node> alternatives;
    for (Node c : s.children())
      if (c.field() == Field::Alternative) alternatives.push_back(c);
    if_chain(s, s.child(Field::Condition), s.child(Field::Consequence), alternatives, 0);
  }

  // What the machine takes as a condition: a scalar, or a tensor of no dimensions, of bools or integers.
  static bool may_be_condition(const ir::Type* t) {
    const auto fits = [](ir::DType d) { return d.is_void() || d.is_bool() || d.is_integral(); };
    if (const auto* p = ir::as<ir::PrimType>(t)) return fits(p->dtype);
    if (const auto* x = ir::as<ir::TensorType>(t)) return fits(x->dtype) && (x->ndim <= 0);
    return t->kind == ir::TypeKind::Any || t->kind == ir::TypeKind::DTensor;
  }

  void if_chain(Node s, Node condition, Node consequence, const std::vector<Node>& alternatives, std::size_t at) {
    if (body_.in_dataflow()) {
      r_.error(condition, diag::IfInDataflow);
      return poison_bindings(s);
    }
    if (at > 200) {
      r_.error(condition, diag::NestedTooDeepText);
      return;
    }
    const Val cond_value = eval(r_, condition);
    const ir::Expr* cond = to_leaf(r_, cond_value, condition);
    if (cond && !may_be_condition(cond->type)) r_.error(condition, diag::ConditionNotBool, describe(r_, Val::of(cond)));
    const Branch yes = block_branch(consequence);
    if (at >= alternatives.size()) {
      const std::string_view name = yes.var ? yes.var->name : std::string_view("y");
      r_.error_hint(condition, fmt::format("add `else:` and bind `{}` there too: it is the value of the `if`", name),
                    diag::IfWithoutElse);
      return poison_bindings(s);
    }
    const Node other = alternatives[at];
    const Branch no = other.is(Kind::ElifClause)
                          ? branch(
                                [&] {
                                  if_chain(other, other.child(Field::Condition), other.child(Field::Consequence),
                                           alternatives, at + 1);
                                },
                                other.child(Field::Consequence))
                          : block_branch(other.child(Field::Body));
    finish_if(s, condition, cond, yes, no);
  }

  void finish_if(Node s, Node condition, const ir::Expr* cond, const Branch& yes, const Branch& no) {
    if (!yes.var || !no.var) {
      const Branch& empty = yes.var ? no : yes;
      if (!empty.poisoned) r_.error(condition, diag::BranchWithoutValue);
      return poison_bindings(s);
    }
    if (yes.var->name != no.var->name) {
      if (!yes.poisoned && !no.poisoned) {
        source::Message m = source::message(diag::BranchNamesDiffer, yes.var->name, no.var->name);
        m.notes.push_back({r_.ctx.spans().get(yes.var->id), "the first branch ends in this binding"});
        r_.report(r_.ctx.spans().get(no.var->id), std::move(m));
      }
      return poison_bindings(s);
    }
    const std::string_view name = yes.var->name;
    const source::Span span = r_.ctx.spans().get(yes.var->id);
    if (!cond) {
      fn_.scope.define(name, Val(), span);
      return;
    }
    const ir::Type* type =
        yes.var->type == no.var->type ? yes.var->type : ir::join(r_.ctx, yes.var->type, no.var->type);
    const ir::If* e = r_.at(r_.ctx.if_expr(cond, yes.seq, no.seq, type), s);
    const ir::Var* v = r_.ctx.var(name, type);
    r_.ctx.spans().set(v->id, span);
    body_.append(r_.at(r_.ctx.binding(v, e), s));
    fn_.scope.define(v->name, Val::of(v), span);
  }

  Reader& r_;
  FunctionState& fn_;
  Body& body_;
  BodyMemo* memo_;
  std::size_t broken_definitions_ = 0;  // names so far whose values could not be read
  std::uint32_t behind_last_ = 0;       // the row behind the last remembered statement, 0 at the start of a block
  Outputs* outputs_ = nullptr;
  ir::TypeBudget budget_;  // of the variables that were read
  bool together_too_large_ = false;
};

}  // namespace

BlockResult read_relax_statements(Reader& r, Node block) { return BodyReader(r).function_body(block); }

void read_prompt_statement(Reader& r, Node statement) { BodyReader(r).statement(statement); }

}  // namespace rldb::frontend::script
