// Repl: TVMScript and expressions entered without a command. At a stop the names of the selected frame come first.
#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "rldb/debug/storage.h"
#include "rldb/expression/language.h"
#include "rldb/frontend/parse.h"
#include "rldb/frontend/relay_entry.h"
#include "rldb/ir/printer.h"
#include "rldb/runtime/device_error.h"
#include "rldb/runtime/dtype.h"
#include "rldb/session/generated.h"
#include "rldb/source/diagnostic_entry.h"
#include "rldb/source/diagnostic_type.h"
#include "rldb/support/entry_function.h"
#include "rldb/support/text.h"
#include "rldb/ui/prompt/data.h"
#include "rldb/ui/prompt/state.h"
#include "ui/prompt/entry/frame_scope.h"
#include "ui/prompt/entry/lost_tensor.h"
#include "ui/prompt/entry/relay_entry.h"

namespace rldb::ui {

namespace {

// Reports session values that a name of the frame hides, or will hide.
void tell_hidden(Repl& repl, const std::vector<std::string>& defined) {
  if (!repl.debugger().active() || defined.empty()) return;
  const std::vector<std::string> ahead = debug::other_names(repl.debugger(), repl.frame()).ahead;
  for (const std::string& name : defined)
    if (!frame_name_kind(repl, name).empty() || std::find(ahead.begin(), ahead.end(), name) != ahead.end())
      repl.print("note: a value of the session; `{}` of the program is not changed\n", name);
}

// The languages differ where Relax has no type for what NumPy's rules compute.
void tell_difference(Repl& repl, std::string_view text) {
  source::Diagnostics found;
  FrameScope scope(repl, text);
  (void)repl.session().type_of(text, found);
  scope.close();
  for (const source::Diagnostic& d : found.all())
    if (d.id == source::DiagId(diag::OpTypeError))
      return repl.print("note: computed by NumPy's rules; in a Relax function this is an error: {}\n", d.message);
}

}  // namespace

namespace {

// The only line of an entry, without comments; the entry itself if it has several.
std::string_view only_line(std::string_view text) {
  std::string_view line;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    std::string_view next = text.substr(at, end - at);
    at = end + 1;
    char quote = 0;
    for (std::size_t i = 0; i < next.size(); ++i) {
      const char c = next[i];
      if (quote != 0)
        quote = c == quote ? 0 : quote;
      else if (c == '"' || c == '\'')
        quote = c;
      else if (c == '#')
        next = next.substr(0, i);
    }
    next = trim(next);
    if (!next.empty() && !line.empty()) return text;
    if (!next.empty()) line = next;
  }
  return line;
}

}  // namespace

// A name without a value in the selected frame may have one in another, which is then named.
void Repl::tell_other_frames(std::string_view text) {
  if (!debugger_->active() || json_) return;
  constexpr int kMostFrames = 64;
  const std::vector<debug::FrameInfo> frames = debugger_->frames();
  for (const std::string_view name : expression::names_in(text)) {
    if (!frame_name_kind(*this, name).empty() || session_->find_value(name)) continue;
    for (int f = 0; f < std::min(int(frames.size()), kMostFrames); ++f) {
      const std::vector<debug::LocalInfo> locals = f == frame_ ? std::vector<debug::LocalInfo>() : debugger_->locals(f);
      if (std::none_of(locals.begin(), locals.end(), [&](const debug::LocalInfo& l) { return l.name == name; }))
        continue;
      print("note: `{}` is a variable of frame {}, `{}`: `frame {}` selects it\n", name, f,
            frames[std::size_t(f)].where.function, f);
      break;
    }
  }
}

expression::Language Repl::language_of(std::string_view text) const {
  if (text.find('\n') != std::string_view::npos) return expression::Language::Script;
  return expression::language_of(text, [this](std::string_view name) { return kind_of_name(name); });
}

