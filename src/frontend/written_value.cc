// Values outside of a module: the tree of a lone expression, and what the reader of modules makes of it.
#include "rldb/frontend/written_value.h"

#include "frontend/cst/damage.h"
#include "frontend/script/module_parts.h"
#include "frontend/script/value/convert.h"
#include "frontend/script/value/expr.h"
#include "frontend/script/value/types.h"
#include "rldb/support/bracketed.h"
#include "rldb/support/text.h"

namespace rldb::frontend {

using source::WrittenValue;

namespace {

constexpr int kMaxDepthOfValue = 100;

// A text that is one expression. Its nodes have no places: the text is no source of the user's.
class LoneExpression {
 public:
  LoneExpression(ir::Context& ctx, std::string_view text)
      : file_(sources_.add("<value>", std::string(text))),
        tree_(cst::parse_tree({}, sources_.get(file_).text(), {.max_depth = kMaxDepthOfValue})),
        reader_(ctx, sources_, file_, found_, {}, nullptr) {
    script::set_default_spaces(reader_);
    if (cst::report_damage(tree_, found_)) return;
    const std::vector<cst::Node> statements = script::statements_of(tree_);
    if (statements.size() == 1 && statements[0].is(cst::Kind::ExpressionStatement))
      node_ = statements[0].child(cst::Field::Value);
  }

  cst::Node node() const { return node_; }  // null: it is none
  script::Reader& reader() { return reader_; }
  // The result of `read`; null when it reported errors, or there is no expression.
  template <class T>
  const T* as(script::FunctionState& function, const T* (*read)(script::Reader&, cst::Node)) {
    if (!node_) return nullptr;
    reader_.fn = &function;
    const T* made = read(reader_, node_);
    reader_.fn = nullptr;
    return found_.has_errors() ? nullptr : made;
  }

 private:
  source::SourceManager sources_;
  source::FileId file_;
  source::Diagnostics found_;
  cst::Tree tree_;
  script::Reader reader_;
  cst::Node node_;
};

WrittenValue of_kind(WrittenValue::Kind kind, std::string_view written) {
  WrittenValue v;
  v.kind = kind;
  v.written = written;
  return v;
}

WrittenValue word(std::string_view text) {
  WrittenValue v = of_kind(WrittenValue::Kind::Text, text);
  v.text = text;
  return v;
}

class ValueReader {
 public:
  explicit ValueReader(script::Reader& reader) : r_(reader) { r_.fn = &function_; }
  ~ValueReader() { r_.fn = nullptr; }
  ValueReader(const ValueReader&) = delete;
  ValueReader& operator=(const ValueReader&) = delete;

  WrittenValue read(cst::Node n) {
    using cst::Kind;
    if (n.is(Kind::None)) return of_kind(WrittenValue::Kind::None, n.text());
    if (n.is(Kind::Identifier) || n.is(Kind::Attribute)) return word(n.text());
    if (n.is(Kind::List) || n.is(Kind::Tuple)) return list(n);
    if (n.is(Kind::Dictionary)) return dictionary(n);
    if (n.is(Kind::Call)) return call(n);
    if (n.is(Kind::Lambda) || n.is(Kind::Subscript)) return of_kind(WrittenValue::Kind::Other, n.text());
    return computed(n);
  }

 private:
  WrittenValue list(cst::Node n) {
    WrittenValue v = of_kind(WrittenValue::Kind::List, n.text());
    for (cst::Node item : n.children()) v.items.push_back(read(item));
    return v;
  }

  WrittenValue dictionary(cst::Node n) {
    WrittenValue v = of_kind(WrittenValue::Kind::Dict, n.text());
    for (cst::Node pair : n.children()) {
      if (!pair.is(cst::Kind::Pair)) return of_kind(WrittenValue::Kind::Other, n.text());
      v.keys.push_back(read(pair.child(cst::Field::Key)).name());
      v.items.push_back(read(pair.child(cst::Field::Value)));
    }
    return v;
  }

  WrittenValue call(cst::Node n) {
    WrittenValue v = of_kind(WrittenValue::Kind::Call, n.text());
    v.text = n.child(cst::Field::Function).text();
    for (cst::Node a : n.child(cst::Field::Arguments).children()) {
      const bool keyword = a.is(cst::Kind::KeywordArgument);
      v.keys.emplace_back(keyword ? a.child(cst::Field::Name).text() : std::string_view());
      v.items.push_back(read(keyword ? a.child(cst::Field::Value) : a));
    }
    return v;
  }

  // Literals, and arithmetic of them.
  WrittenValue computed(cst::Node n) {
    const script::ErrorsSince errors = r_.errors();
    const script::Val made = script::eval(r_, n);
    WrittenValue v = of_kind(WrittenValue::Kind::Other, n.text());
    if (errors.any() || !made.dtype.is_void()) return v;
    using script::ValKind;
    if (made.is(ValKind::Str))
      v.kind = WrittenValue::Kind::Text;
    else if (made.is_number())
      v.kind = made.is(ValKind::Int)    ? WrittenValue::Kind::Int
               : made.is(ValKind::Bool) ? WrittenValue::Kind::Bool
                                        : WrittenValue::Kind::Float;
    v.integer = made.integer;
    v.number = made.is(script::ValKind::Float) ? made.floating : double(made.integer);
    v.text = made.text;
    return v;
  }

  script::Reader& r_;
  script::FunctionState function_;
};

// The items of a text that is no expression as a whole.
WrittenValue by_brackets(std::string_view text) {
  WrittenValue v = word(text);
  if (text.size() < 2) return v;
  if (const auto dict = support::split_dict(text)) {
    v = of_kind(WrittenValue::Kind::Dict, text);
    for (const support::KeyValue& item : *dict) {
      v.keys.emplace_back(item.key);
      v.items.push_back(read_written_value(item.value));
    }
  } else if (text.front() == '[' && text.back() == ']') {
    v = of_kind(WrittenValue::Kind::List, text);
    for (const std::string_view item : support::split_items(text.substr(1, text.size() - 2)))
      v.items.push_back(read_written_value(item));
  }
  return v;
}

const ir::Attr* attr_of(script::Reader& r, cst::Node n) { return script::to_attr(r, script::eval(r, n), n); }

}  // namespace

WrittenValue read_written_value(std::string_view text) {
  text = support::trim(text);
  if (!cst::within_limits(text)) return word(text);
  ir::Context ctx;
  LoneExpression lone(ctx, text);
  return lone.node() ? ValueReader(lone.reader()).read(lone.node()) : by_brackets(text);
}

const ir::Type* read_written_type(ir::Context& ctx, std::string_view text, std::vector<const ir::Var*>& symbols) {
  if (!cst::within_limits(text)) return nullptr;
  LoneExpression lone(ctx, text);
  if (lone.node().is(cst::Kind::Identifier)) return nullptr;  // no declaration of a variable
  for (const ir::Var* v : symbols) lone.reader().names.scope.define(v->name, script::Val::of(v), {});
  lone.reader().lone_type = true;
  script::FunctionState function;
  function.in_signature = true;
  function.declare_bare = true;
  const ir::Type* type = lone.as(function, script::read_type);
  if (!type) return nullptr;
  for (const auto& [name, symbol] : function.symbols) symbols.push_back(symbol.var);
  return type;
}

const ir::Attr* read_written_attr(ir::Context& ctx, std::string_view text) {
  if (!cst::within_limits(text)) return nullptr;
  LoneExpression lone(ctx, text);
  script::FunctionState function;
  return lone.as(function, attr_of);
}

}  // namespace rldb::frontend
