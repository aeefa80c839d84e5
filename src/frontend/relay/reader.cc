// Files: version, definitions, the lone expression; and the entry points.
#include "frontend/relay/reader.h"

#include <fmt/format.h>

#include <algorithm>

#include "frontend/cst/parser.h"
#include "frontend/text.h"
#include "rldb/source/diagnostic_relay.h"

namespace rldb::frontend {

namespace relay_text {

namespace {

constexpr std::string_view kVersion = "\"0.0.5\"";

bool has_expression(const relay::AttrValue& v) {
  return v.kind == relay::AttrKind::Expression ||
         std::any_of(v.items.begin(), v.items.end(), [](const relay::AttrValue* i) { return has_expression(*i); });
}

bool has_expressions(const std::vector<relay::NamedAttr>& attrs) {
  return std::any_of(attrs.begin(), attrs.end(), [](const relay::NamedAttr& a) { return has_expression(*a.value); });
}

}  // namespace

bool Reader::read_version(Node file) {
  const Node version = file.child(Field::Version);
  if (version && version.text().find(kVersion) == std::string_view::npos) {
    error(version, diag::RelayOtherVersion, version.text());
    return false;
  }
  const Node first = file.first();
  const bool is_module = first.is(Kind::FunctionDefinition) || first.is(Kind::TypeDefinition);
  if (!version && is_module) {
    // Where the line would be.
    source::Span begin = first.span();
    begin.end = begin.begin + 3;
    out_.add(begin, source::message(diag::RelayNoVersion));
  }
  return true;
}

void Reader::use_initial() {
  if (options_.meta)
    for (const relay::MetaTable::Section& s : options_.meta->sections) {
      auto& entries = meta_[std::string(s.key)];
      entries.insert(entries.end(), s.entries.begin(), s.entries.end());
    }
  if (!options_.initial) return;
  for (const relay::TypeDefinition* t : options_.initial->types) {
    types_[t->name] = t;
    for (const relay::Constructor* c : t->constructors) constructors_[c->name] = c;
  }
  for (const relay::Definition& d : options_.initial->functions) functions_[d.name->name] = d;
}

void Reader::read_type(Node n) {
  const Node name = n.child(Field::Name);
  const Node body = n.child(Field::Body);
  type_vars_.open();
  relay::TypeDefinition t;
  t.name = ctx_.str(name.text());
  t.params = ctx_.list(type_params(n.child(Field::TypeParameters)));
  std::vector<const relay::Constructor*> made;
  if (body) read_constructors(body, t.name, made);
  type_vars_.close();
  t.constructors = ctx_.list(made);
  if (n.child(Field::Extern) && !made.empty()) error(body, diag::RelayExternConstructors);
  if (!types_.try_emplace(t.name, ctx_.make(t)).second) error(name, diag::RelayTypeTwice, t.name);
}

void Reader::read_constructors(Node n, std::string_view type_name, std::vector<const relay::Constructor*>& made) {
  for (const Node c : n.children()) {
    if (!c.is(Kind::Constructor)) continue;
    const Node name = c.child(Field::Name);
    const relay::Constructor* constructor =
        ctx_.constructor(name.text(), type_name, types_of(c), static_cast<std::uint32_t>(made.size()));
    ctx_.set_span(constructor, c.span());
    made.push_back(constructor);
    if (!constructors_.try_emplace(constructor->name, constructor).second)
      error(name, diag::RelayConstructorTwice, name.text());
  }
}

void Reader::read_global(Node n) {
  const Node name = n.child(Field::Name);
  const relay::GlobalVar* global = ctx_.global(name.text().substr(1));
  const relay::Function* f = memo_ ? function_of_module(n, global) : function(n);
  ctx_.set_span(f, n.span());
  const auto [at, is_new] = functions_.try_emplace(global->name, relay::Definition{global, f});
  if (is_new) return;
  error(name, diag::RelayGlobalTwice, name.text());
  at->second.function = f;
}

const relay::AttrValue* Reader::virtual_device(Node parameter) {
  std::vector<Node> nodes;
  for (const Node c : parameter.children())
    if (c.is(Kind::Attribute)) nodes.push_back(c);
  const relay::AttrValue* device = nullptr;
  const std::vector<relay::NamedAttr> attrs = attributes(nodes);
  for (std::size_t i = 0; i < attrs.size(); ++i) {
    if (attrs[i].name == "virtual_device")
      device = attrs[i].value;
    else
      error(nodes[i], diag::RelayUnknownAttribute, parameter.child(Field::Name).text(), attrs[i].name);
  }
  return device;
}

const relay::Var* Reader::parameter(Node n) {
  const Node name = n.child(Field::Name);
  const relay::AttrValue* device = virtual_device(n);
  const Node t = n.child(Field::Type);
  const relay::Type* annotation = t ? type(t) : nullptr;
  const relay::Var* v =
      memo_ && !device && !recording_ ? memo_->take_variable(name.text().substr(1), annotation) : nullptr;
  if (!v) v = ctx_.var(name.text().substr(1), annotation, device);
  ctx_.set_span(v, name.span());
  bind(name, v);
  return v;
}

Reader::Header Reader::header(Node n) {
  Header h;
  h.generics = type_params(n.child(Field::TypeParameters));
  std::vector<Node> attr_nodes;
  for (const Node p : n.child(Field::Parameters).children()) {
    if (p.is(Kind::Attribute)) {
      attr_nodes.push_back(p);
    } else if (p.is(Kind::Parameter)) {
      if (!attr_nodes.empty()) error(p, diag::RelayAttributesLast);
      h.params.push_back(parameter(p));
    }
  }
  h.attrs = attributes(attr_nodes);
  const Node result = n.child(Field::ReturnType);
  h.result = result ? type(result) : nullptr;
  return h;
}

const relay::Function* Reader::function(Node n) {
  locals_.open();
  type_vars_.open();
  const Header h = header(n);
  const relay::Expr* body = expr(n.child(Field::Body), Place::Item);
  type_vars_.close();
  locals_.close();
  return ctx_.function(h.generics, h.params, h.result, body, h.attrs);
}

const relay::Function* Reader::function_of_module(Node n, const relay::GlobalVar* name) {
  body_ = n.child(Field::Body);
  RelayFunction& f = memo_->open_function(name->name, n.row().begin, body_.row().begin, n.row().end);
  locals_.open();
  type_vars_.open();
  if (f.header_kept) {
    for (const relay::TypeVar* v : f.generics) type_vars_.bind(v->name, v);
    for (const relay::Var* p : f.params) locals_.bind(p->name, p);
  } else {
    const std::size_t found = out_.all().size();
    Header h = header(n);
    f.header_fresh = out_.all().size() != found || has_expressions(h.attrs);
    memo_->set_header(f, std::move(h.generics), std::move(h.params), h.result, std::move(h.attrs));
  }
  const relay::Expr* body = expr(body_, Place::Item);
  body_ = {};
  type_vars_.close();
  locals_.close();
  if (!f.header_kept || !f.function || f.function->body != body)
    f.function = ctx_.function(f.generics, f.params, f.result, body, f.attrs);
  memo_->close_function();
  return f.function;
}

void Reader::check_globals() {
  for (const auto& [name, at] : used_globals_) {
    if (functions_.contains(name)) continue;
    if (std::find(options_.externals.begin(), options_.externals.end(), name) != options_.externals.end()) continue;
    auto message = source::message(diag::RelayUnknownGlobal, fmt::format("@{}", name));
    std::vector<std::string_view> known;
    for (const auto& [other, definition] : functions_) known.push_back(other);
    std::sort(known.begin(), known.end());
    if (const std::string_view near = source::nearest(name, known); !near.empty())
      message.hint = fmt::format("did you mean `@{}`?", near);
    out_.add(at, std::move(message));
  }
}

RelayResult Reader::read(const cst::Tree& tree, RelayMemo* memo) {
  const Node file(&tree, 0);
  memo_ = memo;
  if (!read_version(file)) return {};
  for (const Node n : file.children())
    if (n.is(Kind::Metadata) && !read_metadata(ctx_, n, meta_, out_)) return {};
  use_initial();
  return read_definitions(file, false);
}

RelayResult Reader::read_again(const cst::Tree& tree) {
  const Node file(&tree, 0);
  graphs_.clear();
  graph_names_.clear();
  graph_definitions_ = 0;
  functions_.clear();
  used_globals_.clear();
  if (!read_version(file)) return {};
  return read_definitions(file, true);
}

RelayResult Reader::read_definitions(Node file, bool again) {
  file_ = file.tree()->file;
  locals_.open();
  type_vars_.open();
  bool after_extern = false, any = false;
  for (const Node n : file.children()) {
    const bool definition = n.is(Kind::FunctionDefinition) || n.is(Kind::TypeDefinition);
    if (definition && after_extern) error(n, diag::RelayAfterExtern);
    if (n.is(Kind::TypeDefinition) && !again) read_type(n);
    if (n.is(Kind::FunctionDefinition)) read_global(n);
    any = any || definition;
    after_extern = n.child(Field::Extern) || (after_extern && !definition);
  }
  const Node body = file.child(Field::Body);
  if (body && any) error(body, diag::RelayTwoKinds);
  const relay::Expr* value = body ? expr(body, Place::Item) : nullptr;
  if (!value || any) check_globals();
  type_vars_.close();
  locals_.close();

  std::vector<const relay::TypeDefinition*> types;
  for (const auto& [name, t] : types_) types.push_back(t);
  std::vector<relay::Definition> functions;
  for (const auto& [name, d] : functions_) functions.push_back(d);
  return {ctx_.module(std::move(types), std::move(functions), value), graph_definitions_, std::move(graph_names_)};
}

}  // namespace relay_text

// The first message comes first in the text.
void add_in_order(const source::Diagnostics& found, source::Diagnostics& out) {
  std::vector<source::Diagnostic> all = found.all();
  std::stable_sort(all.begin(), all.end(), [](const auto& a, const auto& b) { return a.span.begin < b.span.begin; });
  for (source::Diagnostic& d : all) out.add(std::move(d));
}

RelayResult parse_relay(relay::Context& ctx, const source::SourceManager& sources, source::FileId file,
                        source::Diagnostics& out, const RelayOptions& options) {
  const source::Buffer& buffer = sources.get(file);
  cst::TreeOptions tree_options;
  tree_options.grammar = cst::Grammar::Relay;
  tree_options.max_depth = options.max_depth;
  if (!check_relay_text(buffer, file, out)) return {};
  if (report_old_relay(buffer.text(), file, out)) return {};
  const cst::Tree tree = cst::parse_tree(file, buffer.text(), tree_options);
  source::Diagnostics mine;
  RelayResult result;
  if (relay_text::report_damage(tree, mine)) result = relay_text::Reader(ctx, mine, options).read(tree);
  if (mine.has_errors()) result.module = nullptr;
  add_in_order(mine, out);
  return result;
}

}  // namespace rldb::frontend
