// Breakpoints: from the user's words to instructions, and whether one stops the machine at its current place.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <limits>
#include <set>
#include <utility>

#include "debug/impl.h"
#include "debug/look/script_call.h"
#include "debug/look/values.h"
#include "rldb/expression/language.h"
#include "rldb/onnx/model.h"
#include "rldb/source/diagnostic_debug.h"
#include "rldb/source/diagnostic_missing.h"
#include "rldb/source/diagnostic_program.h"
#include "rldb/support/text.h"

namespace rldb::debug {

using bytecode::Arg;
using bytecode::ArgKind;
using bytecode::FunctionKind;
using bytecode::Instruction;
using bytecode::Opcode;

namespace {

std::optional<std::uint32_t> number(std::string_view text) {
  std::uint32_t value = 0;
  const auto parsed = std::from_chars(text.data(), text.data() + text.size(), value);
  if (text.empty() || parsed.ec != std::errc() || parsed.ptr != text.data() + text.size()) return std::nullopt;
  return value;
}

constexpr std::string_view kOperator = "op:";  // `op:matmul`: each call of an operator in the text
constexpr std::string_view kNode = "node:";    // `node:/conv1/Conv`: a node of the ONNX model behind the module

source::Message unknown(std::string_view what, std::string_view name, const std::vector<std::string>& candidates) {
  source::Message m = source::message(diag::NoSuchThing, what, name);
  std::vector<std::string_view> views(candidates.begin(), candidates.end());
  std::sort(views.begin(), views.end());
  views.erase(std::unique(views.begin(), views.end()), views.end());
  if (const std::string_view near = source::nearest(name, views); !near.empty())
    m.hint = fmt::format("did you mean `{}`?", near);
  return m;
}

void add_sorted(std::vector<Site>& sites, const std::vector<Site>& more) {
  sites.insert(sites.end(), more.begin(), more.end());
  std::sort(sites.begin(), sites.end());
  sites.erase(std::unique(sites.begin(), sites.end()), sites.end());
}

}  // namespace

bool names_file(std::string_view said, std::string_view file) {
  if (said == file) return true;
  return file.size() > said.size() && file.ends_with(said) && file[file.size() - said.size() - 1] == '/';
}

// ---- the program ----

std::shared_ptr<const CodeMap> Debugger::Impl::code_of(std::shared_ptr<const session::Build> build) const {
  if (!code || code->build() != build) code = std::make_shared<const CodeMap>(std::move(build), session);
  return code;
}

std::shared_ptr<const CodeMap> Debugger::Impl::current_code() {
  if (run && last.kind != StopKind::Finished) return code_of(run->code().build());
  if (!session.program()) return nullptr;
  source::Diagnostics ignored;  // a program that does not build is diagnosed when it is run
  auto build = session.viewable(ignored);
  return build ? code_of(std::move(build)) : nullptr;
}

// ---- specs ----

Debugger::Impl::Resolved Debugger::Impl::resolve(std::string_view spec, const CodeMap* map) const {
  if (!map) return {{}, true, source::message(diag::NoProgram)};
  if (spec.starts_with('*')) {
    const auto pc = number(spec.substr(1));
    if (pc && Pc(*pc) < map->executable().end()) return {{Site{Pc(*pc)}}, false, {}};
    return {{}, false, source::message(diag::NoSuchNumber, "instruction", spec.substr(1))};
  }
  if (spec.starts_with(kNode)) return resolve_node(support::trim(spec.substr(kNode.size())), *map);
  if (spec.starts_with(kOperator)) return resolve_operator(support::trim(spec.substr(kOperator.size())), *map);
  if (run && run->in_kernel() && number(spec)) {
    const KernelStepper& k = *run->kernel();
    return resolve_in_kernel(KernelText(session, k.name(), k.function()), spec, *map);
  }
  if (const auto line = number(spec)) return resolve_line(default_file(*map), *line, *map);
  if (const auto colon = spec.rfind(':'); colon != std::string_view::npos) {
    const std::string_view before = spec.substr(0, colon), after = spec.substr(colon + 1);
    if (const auto text = kernel_text(before, *map)) return resolve_in_kernel(*text, after, *map);
    if (const auto line = number(after)) return resolve_line(before, *line, *map);
    return resolve_binding(before, after, *map);
  }
  return resolve_name(spec, *map);
}

std::string Debugger::Impl::default_file(const CodeMap& map) const {
  if (const source::Buffer* b = session.sources().find(last.where.span.file); b && run) return b->name();
  for (const UserBinding& b : map.bindings())
    if (b.file == session.program_path()) return b.file;
  for (const UserBinding& b : map.bindings())
    if (!b.file.empty()) return b.file;
  return session.program_path();
}

// The first code of the bindings that a node became, each time that it was expanded.
Debugger::Impl::Resolved Debugger::Impl::resolve_node(std::string_view label, const CodeMap& map) const {
  const onnx::Translation* model = session.program()->onnx();
  if (!model)
    return {
        {}, false, source::message(diag::NoSuchThing, "node", label).with_hint("the program was not an ONNX model")};
  const onnx::Node* node = model->find(label);
  if (!node) {
    std::vector<std::string> labels;
    for (const std::vector<onnx::Node>* all : {&model->nodes, &model->inner})
      for (const onnx::Node& n : *all) labels.push_back(n.label);
    return {{}, false, unknown("node", label, labels)};
  }
  Resolved r;
  std::vector<std::pair<std::uint32_t, int>> by_number;
  for (std::size_t i = 0; i < map.bindings().size(); ++i)
    if (map.has_code(int(i))) by_number.emplace_back(map.bindings()[i].node, int(i));
  std::sort(by_number.begin(), by_number.end());
  bool became_something = false;
  std::vector<int> begins;
  for (const auto& [first, last] : node->made) {
    became_something = became_something || first <= last;
    // The first one of the text: the parts of a loop's function are made before what calls it.
    int begin = -1;
    for (auto at = std::lower_bound(by_number.begin(), by_number.end(), std::pair(first, 0));
         at != by_number.end() && at->first <= last; ++at)
      if (begin < 0 || at->second < begin) begin = at->second;
    if (begin >= 0) begins.push_back(begin);
  }
  // One pass over the code: a function that is called again and again begins as often.
  std::sort(begins.begin(), begins.end());
  for (Pc pc = 0; !begins.empty() && pc < Pc(map.executable().instruction_count()); ++pc) {
    if (!map.starts().test(pc)) continue;
    const std::vector<int>& group = map.group_of(pc);
    for (std::size_t part = 0; part < group.size(); ++part)
      if (std::binary_search(begins.begin(), begins.end(), group[part])) r.sites.push_back({pc, int(part)});
  }
  // Of a module that passes have rewritten: by its place.
  for (std::size_t i = 0; became_something && i < map.bindings().size() && r.sites.empty(); ++i) {
    const source::Span at = map.bindings()[i].span;
    if (at.file == node->place.file && at.begin == node->place.begin) add_sorted(r.sites, map.starts_of(int(i)));
  }
  if (r.sites.empty())
    r.problem = source::message(diag::NoSuchThing, "code for the node", label)
                    .with_hint("its value was computed when the model was translated, or passes removed it");
  return r;
}

// Behind the last binding of a function: where it returns.
static std::vector<Site> returns_at(const session::Session& session, std::string_view file, std::uint32_t line,
                                    const CodeMap& map) {
  std::vector<Site> sites;
  if (!map.build()->source) return sites;
  for (const ir::ModuleEntry& e : map.build()->source->entries) {
    const source::Span span = session.context().span_of(e.function);
    const source::Buffer* buffer = session.sources().find(span.file);
    if (!buffer || !names_file(file, buffer->name()) || !ir::isa<ir::Function>(e.function)) continue;
    if (line < buffer->line_column(span.begin).line || line > buffer->line_column(span.end).line) continue;
    const FunctionIndex f = map.executable().find_function(e.name);
    if (f < 0 || map.executable().functions[std::size_t(f)].kind != FunctionKind::Bytecode) continue;
    for (const Pc pc : map.returns(f)) sites.push_back({pc});
  }
  return sites;
}

// The nearest binding at or after the line, in the function that contains the line, or its end. Of one without code (a
// transpose that was made a part of a product): the next one.
Debugger::Impl::Resolved Debugger::Impl::resolve_line(std::string_view file, std::uint32_t line,
                                                      const CodeMap& map) const {
  if (const auto text = kernel_at(file, line, map)) return resolve_in_kernel(*text, std::to_string(line), map);
  struct Extent {
    std::uint32_t first = std::numeric_limits<std::uint32_t>::max(), last = 0;
  };
  std::map<std::string_view, Extent> functions;
  bool file_known = false;
  for (std::size_t i = 0; i < map.bindings().size(); ++i) {
    const UserBinding& b = map.bindings()[i];
    if (!names_file(file, b.file)) continue;
    file_known = true;
    Extent& e = functions[b.function];
    e.first = std::min(e.first, b.line);
    e.last = std::max(e.last, b.line);
  }
  if (map.build()->source) {
    for (auto& [name, e] : functions) {
      const ir::Expr* f = map.build()->source->find(name);
      const source::Span span = f ? session.context().span_of(f) : source::Span{};
      const source::Buffer* buffer = session.sources().find(span.file);
      if (!buffer || !names_file(file, buffer->name())) continue;
      e.first = std::min(e.first, buffer->line_column(span.begin).line);
    }
  }
  if (!file_known) {
    std::vector<std::string> files;
    for (const UserBinding& b : map.bindings()) files.push_back(b.file);
    return {{}, true, unknown("loaded file", file, files)};
  }
  std::uint32_t best = std::numeric_limits<std::uint32_t>::max();
  for (std::size_t i = 0; i < map.bindings().size(); ++i) {
    const UserBinding& b = map.bindings()[i];
    if (!names_file(file, b.file) || b.line < line || b.line >= best || !map.has_code(int(i))) continue;
    const Extent& e = functions[b.function];
    if (line >= e.first && line <= e.last) best = b.line;
  }
  Resolved r;
  for (std::size_t i = 0; i < map.bindings().size(); ++i) {
    const UserBinding& b = map.bindings()[i];
    if (names_file(file, b.file) && b.line == best) add_sorted(r.sites, map.starts_of(int(i)));
  }
  if (r.sites.empty()) r.sites = returns_at(session, file, line, map);
  if (r.sites.empty()) r.problem = source::message(diag::NothingAtLine, "binding", fmt::format("{}:{}", file, line));
  return r;
}

// A function that is bound in another one, by the name that it has there.
static bool is_local_function(const CodeMap& map, int binding, std::string_view name) {
  if (binding < 0 || map.binding(binding).name != name) return false;
  const ir::Binding* b = map.binding(binding).binding;
  return b && ir::isa<ir::Function>(b->value);
}

// Those that start in a function: also of one that was lifted out of the function in which they are written.
static std::set<int> starting_in(const CodeMap& map, FunctionIndex function) {
  std::set<int> found;
  if (function < 0) return found;
  const bytecode::FunctionEntry& f = map.executable().functions[std::size_t(function)];
  for (Pc pc = f.start; f.kind == FunctionKind::Bytecode && pc < f.end; ++pc)
    if (map.starts().test(pc)) found.insert(map.group_of(pc).begin(), map.group_of(pc).end());
  return found;
}

Debugger::Impl::Resolved Debugger::Impl::resolve_binding(std::string_view function, std::string_view name,
                                                         const CodeMap& map) const {
  Resolved r;
  std::vector<std::string> names;
  bool function_known = false;
  int last = -1;  // of that name
  const FunctionIndex f = map.executable().find_function(function);
  const std::set<int> inside = starting_in(map, f);
  for (std::size_t i = 0; i < map.bindings().size(); ++i) {
    const UserBinding& b = map.bindings()[i];
    if (b.function != function && !is_local_function(map, b.owner, function) && !inside.contains(int(i))) continue;
    function_known = true;
    names.push_back(b.name);
    if (b.name != name) continue;
    last = int(i);
    add_sorted(r.sites, map.starts_of(int(i)));
  }
  if (!r.sites.empty()) return r;
  // The variable in an executable without that detail, or in code made by a pass.
  if (f >= 0 && map.executable().functions[std::size_t(f)].kind == FunctionKind::Bytecode) {
    function_known = true;
    const bytecode::FunctionEntry& entry = map.executable().functions[std::size_t(f)];
    for (Pc pc = entry.start; pc < entry.end; ++pc) {
      const bytecode::InstructionDebug* debug = map.executable().debug.instruction(pc);
      if (!debug || debug->variable != name) continue;
      r.sites.push_back({pc});
      return r;
    }
  }
  if (last >= 0) {
    r = next_place(last, map);
    if (r.sites.empty())
      r.problem =
          source::message(diag::NoSuchThing, fmt::format("code in function `{}` for the binding", function), name)
              .with_hint("it became no instruction of its own, and none follows it");
    return r;
  }
  if (function_known) {
    r.problem = unknown(fmt::format("binding in function `{}`", function), name, names);
    return r;
  }
  if (function.find('.') != std::string_view::npos) {  // file.py:name
    r.pending = true;
    r.problem = source::message(diag::NoSuchThing, "loaded file", function);
    return r;
  }
  r.problem = unknown("function", function, session.function_names());
  return r;
}

// The next binding of the function that has code, or its end: for one that became no instruction (another name of a
// value, code that was removed).
Debugger::Impl::Resolved Debugger::Impl::next_place(int binding, const CodeMap& map) {
  Resolved r;
  const std::string& function = map.binding(binding).function;
  for (std::size_t i = std::size_t(binding) + 1; i < map.bindings().size(); ++i) {
    const UserBinding& b = map.bindings()[i];
    if (b.function != function || !map.has_code(int(i))) continue;
    add_sorted(r.sites, map.starts_of(int(i)));
    r.moved_to = fmt::format("{}:{}", function, b.name.empty() ? "the result" : b.name);
    if (!r.sites.empty()) return r;
  }
  const FunctionIndex f = map.executable().find_function(function);
  if (f < 0 || map.executable().functions[std::size_t(f)].kind != FunctionKind::Bytecode) return r;
  for (const Pc pc : map.returns(f)) r.sites.push_back({pc});
  r.moved_to = fmt::format("the end of {}", function);
  return r;
}

// `relax.matmul` by its full name, or without the first word, or by the last word alone.
static bool names_operator(std::string_view said, std::string_view op) {
  for (std::size_t from = 0; from != std::string_view::npos;) {
    if (op.substr(from) == said) return true;
    const auto dot = op.find('.', from);
    from = dot == std::string_view::npos ? dot : dot + 1;
  }
  return false;
}

Debugger::Impl::Resolved Debugger::Impl::resolve_operator(std::string_view name, const CodeMap& map) const {
  Resolved r;
  std::vector<std::string> names;
  bool exists = false;
  for (std::size_t i = 0; i < map.bindings().size(); ++i) {
    const UserBinding& b = map.bindings()[i];
    const auto* call = b.binding ? ir::as<ir::Call>(b.binding->value) : nullptr;
    const auto* op = call ? ir::as<ir::Op>(call->callee) : nullptr;
    if (!op) continue;
    names.emplace_back(op->name);
    if (const auto dot = op->name.find('.'); dot != std::string_view::npos)
      names.emplace_back(op->name.substr(dot + 1));
    if (!names_operator(name, op->name)) continue;
    exists = true;
    add_sorted(r.sites, map.starts_of(int(i)));
  }
  if (!r.sites.empty()) return r;
  if (exists)
    r.problem = source::message(diag::NoSuchThing, "code for a call of the operator", name)
                    .with_hint("its bindings became no instructions of their own");
  else
    r.problem = unknown("call of an operator", name, names);
  return r;
}

Debugger::Impl::Resolved Debugger::Impl::resolve_name(std::string_view name, const CodeMap& map) const {
  const bytecode::Executable& exe = map.executable();
  const FunctionIndex f = exe.find_function(name);
  if (f >= 0 && exe.functions[std::size_t(f)].kind == FunctionKind::Bytecode) return {{Site{map.entry(f)}}, false, {}};
  Resolved r;
  if (f >= 0) {
    for (Pc pc = 0; pc < exe.end(); ++pc) {
      const Instruction i = exe.instruction(pc);
      if (i.op != Opcode::Call) continue;
      bool calls = i.callee == f;
      // Kernels of runtime-dependent shapes are called through a builtin.
      for (std::size_t a = 0; a < i.args.size(); ++a) calls = calls || i.arg(a) == Arg::function(f);
      if (calls) r.sites.push_back({pc});
    }
    if (!r.sites.empty()) return r;
  }
  std::vector<std::string> names = session.function_names();
  const bool defined =
      (session.module() && session.module()->find(name)) || std::find(names.begin(), names.end(), name) != names.end();
  if (defined && kernel_text(name, map)) {
    r.pending = r.alone = true;
    return r;
  }
  if (defined) {
    // Of Relay only that is compiled which the function being run calls.
    const auto* program = session.program();
    const bool can_start = program && program->kind() == session::ProgramKind::RelayText;
    r.problem =
        source::message(diag::NoSuchThing, "call of the function", name)
            .with_hint(can_start
                           ? fmt::format("the function that is run does not call it; `:start {}` stops in it", name)
                           : "nothing that the program runs calls it");
    return r;
  }
  if (run && run->in_kernel()) {
    const KernelStepper& k = *run->kernel();
    return resolve_in_kernel(KernelText(session, k.name(), k.function()), name, map);
  }
  for (const bytecode::FunctionEntry& entry : exe.functions) names.push_back(entry.name);
  r.problem = unknown("function, kernel or builtin", name, names);
  for (const UserBinding& b : map.bindings()) {
    if (b.name != name) continue;
    r.problem->hint = fmt::format("`{}:{}` is the binding of that name", b.function, b.name);
    break;
  }
  return r;
}

// ---- the table ----

void Debugger::Impl::set_place(Breakpoint& b, Resolved r) {
  b.sites = std::move(r.sites);
  b.moved_to = std::move(r.moved_to);
  b.in_kernel = std::move(r.in_kernel);
  b.place = b.in_kernel ? fmt::format("kernel {}, {}", b.in_kernel->kernel, b.in_kernel->text)
            : r.alone   ? "nothing that the program runs calls it: it stops where it is run by itself"
                        : "";
  b.kernel = b.in_kernel ? b.in_kernel->kernel : "";
  b.kernel_file = b.in_kernel ? b.in_kernel->file : "";
  b.kernel_lines = b.in_kernel ? b.in_kernel->lines : std::vector<std::uint32_t>();
}

const Breakpoint* Debugger::add_breakpoint(std::string_view spec, bool temporary, source::Diagnostics& out) {
  Impl& d = *impl_;
  d.catch_up_with_moves();
  const auto map = d.current_code();
  Impl::Resolved r = d.resolve(spec, map.get());
  if (r.sites.empty() && !r.in_kernel && !r.pending) {
    out.add({}, r.problem ? *std::move(r.problem) : source::message(diag::NoSuchThing, "place", spec));
    return nullptr;
  }
  Breakpoint b;
  b.number = d.next_number++;
  // Text written inside a kernel means the same outside it.
  const bool bare = r.in_kernel && spec.find(':') == std::string_view::npos;
  b.spec = bare ? fmt::format("{}:{}", r.in_kernel->kernel, spec) : std::string(spec);
  b.temporary = temporary;
  Impl::set_place(b, std::move(r));
  return &(d.breakpoints[b.number] = std::move(b));
}

Breakpoint* Debugger::find_breakpoint(int number) {
  const auto it = impl_->breakpoints.find(number);
  return it == impl_->breakpoints.end() ? nullptr : &it->second;
}

bool Debugger::is_expression(std::string_view text, source::Diagnostics& out) {
  auto read = expression::parse(text);
  if (!read.ok()) {
    out.add({}, source::message(diag::BadExpression, read.error().message));
    return false;
  }
  const expression::UnknownAttribute wrong = expression::unknown_attribute(text);
  if (wrong.name.empty()) return true;
  source::Message m = source::message(diag::BadExpression, fmt::format("no value has an attribute `{}`", wrong.name));
  if (!wrong.near.empty()) m.hint = fmt::format("did you mean `{}`?", wrong.near);
  out.add({}, std::move(m));
  return false;
}

namespace {

// They are evaluated while this rank runs, when no other is at the same place.
std::string name_of_other_rank(std::string_view text) {
  const auto parsed = expression::parse(text);
  if (!parsed.ok()) return {};
  for (std::string& name : expression::names_of(*parsed))
    if (name.find('@') != std::string::npos) return std::move(name);
  return {};
}

}  // namespace

bool Debugger::set_condition(int number, std::string_view condition, source::Diagnostics& out) {
  Breakpoint* b = find_breakpoint(number);
  if (!b) {
    out.add({}, source::message(diag::NoSuchNumber, "breakpoint", number));
    return false;
  }
  if (!condition.empty() && !is_expression(condition, out)) return false;
  if (const std::string other = name_of_other_rank(condition); !other.empty()) {
    out.add({}, source::message(diag::BadExpression,
                                fmt::format("`{}` is a variable of another rank, and a condition is about the one "
                                            "that runs",
                                            other)));
    return false;
  }
  b->condition = condition;
  return true;
}

bool Debugger::set_log(int number, std::string_view text, source::Diagnostics& out) {
  Breakpoint* b = find_breakpoint(number);
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto end = text[i] == '{' ? text.find('}', i) : std::string_view::npos;
    if (end == std::string_view::npos && text[i] != '{') continue;
    if (end == std::string_view::npos) {
      out.add({}, source::message(diag::BadExpression, fmt::format("`{}` has no closing `}}`", text.substr(i))));
      return false;
    }
    if (!is_expression(text.substr(i + 1, end - i - 1), out)) return false;
    i = end;
  }
  if (b) b->log = text;
  return b != nullptr || number == 0;
}