// Nothing that was freed is computed again to know.
expression::NameKind Repl::kind_of_name(std::string_view name) const {
  using expression::NameKind;
  if (debugger_->active()) {
    for (const debug::LocalInfo& local : debugger_->locals(frame_))
      if (local.name == name)
        return local.value.is(runtime::ValueKind::Tensor) || local.type.starts_with("R.Tensor") ? NameKind::Tensor
                                                                                                : NameKind::Other;
    for (const debug::SlotInfo& slot : debugger_->heap(frame_))
      if (slot.expression == name) return NameKind::Other;
  }
  if (const runtime::Value* value = session_->find_value(name))
    return value->is(runtime::ValueKind::Tensor) ? NameKind::Tensor : NameKind::Other;
  if (session_->module() && session_->module()->find(name)) return NameKind::Function;
  return session_->symbols().find(name) ? NameKind::Symbol : NameKind::Other;
}

// `text` is an expression, perhaps with a name for its value before it.
Status Repl::run_expression(std::string_view text) {
  const auto assignment = split_assignment(text);
  const bool named = assignment && is_one_name(assignment->target);
  if (named) text = assignment->expression;
  source::Diagnostics diagnostics;
  std::vector<std::string> notes;
  std::optional<debug::StopReport> stop;
  const auto value = debugger_->evaluate(text, frame_, diagnostics, &notes, debugger_->call_runner(stop, diagnostics));
  if (stop) return show_stop_in_call(*stop);
  session_->report_helpers(diagnostics);
  if (report(diagnostics) == Status::Failed || !value) return tell_other_frames(text), Status::Failed;
  if (const auto lost = runtime::take_device_error()) return fail(lost_tensor(*lost));
  last_.value = *value;
  if (value->is_null()) return Status::Good;
  last_.type = session::type_of_value(session_->context(), *value);
  session_->set_value("_", *value);
  if (named) session_->set_value(std::string(assignment->name), *value);
  show_result(*value, named ? assignment->name : std::string_view());
  for (const std::string& note : notes) print("note: {}\n", note);
  if (value->is(runtime::ValueKind::Tensor) && !json_) tell_difference(*this, text);
  if (named) tell_hidden(*this, {std::string(assignment->name)});
  return Status::Good;
}

// As in gdb, an expression is abandoned when its call stops.
Status Repl::show_stop_in_call(const debug::StopReport& stop) {
  const Status status = show_stop(stop);
  print(
      "note: stopped in a call made by the expression; the rest of it is abandoned, and `continue` prints the value of "
      "the call\n");
  return status;
}

// A name of the stopped frame, or a function of the module.
Status Repl::run_name(std::string_view name) {
  const ir::Expr* f = session_->module() ? session_->module()->find(name) : nullptr;
  if (!f || debugger_->active()) {
    source::Diagnostics diagnostics;
    std::vector<std::string> notes;
    const auto value = debugger_->evaluate(name, frame_, diagnostics, &notes);
    if (report(diagnostics) == Status::Failed || !value) return tell_other_frames(name), Status::Failed;
    last_.value = *value;
    if (!value->is_null()) session_->set_value("_", *value);
    show_result(*value);
    for (const std::string& note : notes) print("note: {}\n", note);
    tell_verb(name);
    return Status::Good;
  }
  last_.type = f->type;
  if (json_) return give({{"name", name}, {"type", type_json(f->type)}});
  print("{}: {}\n", name, f->type ? ir::print_type(f->type) : std::string("a function"));
  return Status::Good;
}

// `T.int64()`
static bool declares_symbol(std::string_view expression) {
  constexpr std::string_view kSpace = "T.", kCall = "()";
  if (!expression.starts_with(kSpace) || !expression.ends_with(kCall)) return false;
  expression.remove_prefix(kSpace.size());
  return runtime::parse_dtype(expression.substr(0, expression.size() - kCall.size())).has_value();
}

Status Repl::assign_in_frame(std::string_view target, std::string_view expression, std::string_view kind) {
  source::Diagnostics diagnostics;
  const auto done = debugger_->assign(target, expression, frame_, diagnostics);
  if (report(diagnostics) == Status::Failed || !done) return Status::Failed;
  print("{} {}\n", kind, *done);
  return Status::Good;
}

