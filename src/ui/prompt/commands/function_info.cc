// `:info FUNCTION`: its place, signature and size, and who calls whom.
#include <fmt/format.h>

#include <algorithm>

#include "rldb/ir/printer.h"
#include "rldb/ir/signature.h"
#include "rldb/ir/walk.h"
#include "rldb/ops/op_info.h"
#include "rldb/support/text.h"
#include "rldb/ui/prompt/state.h"
#include "ui/prompt/commands/binding_info.h"
#include "ui/prompt/view.h"

namespace rldb::ui {

namespace {

constexpr std::size_t kMostNames = 8;  // of one line

using Names = std::vector<std::string>;

void add_once(Names& names, std::string name) {
  if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(std::move(name));
}

std::string listed(const Names& names) {
  if (names.empty()) return "none";
  const std::size_t shown = std::min(names.size(), kMostNames);
  std::string text = fmt::format("{}", fmt::join(names.begin(), names.begin() + std::ptrdiff_t(shown), ", "));
  if (shown < names.size()) text += fmt::format(" and {} more", names.size() - shown);
  return text;
}

// Functions of the module that `f` names, as callees or as arguments.
Names called_by(const ir::Expr* f) {
  Names names;
  ir::walk(f, [&](const ir::Node* n) {
    if (const auto* g = ir::as<ir::GlobalVar>(n)) add_once(names, std::string(g->name));
    return true;
  });
  return names;
}

Names operators_of(const ir::Expr* f) {
  Names names;
  ir::walk(f, [&](const ir::Node* n) {
    const auto* op = ir::as<ir::Op>(n);
    if (const ops::OpInfo* row = op ? ops::find(op->name) : nullptr)
      add_once(names, fmt::format("R.{}", row->short_name()));
    return true;
  });
  return names;
}

// `main:lv1`, `main` where the function is named outside of a binding.
Names callers_of(const ir::Module* module, std::string_view name) {
  Names names;
  for (const ir::ModuleEntry& entry : module->entries) {
    const ir::Binding* binding = nullptr;
    ir::walk(entry.function, [&](const ir::Node* n) {
      if (const auto* b = ir::as<ir::Binding>(n)) binding = b;
      const auto* g = ir::as<ir::GlobalVar>(n);
      if (g && g->name == name)
        add_once(names, fmt::format("{}{}", entry.name, binding ? fmt::format(":{}", binding->var->name) : ""));
      return true;
    });
  }
  return names;
}

template <class Kind>
std::size_t count_of(const ir::Expr* f) {
  std::size_t count = 0;
  ir::walk(f, [&](const ir::Node* n) {
    count += ir::isa<Kind>(n);
    return true;
  });
  return count;
}

std::string place_of(Repl& repl, const ir::Expr* f) {
  const source::Span span = repl.session().context().span_of(f);
  const source::Buffer* buffer = repl.session().sources().find(span.file);
  return buffer ? fmt::format(", {}:{}", buffer->name(), buffer->line_column(span.begin).line) : std::string();
}

std::string size_of(const ir::Expr* f) {
  if (const auto* relax = ir::as<ir::Function>(f))
    return fmt::format("{}, {}", support::counted(count_of<ir::Binding>(f), "binding"),
                       relax->is_pure ? "pure" : "impure");
  if (!ir::isa<ir::PrimFunc>(f)) return {};
  const bool has_root = ir::isa<ir::SBlockRealize>(ir::cast<ir::PrimFunc>(f)->body);  // which the text leaves out
  return fmt::format("{}, {}", support::counted(count_of<ir::ForStmt>(f), "loop"),
                     support::counted(count_of<ir::SBlock>(f) - (has_root ? 1 : 0), "block"));
}

}  // namespace

std::string_view kind_of_function(const ir::Expr* f) {
  if (ir::isa<ir::Function>(f)) return "relax function";
  if (ir::isa<ir::PrimFunc>(f)) return "prim func";
  if (ir::isa<ir::ExternFunc>(f)) return "extern";
  return "python function";
}

std::string short_signature(const ir::Expr* f, std::size_t columns) {
  std::string text = ir::signature_text(f);
  for (std::size_t most = 4; text.size() > columns && most-- > 0;) text = ir::signature_text(f, most);
  return text;
}

void show_function(Repl& repl, std::string_view name, const ir::Expr* f) {
  repl.print("{}: {}{}\n", name, kind_of_function(f), place_of(repl, f));
  const std::vector<std::string> parameters = ir::parameter_texts(f);
  for (std::size_t i = 0; i < std::min(parameters.size(), kMostNames); ++i)
    repl.print("{:<12}{}\n", i == 0 ? "parameters:" : "", parameters[i]);
  if (parameters.size() > kMostNames) repl.print("{:<12}and {} more\n", "", parameters.size() - kMostNames);
  if (const auto* relax = ir::as<ir::Function>(f)) repl.print("returns:    {}\n", ir::print_type(relax->ret_type));
  if (ir::isa<ir::Function>(f)) repl.print("operators:  {}\n", listed(operators_of(f)));
  if (const std::string size = size_of(f); !size.empty()) repl.print("body:       {}\n", size);
  if (!ir::isa<ir::ExternFunc>(f)) repl.print("calls:      {}\n", listed(called_by(f)));
  repl.print("called by:  {}\n", listed(callers_of(repl.session().module(), name)));
}

}  // namespace rldb::ui