bool Debugger::remove_breakpoint(int number) { return impl_->breakpoints.erase(number) > 0; }

const std::map<int, Breakpoint>& Debugger::breakpoints() const { return impl_->breakpoints; }

void Debugger::move_line_breakpoints(std::string_view file, const std::function<std::uint32_t(std::uint32_t)>& moved) {
  impl_->moves.push_back({std::string(file), moved});
  impl_->catch_up_with_moves();
}

void Debugger::Impl::catch_up_with_moves() {
  if (moves.empty() || active() || !waiting.empty()) return;
  for (const LineMove& move : std::exchange(moves, {})) move_lines(move);
}

void Debugger::Impl::move_lines(const LineMove& move) {
  for (auto& [at, b] : breakpoints) {
    const auto colon = b.spec.rfind(':');
    const bool names = colon != std::string::npos;
    const auto line = number(std::string_view(b.spec).substr(names ? colon + 1 : 0));
    const bool is_printed = b.in_kernel && b.kernel_file.empty();
    if (!line || is_printed || (names && !names_file(std::string_view(b.spec).substr(0, colon), move.file))) continue;
    b.spec = (names ? b.spec.substr(0, colon + 1) : std::string()) + std::to_string(move.moved(*line));
  }
}

std::vector<std::pair<int, std::string>> Debugger::resolve_breakpoints() {
  std::vector<std::pair<int, std::string>> lost;
  impl_->catch_up_with_moves();
  if (impl_->breakpoints.empty()) return lost;
  const auto map = impl_->current_code();
  for (auto& [number, b] : impl_->breakpoints) {
    Impl::Resolved now = impl_->resolve_point(b, map.get());
    const bool had = !b.sites.empty() || b.in_kernel, has = !now.sites.empty() || now.in_kernel;
    if (map && had && !has && now.problem) {
      lost.emplace_back(number, now.problem->text);
      if (!now.problem->hint.empty()) lost.back().second += fmt::format(" ({})", now.problem->hint);
    }
    Impl::set_place(b, std::move(now));
  }
  return lost;
}