// The first function defined by an entry that has a frame on the stack; empty: none.
std::string Repl::on_the_stack(const session::EntryResult& result) const {
  if (!debugger_->active()) return {};
  for (const session::EntryResult::Item& item : result.items) {
    if (item.kind != frontend::ItemKind::Function && item.kind != frontend::ItemKind::Module) continue;
    // A kernel is replaced in the run.
    if (item.kind == frontend::ItemKind::Function && ir::isa<ir::PrimFunc>(session_->module()->find(item.name)) &&
        debugger_->kernel_of_run(item.name))
      continue;
    for (const debug::FrameInfo& f : debugger_->frames())
      if (item.kind == frontend::ItemKind::Module || item.name == f.where.function || item.name == f.where.written_in)
        return f.where.function;
  }
  return {};
}

// A name that needs no front end: at a stop, any but one that only a function of the module has; else such a function.
bool Repl::names_value(std::string_view name) const {
  const bool function = session_->module() && session_->module()->find(name) && !session_->find_value(name);
  if (!debugger_->active()) return function;
  return !function || !frame_name_kind(const_cast<Repl&>(*this), name).empty();
}

// If a kernel of the stopped run is redefined, later calls use its new form.
void Repl::replace_in_run(std::string_view name) {
  const auto* kernel = ir::as<ir::PrimFunc>(session_->module()->find(name));
  if (!kernel || !debugger_->active() || !debugger_->kernel_of_run(name)) return;
  source::Diagnostics diagnostics;
  if (debugger_->replace_kernel(name, kernel, session_->options().engine, diagnostics))
    print("{} is replaced in the stopped run too, from here on; `:call-again {}` repeats its last call with it\n", name,
          name);
  report(diagnostics);
}

static bool has_binding(const ir::Function* f, std::string_view name) {
  for (const ir::BindingBlock* block : f->body->blocks)
    for (const ir::Binding* b : block->bindings)
      if (b->var->name == name) return true;
  return false;
}

static bool has_parameter(const ir::Function* f, std::string_view name) {
  return std::any_of(f->params.begin(), f->params.end(), [&](const ir::Var* p) { return p->name == name; });
}

// Parameters count only where no function has a binding of that name.
std::vector<std::string> functions_that_bind(const ir::Module* module, std::string_view name) {
  std::vector<std::string> found;
  for (const auto has : {has_binding, has_parameter}) {
    if (!module || !found.empty()) break;
    for (const ir::ModuleEntry& entry : module->entries) {
      const auto* f = ir::as<ir::Function>(entry.function);
      if (!f || !has(f, name)) continue;
      if (entry.name == support::kEntryFunction) return {std::string(support::kEntryFunction)};
      found.emplace_back(entry.name);
    }
  }
  return found;
}

// A letter was taken for a name, and not for the verb that it also is.
void Repl::tell_verb(std::string_view name) {
  if (const Command* verb = find_bare_verb(name); verb && !json_)
    print("note: `:{}` is the command `{}`\n", name, verb->name);
}

// A name of the run that has finished. False: there is no such run, or it has no such name.
bool Repl::show_of_finished(std::string_view name) {
  if (!debugger_->finished() || session_->find_value(name)) return false;
  if (session_->module() && session_->module()->find(name)) return false;
  source::Diagnostics ignored;
  std::vector<std::string> notes;
  const auto value = debugger_->evaluate(name, 0, ignored, &notes);
  if (!value || value->is_null()) return false;
  last_.value = *value;
  session_->set_value("_", *value);
  show_result(*value, name);
  for (const std::string& note : notes) print("note: {}\n", note);
  tell_verb(name);
  return true;
}

