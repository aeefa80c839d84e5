// `:mem`: the memory plan of functions.
#include <fmt/format.h>

#include "rldb/source/diagnostic_missing.h"
#include "rldb/source/diagnostic_program.h"
#include "rldb/ui/prompt/data.h"
#include "rldb/ui/prompt/reader.h"
#include "rldb/ui/prompt/state.h"
#include "rldb/ui/render/memory_view.h"
#include "rldb/ui/terminal/window_size.h"
#include "ui/prompt/view.h"

namespace rldb::ui {

namespace {

// Shows every tensor with that name; false: there is none.
bool show_sharing(Repl& repl, const std::vector<passes::FunctionMemory>& functions, std::string_view name,
                  const MemoryView& view) {
  bool found = false;
  Json rows = Json::array();
  for (const passes::FunctionMemory& m : functions) {
    for (std::size_t i = 0; i < m.tensors.size(); ++i) {
      if (m.tensors[i].name != name) continue;
      found = true;
      if (repl.wants_json()) {
        rows.push_back(Json::parse(sharing_json(m, i, view)));
        continue;
      }
      if (functions.size() > 1) repl.print("{}:\n", m.function);
      repl.console().write(sharing_text(m, i, view));
    }
  }
  if (found && repl.wants_json()) repl.give(rows);
  return found;
}

}  // namespace

Status command_Mem(Repl& repl, std::string_view rest) {
  const std::vector<std::string> words = split_words(rest);
  if (words.size() > 2) return Status::Usage;
  session::Session& session = repl.session();
  const ir::Module* module = session.module();
  const bool first_is_function = !words.empty() && ir::isa<ir::Function>(module->find(words[0]));
  if (words.size() == 2 && !first_is_function)
    return repl.fail(source::message(diag::NoSuchThing, "Relax function", words[0]));
  const std::string_view function = first_is_function ? std::string_view(words[0]) : std::string_view();
  const std::string_view name = words.size() == 2   ? std::string_view(words[1])
                                : first_is_function ? std::string_view()
                                : words.empty()     ? std::string_view()
                                                    : std::string_view(words[0]);
  source::Diagnostics diagnostics;
  passes::PassEnv env{session.context(), diagnostics};
  auto functions = passes::memory_of(env, module, session.options().dims, function);
  if (!functions.ok()) return repl.fail(std::move(functions).error());
  const MemoryView view = memory_view(session, repl.ask ? window_size().width : MemoryView().width);
  if (repl.wants_json() && name.empty()) return repl.give(Json::parse(memory_json(*functions, view)));
  if (name.empty()) {
    repl.console().write(memory_text(*functions, view));
    repl.keep({OutputKind::Picture, memory_svg(*functions, view), {}, {}, {}});
    return Status::Good;
  }
  if (!show_sharing(repl, *functions, name, view))
    return repl.fail(source::message(diag::NoSuchThing, "function, or tensor that a function allocates,", name));
  return Status::Good;
}

}  // namespace rldb::ui
