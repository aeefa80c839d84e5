// An entry at the prompt: modules, functions, bindings and expressions, each an item of its own; and a lone type.
#include "frontend/script/module_parts.h"
#include "frontend/script/value/convert.h"
#include "frontend/script/value/types.h"
#include "frontend/script/value/unsupported.h"
#include "rldb/ir/walk.h"
#include "rldb/source/diagnostic_script_expected.h"
#include "rldb/source/diagnostic_script_function.h"

namespace rldb::frontend::script {

namespace {

void define_environment(Reader& r) {
  for (const ir::Var* v : r.env->symbols) r.names.scope.define(v->name, Val::of(v), {});
  for (const NamedValue& v : r.env->values) r.names.scope.define(v.name, Val::of(v.value), {});
}

class EntryReader {
 public:
  EntryReader(Reader& r, ParseResult& out) : r_(r), out_(out) {
    prompt_.dialect = Dialect::Relax;
    prompt_.name = "<prompt>";
  }

  void run(const std::vector<Node>& statements) {
    ModuleState lone;
    lone.name = r_.env->module ? r_.env->module->name : std::string_view("Module");
    r_.module = &lone;
    for (Node s : statements) {
      if (is_function(s.kind())) add_member(r_, lone, s.child(Field::Name).text(), s.child(Field::Name), s);
      if (extern_binding(s))
        add_member(r_, lone, s.child(Field::Target).text(), s.child(Field::Target), s.child(Field::Value));
    }
    alone_ = statements.size() == 1;
    for (Node s : statements) item(s);
    add_lone_items(r_, lone, out_);
    r_.module = nullptr;
    sort_items(out_);
  }

 private:
  bool extern_binding(Node s) {
    return s.is(Kind::Binding) && s.child(Field::Target).is(Kind::Identifier) &&
           is_call_to(r_, s.child(Field::Value), Space::Relax, "ExternFunc");
  }

  // It was read with the preamble. Alone it is of no use.
  bool is_metadata(Node s) {
    const Node call = s.child(Field::Value);
    return !alone_ && s.child(Field::Target).text() == "metadata" && call.is(Kind::Call) &&
           call.child(Field::Function).text().ends_with("load_json");
  }

  void item(Node s) {
    switch (cst::statement_kind(s.kind())) {
      case cst::StatementKind::Module:
        out_.items.push_back(read_module(r_, s, out_.gaps));
        if (!out_.module) out_.module = out_.items.back().module;
        return;
      case cst::StatementKind::Binding:
        if (extern_binding(s) || is_metadata(s)) return;
        if (is_type_var(s)) return symbols_item(s, {type_var(s)});
        if (const auto dtype = symbol_declaration(r_, s.child(Field::Value));
            dtype && s.child(Field::Target).is(Kind::Identifier))
          return declare(s, {{s.child(Field::Target), *dtype}});
        if (const auto several = declarations(s); !several.empty()) return declare(s, several);
        return binding(s);
      case cst::StatementKind::ExpressionStatement:
        return expression(s);
      case cst::StatementKind::IfStatement:
      case cst::StatementKind::DataflowBlock:
        return binding(s);
      case cst::StatementKind::ReturnStatement:
        r_.error(s, diag::MisplacedReturn);
        return;
      case cst::StatementKind::FunctionDefinition:
        r_.report(undecorated_function(r_.text, s.span().begin, s.child(Field::Name).span()));
        return;
#define RLDB_CST_STATEMENT(Kind, name, form, in_module, in_relax, in_tir, at_prompt) \
  RLDB_CST_ANSWER(SKIP, at_prompt, case cst::StatementKind::Kind:)
#include "frontend/cst/node_kinds.def"
      case cst::StatementKind::Damage:
        return;
#define RLDB_CST_STATEMENT(Kind, name, form, in_module, in_relax, in_tir, at_prompt) \
  RLDB_CST_ANSWER(CASE, at_prompt, case cst::StatementKind::Kind:)
#include "frontend/cst/node_kinds.def"
      case cst::StatementKind::Other:
        unsupported_statement(r_, s, "at the prompt");
    }
  }

  const ir::Var* type_var(Node s) {
    const Node target = s.child(Field::Target);
    const ir::Var* v = r_.ctx.var(target.text(), r_.ctx.int64());
    prompt_.scope.define(v->name, Val::of(v), target.span());
    return v;
  }

  void symbols_item(Node s, std::vector<const ir::Var*> symbols) {
    ParsedItem item{};
    item.kind = ItemKind::Symbols;
    item.span = s.span();
    item.symbols = std::move(symbols);
    out_.items.push_back(std::move(item));
  }

  using Declarations = std::vector<std::pair<Node, ir::DType>>;

  // `n, m = T.int64(), T.int64()`; empty: something else.
  Declarations declarations(Node s) {
    const Node target = s.child(Field::Target), value = s.child(Field::Value);
    if (!target.is(Kind::Tuple) || !value.is(Kind::Tuple) || target.count() != value.count()) return {};
    Declarations found;
    auto v = value.children().begin();
    for (Node t : target.children()) {
      const auto dtype = symbol_declaration(r_, *v);
      if (!dtype || !t.is(Kind::Identifier)) return {};
      found.emplace_back(t, *dtype);
      ++v;
    }
    return found;
  }

  void declare(Node s, const Declarations& all) {
    FunctionState* const before = std::exchange(r_.fn, &prompt_);
    std::vector<const ir::Var*> symbols;
    for (const auto& [name, dtype] : all) symbols.push_back(define_symbol(r_, name, dtype));
    r_.fn = before;
    symbols_item(s, std::move(symbols));
  }