// The name of a binding or parameter when nothing is stopped: its function is executed up to it, with made-up arguments
// where no value of the session has a parameter's name.
std::optional<Status> Repl::run_to_binding(std::string_view name) {
  if (debugger_->active() || !session_->module() || session_->find_value(name)) return std::nullopt;
  const std::vector<std::string> functions = functions_that_bind(session_->module(), name);
  if (functions.empty()) return std::nullopt;
  if (functions.size() > 1)
    return fail(source::message(diag::SeveralBindings, name, fmt::format("`{}`", fmt::join(functions, "`, `"))));
  source::Diagnostics diagnostics;
  const auto arguments = session_->arguments(functions[0], {}, diagnostics);
  if (report(diagnostics) == Status::Failed || !arguments) return Status::Failed;
  if (!json_)
    for (const std::string& line : session::generated_lines(*arguments)) print("{}\n", line);
  std::vector<runtime::Value> values;
  for (const session::Argument& a : *arguments) values.push_back(a.value);
  source::Diagnostics found;
  // A binding hides a parameter of its name.
  const bool bound = has_binding(ir::as<ir::Function>(session_->module()->find(functions[0])), name);
  const auto parameter = std::find_if(arguments->begin(), arguments->end(),
                                      [&](const session::Argument& a) { return !bound && a.parameter == name; });
  const auto value = parameter != arguments->end() ? std::optional(parameter->value)
                                                   : session_->value_of_binding(functions[0], name, values, found);
  if (report(found) == Status::Failed) return Status::Failed;
  if (!value) return fail(source::message(diag::BindingNotReached, name, functions[0]));
  last_.value = *value;
  if (!value->is_null()) {
    session_->set_value("_", *value);
    show_result(*value, name);
  }
  if (!json_) print("note: the value of `{}` in a run of `{}` up to it\n", name, functions[0]);
  tell_verb(name);
  return Status::Good;
}

Status Repl::run_entry(std::string_view text) {
  repeatable_.clear();
  forced_ = false;
  if (frontend::begins_relay(text)) return run_relay_entry(*this, text);
  if (text.starts_with("for ")) return run_loop(text);
  if (is_one_name(text) && text != "_") {
    if (show_of_finished(text)) return Status::Good;
    if (const auto status = run_to_binding(text)) return *status;
  }
  if (is_one_name(text) && text != "_" && names_value(text)) return run_name(text);
  if (const auto assignment = split_assignment(text))
    if (const std::string_view kind = frame_name_kind(*this, assignment->name); !kind.empty()) {
      if (declares_symbol(assignment->expression))
        return fail(source::message(diag::NameOfFrame, assignment->name, kind));
      return assign_in_frame(assignment->target, assignment->expression, kind);
    }

  const std::string_view line = only_line(text);
  const auto named = split_assignment(line);
  const bool kept = named && named->name.starts_with('$');  // a name that TVMScript does not have
  if (kept ||
      language_of(named && is_one_name(named->target) ? named->expression : line) == expression::Language::Expression)
    return run_expression(line);

  source::Diagnostics diagnostics;
  std::unique_ptr<session::Program> program = session_->program() ? session_->program()->copy() : nullptr;
  FrameScope scope(*this, text.starts_with('@') || text.starts_with("class ") ? std::string_view() : text);
  std::optional<debug::StopReport> stop;
  session::EntryResult result = session_->enter(text, diagnostics, debugger_->call_runner(stop, diagnostics));
  std::vector<std::string> defined;
  for (const session::EntryResult::Item& item : result.items)
    if (result.ok && item.kind == frontend::ItemKind::Binding) defined.push_back(item.name);
  scope.close(defined);
  if (stop) return report(diagnostics) == Status::Failed ? Status::Failed : show_stop(*stop);
  session_->report_helpers(diagnostics);
  const Status status = report(diagnostics);
  if (!result.ok || status == Status::Failed) return tell_other_frames(text), Status::Failed;
  if (const std::string running = on_the_stack(result); !running.empty()) {
    if (!may_end_run(fmt::format("a new definition of the executed function `{}`", running))) {
      session_->set_program(std::move(program));
      return Status::Failed;
    }
    debugger_->kill();
  }
  for (const session::EntryResult::Item& item : result.items) {
    last_.type = item.type;
    switch (item.kind) {
      case frontend::ItemKind::Module:
        show_defined(item.name, fmt::format("module {} ({})", item.name,
                                            support::counted(session_->module()->entries.size(), "function")));
        break;
      case frontend::ItemKind::Function:
        show_defined(item.name, fmt::format("defined {}", item.name));
        replace_in_run(item.name);
        break;
      case frontend::ItemKind::Binding:
      case frontend::ItemKind::Expression:
        last_.value = item.value;
        if (item.value && !item.value->is_null()) show_result(*item.value, item.name);
        break;
      case frontend::ItemKind::Symbols:
        break;
    }
  }
  for (const std::string& note : scope.notes()) print("note: {}\n", note);
  tell_hidden(*this, defined);
  debugger_->resolve_breakpoints();
  return Status::Good;
}

}  // namespace rldb::ui