std::uint64_t Breakpoint::hits_to_pass() const {
  const std::uint64_t next = hits + ignore + 1;  // the first hit that may stop
  switch (rule.when) {
    case HitRule::When::Always:
      break;
    case HitRule::When::Equal:
      return next <= rule.count ? rule.count - hits - 1 : std::numeric_limits<std::uint64_t>::max();
    case HitRule::When::AtLeast:
      return std::max(next, rule.count) - hits - 1;
    case HitRule::When::Multiple:
      return (next + rule.count - 1) / rule.count * rule.count - hits - 1;
  }
  return ignore;
}

// ---- at a stop ----

void Debugger::Impl::add_breakpoint_sites(vm::StopSet& stops) const {
  for (const auto& [number, b] : breakpoints) {
    if (!b.enabled) continue;
    for (const Site& site : b.sites)
      if (site.pc < stops.end()) stops.set(site.pc);
    for (const Pc pc : b.in_kernel ? b.in_kernel->calls : std::vector<Pc>())
      if (pc < stops.end()) stops.set(pc);
  }
}

runtime::Result<runtime::Value> Debugger::Impl::evaluate_at(std::string_view text, const vm::Machine& m, int at_part,
                                                            const eval::TirMachine* kernel) const {
  std::optional<ValueFinder> finder;
  if (m.running()) finder.emplace(*this, m, run->code(), m.frames().size() - 1, at_part, false);
  const expression::NameLookup lookup = [&](std::string_view name) -> runtime::Result<runtime::Value> {
    runtime::Value v;
    if (kernel && value_in_kernel(*kernel, name, v)) return v;
    if (finder) return finder->find(name);
    if (const runtime::Value* known = session.find_value(name)) return *known;
    return runtime::fail(runtime::ErrorKind::UnknownFunction, fmt::format("`{}` has no value here", name));
  };
  return expression::evaluate_text(text, lookup, script_calls(session, {}));
}

