// The entry points: modules and lone expressions, with version line and metadata.
#include "rldb/relay/ir/printer.h"

#include "relay/ir/print/printer_impl.h"

namespace rldb::relay {

namespace {

std::string type_definition(const TypeDefinition& t, print_detail::Values& values) {
  std::string text = "type " + std::string(t.name);
  if (!t.params.empty()) {
    text += '[';
    for (const TypeVar* v : t.params) text += (v == t.params.front() ? "" : ", ") + std::string(v->name);
    text += ']';
  }
  text += " {\n  ";
  for (const Constructor* c : t.constructors) {
    if (c != t.constructors.front()) text += "\n  ";
    text += c->name;
    if (!c->fields.empty()) {
      std::string fields;
      for (const Type* f : c->fields) fields += (fields.empty() ? "" : ", ") + values.type(f);
      text += "(" + fields + ")";
    }
    text += ',';
  }
  return text + "\n}";
}

std::string definitions(const Module* m, print_detail::Values& values, print_detail::Printer& printer) {
  std::string text;
  for (const TypeDefinition* t : m->types) text += (text.empty() ? "" : "\n") + type_definition(*t, values) + "\n";
  for (const Definition& d : m->functions) text += (text.empty() ? "" : "\n") + printer.definition(d) + "\n";
  return text;
}

}  // namespace

std::string print(const Module* m, const PrintOptions& options, MetaTable* used) {
  print_detail::Values values;
  print_detail::Printer printer(values);
  std::string text = options.version ? "#[version = \"0.0.5\"]\n" : "";
  text += definitions(m, values, printer);
  if (m->body) text += printer.expression(m->body);
  const MetaTable& table = values.meta().table();
  if (options.metadata && !table.sections.empty()) {
    if (!text.ends_with('\n')) text += '\n';
    text += "\n#[metadata]\n" + print_detail::metadata_json(table);
  }
  if (used) *used = table;
  return text;
}

std::string print_expr(const Expr* e) {
  print_detail::Values values;
  return print_detail::Printer(values).expression(e);
}

}  // namespace rldb::relay