  // Reads one statement into a fresh body; `add` makes the items of its bindings.
  template <class F>
  void with_body(Node s, F&& read) {
    Body body(r_.ctx, s.text());
    prompt_.body = &body;
    FunctionState* const before = std::exchange(r_.fn, &prompt_);
    read(body);
    r_.fn = before;
    prompt_.body = nullptr;
  }

  void binding(Node s) {
    const ErrorsSince errors = r_.errors();
    with_body(s, [&](Body& body) {
      read_prompt_statement(r_, s);
      const bool broken = errors.any() || s.damaged();
      const ir::SeqExpr* all = body.finish(r_.ctx.tuple({}));
      add_bindings(s, all, broken);
      if (broken && all->blocks.empty()) {
        ParsedItem item{};
        item.kind = ItemKind::Binding;
        item.span = s.span();
        item.name = r_.ctx.str(s.child(Field::Target).text());
        item.broken = true;
        out_.items.push_back(std::move(item));
      }
    });
  }

  // An item for every variable that the text names; the bindings before it are its computation.
  void add_bindings(Node s, const ir::SeqExpr* all, bool broken) {
    std::vector<Node> targets;
    const Node target = s.child(Field::Target);
    const bool several = s.is(Kind::DataflowBlock) || target.is(Kind::Tuple) || target.is(Kind::List);
    std::vector<const ir::BindingBlock*> before;
    for (const ir::BindingBlock* block : all->blocks) {
      for (std::size_t i = 0; i < block->bindings.size(); ++i) {
        const ir::Binding* b = block->bindings[i];
        const bool last = block == all->blocks.back() && i + 1 == block->bindings.size();
        if (s.is(Kind::DataflowBlock) && b->var->is_dataflow()) continue;
        if (!last && (!several || b->var->is_dataflow() || !names(s, b->var->name))) continue;
        std::vector<const ir::BindingBlock*> blocks = before;
        // The value of an output may use variables that are known in its block only: the block is executed up to it.
        const bool output = s.is(Kind::DataflowBlock) && block->is_dataflow();
        const auto head = block->bindings.subspan(0, output ? i + 1 : i);
        if (!head.empty()) blocks.push_back(r_.ctx.block(head, block->is_dataflow()));
        add_binding(s, b, output ? static_cast<const ir::Expr*>(b->var) : b->value, blocks, broken);
      }
      before.push_back(block);
    }
  }
  bool names(Node s, std::string_view name) const {
    if (s.is(Kind::DataflowBlock)) return true;
    for (Node t : s.child(Field::Target).children())
      if (t.text() == name) return true;
    return false;
  }

  void add_binding(Node s, const ir::Binding* b, const ir::Expr* value,
                   const std::vector<const ir::BindingBlock*>& blocks, bool broken) {
    ParsedItem item{};
    item.kind = s.is(Kind::ExpressionStatement) ? ItemKind::Expression : ItemKind::Binding;
    item.span = s.span();
    item.name = b->var->name;
    item.var = b->var;
    item.value = r_.ctx.seq(blocks, value);
    item.is_match_cast = b->is_match_cast();
    item.broken = broken;
    if (b->is_match_cast()) {
      item.annotation = b->cast_type;
      std::vector<const ir::Var*> vars;
      ir::collect_vars(b->cast_type, vars);
      item.symbols = vars;
    } else if (b->var->type != b->value->type) {
      item.annotation = b->var->type;
    }
    out_.items.push_back(std::move(item));
  }

  void expression(Node s) {
    const Node value = s.child(Field::Value);
    const ErrorsSince errors = r_.errors();
    with_body(s, [&](Body& body) {
      const Path p = value.is(Kind::Call) ? path_of(r_, value.child(Field::Function)) : Path();
      if (p.space == Space::Relax && (p.rest == "match_cast" || p.rest == "match_shape")) {
        read_prompt_statement(r_, s);
        add_bindings(s, body.finish(r_.ctx.tuple({})), errors.any());
        return;
      }
      ParsedItem item{};
      item.kind = ItemKind::Expression;
      item.span = s.span();
      const Val v = eval(r_, value);
      const ir::Expr* e = v.is(ValKind::Nothing) ? nullptr : to_relax(r_, v, value);
      item.broken = errors.any() || s.damaged() || !e;
      if (e) item.value = body.finish(e);
      out_.items.push_back(std::move(item));
    });
  }

  Reader& r_;
  ParseResult& out_;
  bool alone_ = false;  // the entry has one statement
  FunctionState prompt_;
};

}  // namespace

ParseResult read_entry(Reader& r, const cst::Tree& tree) {
  ParseResult out;
  const std::vector<Node> statements = statements_of(tree);
  read_preamble(r, statements);
  define_environment(r);
  EntryReader(r, out).run(statements);
  return out;
}

const ir::Type* read_lone_type(Reader& r, const cst::Tree& tree, std::vector<const ir::Var*>& symbols) {
  const std::vector<Node> statements = statements_of(tree);
  set_default_spaces(r);
  define_environment(r);
  if (statements.size() != 1 || !statements[0].is(Kind::ExpressionStatement)) {
    if (!r.out.has_errors()) r.error(Node(&tree, 0), diag::ExpectedType, "something else");
    return nullptr;
  }
  FunctionState fn;
  fn.in_signature = true;
  r.fn = &fn;
  r.lone_type = true;
  const ir::Type* type = read_type(r, statements[0].child(Field::Value));
  r.fn = nullptr;
  for (const auto& [name, symbol] : fn.symbols) symbols.push_back(symbol.var);
  return type;
}

}  // namespace rldb::frontend::script