bool Debugger::Impl::condition_holds(const Breakpoint& b, const vm::Machine& m, int at_part, std::string* note,
                                     const eval::TirMachine* kernel) const {
  if (b.condition.empty()) return true;
  auto value = evaluate_at(b.condition, m, at_part, kernel);
  auto holds = value.ok() ? expression::truth(value.value()) : runtime::Result<bool>(support::Failure(value.error()));
  if (holds.ok()) return holds.value();
  *note += fmt::format("{}the condition of breakpoint {} (`{}`) cannot be evaluated: {}", note->empty() ? "" : "; ",
                       b.number, b.condition, holds.error().message);
  return true;
}

void Debugger::Impl::log(const Breakpoint& b, const vm::Machine& m, int at_part, const eval::TirMachine* kernel) const {
  std::string text;
  const std::string_view from = b.log;
  for (std::size_t i = 0; i < from.size(); ++i) {
    const auto end = from[i] == '{' ? from.find('}', i) : std::string_view::npos;
    if (end == std::string_view::npos) {
      text += from[i];
      continue;
    }
    auto value = evaluate_at(from.substr(i + 1, end - i - 1), m, at_part, kernel);
    // A tensor of one element as its number.
    if (auto number = value.ok() ? expression::number_of(*value) : value; number.ok()) value = std::move(number);
    text += value.ok() ? runtime::format_brief(*value) : fmt::format("<{}>", value.error().message);
    i = end;
  }
  session.output().write(text + "\n");
}

