// Files: imports, TypeVars and metadata first, then classes and functions outside of classes.

#include <algorithm>

#include "frontend/cst/node_kinds.def"
#include "frontend/script/limits.h"
#include "frontend/script/metadata.h"
#include "frontend/script/module.h"
#include "frontend/script/module_parts.h"
#include "rldb/ir/attr_name/symbol.h"
#include "rldb/source/diagnostic_script_function.h"
#include "rldb/source/diagnostic_syntax.h"

namespace rldb::frontend::script {

namespace {

Space space_of_module(std::string_view dotted) {
  if (dotted == "relax" || dotted.ends_with(".relax")) return Space::Relax;
  if (dotted == "tir" || dotted == "tirx" || dotted.ends_with(".tir") || dotted.ends_with(".tirx") || dotted == "ty")
    return Space::Tir;
  if (dotted == "ir" || dotted.ends_with(".ir") || dotted == "script" || dotted.ends_with(".script")) return Space::Ir;
  if (dotted == "tvm") return Space::Tvm;
  return Space::Other;
}

}  // namespace

static void set_default_spaces(Imports& imports) {
  for (const auto& [name, space] : {std::pair<std::string_view, Space>{"R", Space::Relax},
                                    {"relax", Space::Relax},
                                    {"T", Space::Tir},
                                    {"Tx", Space::Tir},
                                    {"tir", Space::Tir},
                                    {"tirx", Space::Tir},
                                    {"ty", Space::Tir},
                                    {"I", Space::Ir},
                                    {"ir", Space::Ir},
                                    {"tvm", Space::Tvm}})
    imports.add(name, space);
}
void set_default_spaces(Reader& r) { set_default_spaces(r.imports); }

namespace {

void read_import(Imports& imports, Node s) {
  const bool from = s.is(Kind::ImportFromStatement);
  const std::string_view module = from ? s.child(Field::Module).text() : std::string_view();
  for (Node n : s.children()) {
    if (n.field() != Field::Name) continue;
    const Node name = n.is(Kind::AliasedImport) ? n.child(Field::Name) : n;
    const Node alias = n.is(Kind::AliasedImport) ? n.child(Field::Alias) : n;
    if (from &&
        (module == "tvm.script" || module == "tvm" || module == "tvm.script.parser" || module.ends_with("script"))) {
      const Space space = space_of_module(name.text());
      if (space != Space::Other) imports.add(alias.text(), space);
      if (name.text() == "tirx" && n.is(Kind::AliasedImport)) imports.note_tirx();
      if (name.text() == "tir" && n.is(Kind::AliasedImport)) imports.note_tir();
    } else if (!from) {
      const std::string_view root = name.text().substr(0, name.text().find('.'));
      if (n.is(Kind::AliasedImport)) {
        if (const Space space = space_of_module(name.text()); root == "tvm" && space != Space::Other)
          imports.add(alias.text(), space);
      }
    }
  }
}

// The header that TVM prints is a comment: `# from tvm.script import tirx as T`.
void read_comment_header(Imports& imports, std::string_view text) {
  const std::string_view head = text.substr(0, std::min<std::size_t>(text.size(), std::size_t(1) << 20));
  if (head.find("import tirx as T") != std::string_view::npos) imports.note_tirx();
  if (head.find("import tir as T") != std::string_view::npos) imports.note_tir();
}

// A value of a Python line at file level that is simple enough to read; anything else is left alone.
bool is_plain_value(Reader& r, Node n) {
  static constexpr Kind kLiterals[] = {Kind::Integer, Kind::Float, Kind::String, Kind::ConcatenatedString,
                                       Kind::Boolean, Kind::None};
  static constexpr Kind kCompound[] = {Kind::Tuple, Kind::List, Kind::Unary, Kind::Binary, Kind::Parenthesized};
  if (n.is(Kind::Identifier)) return find_name(r, n.text()) != nullptr;
  if (std::ranges::find(kLiterals, n.kind()) != std::end(kLiterals)) return true;
  if (std::ranges::find(kCompound, n.kind()) == std::end(kCompound)) return false;
  for (Node c : n.children())
    if (c.field() != Field::Operator && !is_plain_value(r, c)) return false;
  return true;
}

void read_file_binding(Reader& r, Node s, std::vector<const ir::Var*>* symbols) {
  const Node target = s.child(Field::Target), value = s.child(Field::Value);
  collect_type_var(r, s);
  if (!target.is(Kind::Identifier) || is_type_var(s)) return;
  if (target.text() == "metadata") return note_metadata(r, value);
  if (const auto dtype = symbol_declaration(r, value)) {
    const ir::Var* v = r.at(r.ctx.var(target.text(), r.ctx.prim(*dtype)), target);
    r.names.scope.define(v->name, Val::of(v), target.span());
    if (symbols) symbols->push_back(v);
    return;
  }
  if (!is_plain_value(r, value)) return;
  const Val v = eval(r, value);
  r.names.scope.define(target.text(), within_limits(r, v, target.text(), target) ? v : Val(), target.span());
}

}  // namespace

std::vector<Node> statements_of(const cst::Tree& tree) {
  std::vector<Node> out;
  const Node root(&tree, 0);
  for (Node s : root.children()) {
    if (s.is(Kind::UnexpectedIndent)) {
      for (Node c : s.children()) out.push_back(c);
    } else {
      out.push_back(s);
    }
  }
  return out;
}

Imports imports_of(const std::vector<Node>& imports, std::string_view text) {
  Imports out;
  set_default_spaces(out);
  read_comment_header(out, text);
  for (Node n : imports) read_import(out, n);
  return out;
}

// Imports, TypeVars and metadata determine how to read the rest, wherever they occur.
void read_preamble(Reader& r, const std::vector<Node>& statements) {
  set_default_spaces(r);
  read_comment_header(r.imports, r.text);
  for (Node s : statements) {
    if (s.is(Kind::ImportStatement) || s.is(Kind::ImportFromStatement)) read_import(r.imports, s);
    if (s.is(Kind::Binding)) {
      collect_type_var(r, s);
      if (s.child(Field::Target).text() == "metadata") note_metadata(r, s.child(Field::Value));
    }
    if (s.is(Kind::MacroDefinition)) define_macro(r, s);
    if (s.is(Kind::Module))
      for (Node c : s.child(Field::Body).children())
        if (c.is(Kind::Binding)) collect_type_var(r, c);
  }
}

namespace {

// A lone function is known by its global_symbol when that is not its `def` name; siblings call it by the latter.
void name_by_symbol(Reader& r, ModuleState& lone) {
  if (lone.members.size() != 1) return;
  Member& m = lone.members.front();
  const auto* f = ir::as<ir::Function>(m.function);
  const ir::Attr* symbol = f ? ir::find_attr(f->attrs, attr_name::GlobalSymbol) : nullptr;
  if (!symbol || !symbol->is(ir::AttrKind::String) || m.var) return;
  m.name = r.ctx.str(symbol->string);
}

}  // namespace

ParsedItem lone_item(const Member& m) {
  ParsedItem item{};
  item.kind = ItemKind::Function;
  item.span = m.span;
  item.name = m.name;
  item.function = m.function;
  item.broken = m.broken || !m.function;
  return item;
}

void add_lone_items(Reader& r, ModuleState& lone, ParseResult& out) {
  for (Member& m : lone.members) read_member(r, m);
  name_by_symbol(r, lone);
  for (const Member& m : lone.members) out.items.push_back(lone_item(m));
}

namespace {

bool is_tvm_class(Reader& r, Node n) {
  // Any class with a decorator ir_module or rewriter (a rewrite rule), and classes derived from BasePyModule.
  for (Node d : n.children()) {
    if (d.field() != Field::Decorator) continue;
    if (d.text().find("ir_module") != std::string_view::npos || d.text().find(".rewriter") != std::string_view::npos)
      return true;
  }
  (void)r;
  return n.child(Field::Superclasses).text().find("Module") != std::string_view::npos;
}

}  // namespace

void sort_items(ParseResult& out) {
  std::stable_sort(out.items.begin(), out.items.end(),
                   [](const ParsedItem& a, const ParsedItem& b) { return a.span.begin < b.span.begin; });
}

// `@tvm.register_func("name") def ...`: Python, which is not run.
static void warn_of_registration(Reader& r, Node s) {
  for (Node d : s.children()) {
    if (d.field() != Field::Decorator) continue;
    const std::string_view text = d.text();
    if (text.find("register_func") == std::string_view::npos &&
        text.find("register_global_func") == std::string_view::npos)
      continue;
    const std::size_t quote = text.find_first_of("\"'");
    const std::size_t end = quote == std::string_view::npos ? quote : text.find(text[quote], quote + 1);
    const std::string_view name =
        end == std::string_view::npos ? s.child(Field::Name).text() : text.substr(quote + 1, end - quote - 1);
    r.error(d, diag::RegisteredInPython, name, name);
  }
}

ParseResult read_file(Reader& r, const cst::Tree& tree) {
  ParseResult out;
  const std::vector<Node> statements = statements_of(tree);
  read_preamble(r, statements);
  ModuleState& lone = r.modules.emplace_back();
  lone.name = "Module";
  lone.span = {r.file, 0, static_cast<std::uint32_t>(r.text.size())};
  lone.check_well_formed = r.options.check_well_formed;
  r.module = &lone;
  bool saw_class = false;
  for (Node s : statements) {
    if (is_function(s.kind())) add_member(r, lone, s.child(Field::Name).text(), s.child(Field::Name), s);
    if (!is_function(s.kind())) warn_of_registration(r, s);
    if (const Node name = s.child(Field::Name); s.is(Kind::FunctionDefinition) && name)
      if (auto misspelt = misspelt_function(r.text, s.span().begin, name.span())) r.report(std::move(*misspelt));
    if (s.is(Kind::Binding)) {
      if (s.child(Field::Target).is(Kind::Identifier) &&
          is_call_to(r, s.child(Field::Value), Space::Relax, "ExternFunc")) {
        add_member(r, lone, s.child(Field::Target).text(), s.child(Field::Target), s.child(Field::Value));
      } else {
        read_file_binding(r, s, nullptr);
      }
    }
  }
  for (Node s : statements) {
    if (!s.is(Kind::Module)) continue;
    if (!is_tvm_class(r, s)) {
      if (auto undecorated =
              undecorated_module(r.text, s.span().begin, s.child(Field::Name).span(), s.child(Field::Body).text()))
        r.report(std::move(*undecorated));
      continue;
    }
    saw_class = true;
    out.items.push_back(read_module(r, s, out.gaps));
    if (!out.module) {
      out.module = out.items.back().module;
      out.check_well_formed = read_function_options(r, s).check_well_formed;
    }
  }
  add_lone_items(r, lone, out);
  if (!saw_class && !lone.members.empty()) {
    bool broken = false;
    out.module = build_module(r, lone, broken, out.gaps);
    if (lone.members.size() == 1 && !lone.members.front().damaged_header)
      out.check_well_formed = read_function_options(r, lone.members.front().node).check_well_formed;
  }
  r.module = nullptr;
  if (saw_class || lone.members.empty()) r.modules.pop_front();
  sort_items(out);
  if (out.items.empty() && !r.out.has_errors()) r.error(Node(&tree, 0), diag::NothingToRead);
  return out;
}

}  // namespace rldb::frontend::script
