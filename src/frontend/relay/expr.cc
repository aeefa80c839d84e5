// Expressions. Recursion is over the syntax tree, whose depth is limited; chains of bindings are loops.
#include <fmt/format.h>

#include <algorithm>

#include "frontend/relay/reader.h"
#include "rldb/relay/ir/op_id.h"
#include "rldb/source/diagnostic_relay.h"
#include "rldb/source/diagnostic_syntax.h"
#include "rldb/support/cancel.h"

namespace rldb::frontend::relay_text {

namespace {

relay::OpId op_of(std::string_view symbol) {
  if (symbol == "+") return relay::op::Add;
  if (symbol == "-") return relay::op::Subtract;
  if (symbol == "*") return relay::op::Multiply;
  if (symbol == "/") return relay::op::Divide;
  if (symbol == "<") return relay::op::Less;
  if (symbol == ">") return relay::op::Greater;
  if (symbol == "<=") return relay::op::LessEqual;
  if (symbol == ">=") return relay::op::GreaterEqual;
  return symbol == "==" ? relay::op::Equal : relay::op::NotEqual;
}

// The minus sign belongs to the number after it when the two touch: `5 -3` are two numbers.
bool is_glued_minus(Node n) {
  const Node op = n.child(Field::Operator);
  if (op.text() != "-") return false;
  const std::string_view text = n.tree()->text;
  std::size_t at = op.row().end;
  while (at < text.size() && text[at] == '-') ++at;
  return at < text.size() && text[at] >= '0' && text[at] <= '9';
}

Node unwrapped(Node n) {
  while (n.is(Kind::Parenthesized)) n = n.child(Field::Value);
  return n;
}

std::string_view word_for(Node n) {
  if (n.is(Kind::Call)) return "call";
  if (n.is(Kind::Projection)) return "projection";
  return "`if`";
}

}  // namespace

const relay::Expr* Reader::placed(const relay::Expr* e, Node n) {
  ctx_.set_span(e, n.span());
  if (e->nesting > relay::kMaxNesting) {
    // Once is enough: anything that contains it is too deep as well.
    if (!too_deep_) error(n, diag::NestedTooDeepText);
    too_deep_ = true;
    return broken(n);
  }
  return e;
}

const relay::Expr* Reader::broken(Node n) {
  const relay::Expr* e = ctx_.tuple({});
  ctx_.set_span(e, n.span());
  return e;
}

const relay::Expr* Reader::expr(Node n, Place place) {
  support::poll();
  // These evaluate to other nodes, which have places of their own already.
  if (n.is(Kind::Local)) return local(n);
  if (n.is(Kind::Graph)) return graph(n);
  if (n.is(Kind::Meta)) return meta_expr(n);
  if (n.is(Kind::Global)) {
    use_global(n);
    return ctx_.global(n.text().substr(1));
  }
  if (n.is(Kind::Parenthesized)) return expr(n.child(Field::Value), Place::Item);
  if (n.is(Kind::Sequence)) return sequence(n);
  if (place == Place::Operand && (n.is(Kind::Match) || n.is(Kind::Block))) {
    error(n, diag::RelayNeedsParentheses, n.is(Kind::Match) ? "`match`" : "block");
    return broken(n);
  }
  if (n.is(Kind::Block)) return in_scope(n.child(Field::Body));
  return placed(expr_of(n), n);
}

const relay::Expr* Reader::expr_of(Node n) {
  if (n.is(Kind::Number) || n.is(Kind::Boolean)) return constant(n);
  if (n.is(Kind::Name)) return named(n, false);
  if (n.is(Kind::Call)) return call(n);
  if (n.is(Kind::Binary)) return binary(n);
  if (n.is(Kind::Tuple)) return tuple(n);
  if (n.is(Kind::Projection)) return projection(n);
  if (n.is(Kind::Function)) return function(n);
  if (n.is(Kind::IfExpression)) return if_expr(n);
  if (n.is(Kind::Match)) return match(n);
  if (n.is(Kind::Ref)) return ctx_.ref_create(expr(n.child(Field::Value), Place::Item));
  if (n.is(Kind::RefRead)) return ctx_.ref_read(expr(n.child(Field::Value), Place::Item));
  if (n.is(Kind::RefWrite)) {
    const relay::Expr* reference = expr(n.child(Field::Reference), Place::Item);
    return ctx_.ref_write(reference, expr(n.child(Field::Value), Place::Item));
  }
  error(n, diag::RelayNoExpression, n.is(Kind::String) ? "a string" : n.is(Kind::List) ? "a list" : "this");
  return broken(n);
}

const relay::Expr* Reader::in_scope(Node n) {
  locals_.open();
  const relay::Expr* e = expr(n, Place::Item);
  locals_.close();
  return e;
}

const relay::Expr* Reader::constant(Node n) {
  runtime::DType dtype = runtime::DType::Bool();
  Number number;
  if (n.is(Kind::Boolean)) {
    number.integer = n.text() == "True";
  } else {
    if (!read_number(n, number, out_)) return broken(n);
    dtype = number.is_float ? runtime::DType::Float(number.bits) : runtime::DType::Int(number.bits);
  }
  support::Ref<runtime::Tensor> scalar = runtime::Tensor::empty({}, dtype).value();
  if (number.is_float)
    runtime::store_double(scalar->data(), dtype, number.real);
  else
    runtime::store_int(scalar->data(), dtype, number.integer);
  return ctx_.constant(std::move(scalar));
}

// ---- names ----

const relay::Expr* Reader::local(Node n) {
  const std::string_view name = n.text().substr(1);
  const relay::Var* v = locals_.find(name);
  if (!v)
    if (const auto found = free_.find(name); found != free_.end()) v = found->second;
  if (v && being_defined_.contains(v)) {
    error(n, diag::RelayOwnValue, n.text());
    return broken(n);
  }
  if (v) {
    if (recording_ && locals_.depth_of(name) <= recording_depth_) recording_->look_up({RelayLookup::Local, v->name, v});
    return v;
  }
  auto message = source::message(diag::RelayUnknownLocal, n.text());
  if (const std::string_view near = source::nearest(name, locals_.visible()); !near.empty())
    message.hint = fmt::format("did you mean `%{}`?", near);
  out_.add(n.span(), std::move(message));
  return broken(n);
}

const relay::Expr* Reader::graph(Node n) {
  const auto found = graphs_.find(n.text());
  if (found != graphs_.end()) {
    if (recording_ && !recording_->defines(found->first))
      recording_->look_up({RelayLookup::Graph, found->first, found->second});
    return found->second;
  }
  error(n, diag::RelayUnknownGraph, n.text());
  return broken(n);
}

const relay::Expr* Reader::meta_expr(Node n) {
  const relay::MetaEntry* entry = meta(n);
  if (entry && entry->expr) return entry->expr;
  if (entry) error(n, diag::RelayMetaKind, n.text(), "not an expression");
  return broken(n);
}

const relay::Expr* Reader::named(Node n, bool called) {
  const std::string name = plain_name(n.text());
  if (const auto found = constructors_.find(name); found != constructors_.end()) {
    const relay::Constructor* c = found->second;
    if (called || !c->fields.empty()) return c;
    return ctx_.call(c, {});
  }
  if (const relay::OpInfo* op = relay::find_op(name)) return ctx_.op(op);
  auto message = source::message(diag::RelayUnknownOp, name);
  std::vector<std::string_view> candidates = relay::op_names();
  for (const auto& [known, constructor] : constructors_) candidates.push_back(known);
  if (locals_.find(name))
    message.hint = fmt::format("did you mean `%{}`?", name);
  else if (const std::string_view near = source::nearest(name, candidates); !near.empty())
    message.hint = fmt::format("did you mean `{}`?", near);
  out_.add(n.span(), std::move(message));
  return broken(n);
}

// ---- bindings ----

void Reader::bind(Node name, const relay::Var* v) {
  if (!locals_.bind(v->name, v)) error(name, diag::RelayBoundTwice, name.text());
}

void Reader::use_global(Node n) {
  const std::string_view name = ctx_.global(n.text().substr(1))->name;
  used_globals_.try_emplace(name, n.span());
  if (recording_) recording_->use_global(name, n.row().begin, n.row().end);
}

void Reader::note_graph(std::string_view name, const relay::Expr* value, source::Span at, RelayStatement* memo) {
  const bool first = graphs_.try_emplace(name, value).second;
  if (!first) {
    out_.add(at, source::message(diag::RelayGraphTwice, name));
    if (memo) memo->fresh = true;
  }
  if (first && value && !relay::is_leaf(value)) graph_names_.try_emplace(value, name);
}

void Reader::graph_binding(Node n, RelayStatement* memo) {
  ++graph_definitions_;
  const Node name = n.child(Field::Name);
  if (memo && !memo->known) memo->set_name(ctx_.str(name.text()), name.row().begin, name.row().end);
  const std::string_view word = memo ? memo->name : ctx_.str(name.text());
  const relay::Expr* value = value_of(n, Place::Operand, memo);
  note_graph(word, value, memo ? memo->name_span(file_) : name.span(), memo);
  if (recording_ && !memo) recording_->define(word, name.row().begin, name.row().end, value);
}

void Reader::free_variable(Node n) {
  const Node t = n.child(Field::Type);
  const relay::Var* v = ctx_.var(n.child(Field::Name).text().substr(1), t ? type(t) : ctx_.hole());
  ctx_.set_span(v, n.child(Field::Name).span());
  free_.try_emplace(v->name, v);
}

// Binds it.
const relay::Var* Reader::let_variable(Node n, RelayStatement* memo) {
  if (memo && memo->known) {
    if (!locals_.bind(memo->var->name, memo->var)) {
      out_.add(memo->name_span(file_), source::message(diag::RelayBoundTwice, fmt::format("%{}", memo->var->name)));
      memo->fresh = true;
    }
    return memo->var;
  }
  const Node name = n.child(Field::Name);
  if (!name.is(Kind::Local)) error(name, diag::RelayLetName, name.text());
  const Node t = n.child(Field::Type);
  const relay::Type* annotation = t ? type(t) : nullptr;
  const std::string_view word = name.is(Kind::Local) ? name.text().substr(1) : name.text();
  const relay::Var* v = memo ? memo_->take_variable(word, annotation) : nullptr;
  if (!v) v = ctx_.var(word, annotation);
  ctx_.set_span(v, name.span());
  if (name.is(Kind::Local))
    bind(name, v);
  else
    locals_.bind(v->name, v);
  if (memo) memo->set_name(v->name, name.row().begin, name.row().end);
  return v;
}

// The value of a statement, if its names mean the same as before, or graph variables with other values.
const relay::Expr* Reader::kept_value(RelayStatement& memo) {
  for (const RelayStatement::Definition& d : memo.inner)
    if (graphs_.contains(d.name)) return nullptr;
  Replacements replaced;
  for (const RelayLookup& l : memo.lookups) {
    if (l.kind == RelayLookup::Local) {
      const relay::Var* v = locals_.find(l.name);
      if (v != l.found) return nullptr;
      continue;
    }
    const auto now = graphs_.find(l.name);
    if (now == graphs_.end()) return nullptr;
    if (now->second == l.found) continue;
    const bool alike = now->second->kind == l.found->kind && !relay::is_leaf(l.found);
    if (!alike || !memo.inner.empty()) return nullptr;
    replaced.emplace_back(l.found, now->second);
  }
  const relay::Expr* value = memo.value;
  if (!replaced.empty()) {
    value = rebuilt(ctx_, value, replaced, memo.lookups);
    if (!value) return nullptr;
    for (RelayLookup& l : memo.lookups)
      if (l.kind == RelayLookup::Graph) l.found = graphs_.find(l.name)->second;
  }
  for (const RelayStatement::Definition& d : memo.inner) {
    ++graph_definitions_;
    note_graph(d.name, d.value, memo.span(file_, d.begin, d.end), nullptr);
  }
  for (const RelayStatement::Use& u : memo.globals) used_globals_.try_emplace(u.name, memo.span(file_, u.begin, u.end));
  return value;
}

const relay::Expr* Reader::value_of(Node n, Place place, RelayStatement* memo) {
  const Kind kind = memo ? memo->kind : n.kind();
  const bool names = kind == Kind::LetBinding || kind == Kind::GraphBinding;
  if (!memo) return expr(names ? n.child(Field::Value) : n, place);
  cst::Tree inside;
  if (memo->known) {
    if (const relay::Expr* kept = kept_value(*memo)) return memo->value = kept;
    inside = memo_->reload(kind, memo->begin);
    if (inside.rows.empty() || inside.rows[0].end != memo->end) {
      memo_->abandon();
      return broken(n);
    }
    n = Node(&inside, 0);
  }
  memo->forget();
  memo_->note_read();
  const std::size_t bound = locals_.bound();
  recording_ = memo;
  recording_depth_ = locals_.depth();
  memo->value = expr(names ? n.child(Field::Value) : n, place);
  recording_ = nullptr;
  memo->fresh = memo->fresh || locals_.bound() != bound;
  return memo->value;
}

const relay::Expr* Reader::sequence(Node n) {
  struct Bound {
    const relay::Var* var;
    const relay::Expr* value;
    Node at;
    RelayStatement* memo;
  };
  const bool top = memo_ && body_ && n.tree() == body_.tree() && n.index() == body_.index();
  std::vector<Bound> lets;
  std::size_t scopes = 0;
  const relay::Expr* last = nullptr;
  Node last_node;
  RelayStatement* last_memo = nullptr;
  const auto bind_last = [&] {
    if (!last) return;
    const relay::Var* v = last_memo && last_memo->var ? last_memo->var : ctx_.var("", nullptr);
    if (last_memo) last_memo->var = v;
    lets.push_back({v, last, last_node, last_memo});
  };
  for (const Node s : n.children()) {
    const std::size_t found = out_.all().size();
    RelayStatement* memo = top ? &memo_->open(s) : nullptr;
    const Kind kind = memo ? memo->kind : s.kind();
    if (kind == Kind::GraphBinding) {
      graph_binding(s, memo);
    } else if (kind == Kind::FreeVariable) {
      free_variable(s);
    } else if (kind != Kind::LetBinding) {
      bind_last();
      last = value_of(s, Place::Item, memo);
      last_node = s;
      last_memo = memo;
    } else {
      bind_last();
      last = nullptr;
      const relay::Var* v = let_variable(s, memo);
      const bool recursive =
          memo && memo->known ? memo->recursive : unwrapped(s.child(Field::Value)).is(Kind::Function);
      if (memo) memo->var = v, memo->recursive = recursive;
      if (!recursive) being_defined_.insert(v);
      lets.push_back({v, value_of(s, Place::Operand, memo), s, memo});
      being_defined_.erase(v);
      locals_.open();
      ++scopes;
    }
    if (memo) memo->fresh = memo->fresh || out_.all().size() != found;
  }
  // An expression before the last `;` is a statement whose value is missing.
  Node end;
  for (const Node s : n.children()) end = s;
  const bool ends_in_semicolon = end && end.row().end < n.row().end;
  if (!last || ends_in_semicolon) {
    error(end, diag::RelayEndsInBinding);
    if (!last) last = broken(n);
  }
  for (; scopes > 0; --scopes) locals_.close();
  for (auto l = lets.rbegin(); l != lets.rend(); ++l) {
    const relay::Let* known = l->memo ? l->memo->let : nullptr;
    if (known && known->var == l->var && known->value == l->value && known->body == last) {
      last = known;
      continue;
    }
    const relay::Let* made = ctx_.let(l->var, l->value, last);
    if (l->memo) l->memo->let = made;
    last = placed(made, l->at);
  }
  return last;
}

// ---- operators and calls ----

const relay::Expr* Reader::binary(Node n) {
  if (is_glued_minus(n)) {
    const Node op = n.child(Field::Operator);
    source::Span span = op.span();
    span.end = n.span().end;
    out_.add(span, source::message(diag::RelayGluedMinus, n.text().substr(op.row().begin - n.row().begin)));
  }
  const relay::Expr* left = expr(n.child(Field::Left), Place::Operand);
  const relay::Expr* right = expr(n.child(Field::Right), Place::Operand);
  const relay::Op* op = ctx_.op(&relay::info(op_of(n.child(Field::Operator).text())));
  return ctx_.call(op, std::vector<const relay::Expr*>{left, right});
}

const relay::Expr* Reader::call(Node n) {
  const Node callee_node = n.child(Field::Function);
  const relay::Expr* callee =
      callee_node.is(Kind::Name) ? placed(named(callee_node, true), callee_node) : expr(callee_node, Place::Operand);
  std::vector<const relay::Expr*> args;
  std::vector<Node> attr_nodes;
  const relay::MetaObject* attrs_object = nullptr;
  for (const Node a : n.child(Field::Arguments).children()) {
    if (a.is(Kind::Attribute)) {
      attr_nodes.push_back(a);
      continue;
    }
    if (!attr_nodes.empty() || attrs_object) error(a, diag::RelayAttributesLast);
    const relay::MetaEntry* entry = a.is(Kind::Meta) ? meta(a) : nullptr;
    if (entry && entry->object)
      attrs_object = entry->object;
    else if (!a.is(Kind::Meta) || entry)
      args.push_back(expr(a, Place::Item));
  }
  std::vector<relay::NamedAttr> attrs = attributes(attr_nodes);
  const bool keyed = std::any_of(attrs.begin(), attrs.end(), [](const auto& a) { return a.name == "attrs_type_key"; });
  if (const auto* op = relay::as<relay::Op>(callee)) {
    // One without attributes may be given those of any type.
    const bool any = keyed && op->info->attributes == relay::AttributesId::None;
    if (!attrs_object && !any) attrs = fitted(*op->info, n, attrs, attr_nodes);
  } else if (!attrs.empty() && !keyed) {
    error(attr_nodes.front(), diag::RelayAttributesOfCall);
  }
  return ctx_.call(callee, args, attrs, attrs_object);
}

const relay::Expr* Reader::projection(Node n) {
  const Node object = n.child(Field::Object);
  if (object.is(Kind::Call) || object.is(Kind::Projection)) error(n, diag::RelayProjectionOfCall, word_for(object));
  const relay::Expr* tuple = expr(object, Place::Operand);
  const Node index = n.child(Field::Index);
  Number number;
  const bool digits = index.text().find_first_not_of("0123456789") == std::string_view::npos;
  if (!digits || !read_number(index, number, out_)) {
    if (!digits) error(index, diag::RelayProjectionIndex, index.text());
    return broken(n);
  }
  return ctx_.projection(tuple, number.integer);
}

const relay::Expr* Reader::tuple(Node n) {
  std::vector<const relay::Expr*> fields;
  for (const Node c : n.children()) fields.push_back(expr(c, Place::Item));
  return ctx_.tuple(fields);
}

// ---- control flow ----

const relay::Expr* Reader::if_expr(Node n) {
  const Node condition = n.child(Field::Condition);
  if (!condition.is(Kind::Parenthesized)) error(condition, diag::RelayConditionParentheses);
  const relay::Expr* c = expr(condition, Place::Operand);
  const relay::Expr* consequence = in_scope(n.child(Field::Consequence).child(Field::Body));
  const Node alternative = n.child(Field::Alternative);
  if (!alternative) {
    error(n, diag::RelayMissingElse);
    return broken(n);
  }
  return ctx_.if_expr(c, consequence, in_scope(alternative.child(Field::Body)));
}

const relay::Expr* Reader::match(Node n) {
  const Node value_node = n.child(Field::Value);
  if (value_node.is(Kind::Call)) error(value_node, diag::RelayNeedsParentheses, "call");
  const relay::Expr* value = expr(value_node, Place::Operand);
  std::vector<relay::Arm> arms;
  for (const Node a : n.children()) {
    if (!a.is(Kind::Arm)) continue;
    locals_.open();
    const relay::Pattern* p = pattern(a.child(Field::Pattern));
    arms.push_back({p, expr(a.child(Field::Body), Place::Item)});
    locals_.close();
  }
  return ctx_.match(value, arms, n.child(Field::Kind).text() == "match");
}

const relay::Pattern* Reader::pattern(Node n) {
  relay::Pattern p{relay::PatternKind::Wildcard, nullptr, nullptr, {}};
  if (n.is(Kind::Wildcard)) return ctx_.make(p);
  if (n.is(Kind::VariablePattern)) {
    const Node name = n.child(Field::Name);
    const Node t = n.child(Field::Type);
    p.kind = relay::PatternKind::Variable;
    p.var = ctx_.var(name.text().substr(1), t ? type(t) : nullptr);
    ctx_.set_span(p.var, name.span());
    bind(name, p.var);
    return ctx_.make(p);
  }
  p.kind = relay::PatternKind::Tuple;
  const Node name = n.child(Field::Name);
  if (n.is(Kind::ConstructorPattern)) {
    const auto found = constructors_.find(name.text());
    if (found == constructors_.end()) {
      error(name, diag::RelayUnknownConstructor, name.text());
    } else {
      p.kind = relay::PatternKind::Constructor;
      p.constructor = found->second;
    }
  }
  std::vector<const relay::Pattern*> parts;
  for (const Node c : n.children())
    if (c.field() != Field::Name) parts.push_back(pattern(c));
  p.parts = ctx_.list(parts);
  return ctx_.make(p);
}

}  // namespace rldb::frontend::relay_text