Debugger::Impl::Hit Debugger::Impl::triggered(const vm::Machine& m, Order order, int from, bool count,
                                              std::string* note) {
  std::vector<std::pair<int, int>> here;  // part, number
  for (const auto& [number, b] : breakpoints) {
    if (!b.enabled) continue;
    for (const Site& site : b.sites)
      if (site.pc == m.frame().pc && (order == Order::Forward ? site.part >= from : site.part <= from))
        here.emplace_back(site.part, number);
  }
  std::stable_sort(here.begin(), here.end(), [order](const auto& x, const auto& y) {
    return order == Order::Forward ? x.first < y.first : x.first > y.first;
  });
  Hit hit;
  for (const auto& [at_part, number] : here) {
    if (!hit.numbers.empty() && at_part != hit.part) break;
    Breakpoint& b = breakpoints.at(number);
    if (!condition_holds(b, m, at_part, note)) continue;
    if (count) {
      const bool passes = b.hits_to_pass() > 0;
      ++b.hits;
      if (b.ignore > 0) --b.ignore;
      if (passes) continue;
    }
    if (!b.log.empty()) {
      if (count) log(b, m, at_part);
      continue;
    }
    hit.part = at_part;
    hit.numbers.push_back(number);
  }
  return hit;
}

}  // namespace rldb::debug
