// Blame: backwards through the versions of a program, and passes run again with fewer rewrites.
#include "rldb/debug/blame.h"

#include <fmt/format.h>

#include <algorithm>

#include "debug/impl.h"
#include "debug/look/version_index.h"
#include "rldb/expression/array.h"
#include "rldb/ir/printer.h"
#include "rldb/ir/walk.h"
#include "rldb/session/lent_program.h"
#include "rldb/source/diagnostic_missing.h"
#include "rldb/source/diagnostic_run.h"
#include "rldb/support/cancel.h"
#include "rldb/support/rewrite_counter.h"
#include "rldb/support/text.h"

namespace rldb::debug {

namespace {

constexpr std::size_t kBlameWidth = 140;  // of a binding, in characters
constexpr std::size_t kMaxSteps = 200;

std::string text_of(const ir::Binding* b) { return support::one_line(ir::print_binding(b), kBlameWidth); }

// A version, and what made it.
struct Version {
  const ir::Module* module;
  const pipeline::Invocation* pass;  // null: read or entered
  bool by_build;
};

std::vector<Version> versions_of(const session::Session& session, const session::Build* build) {
  std::vector<Version> list;
  if (!session.module()) return list;
  const pipeline::History& history = session.history();
  for (std::size_t v = 0; v <= history.position(); ++v) {
    const auto* module = history.module_at(v).as<ir::Module>();
    if (list.empty() || list.back().module != module)
      list.push_back({module, history.is_edit(v) ? nullptr : &history.record(v).pass, false});
  }
  if (!build || build->source != session.module()) return list;
  for (const pipeline::Record& r : build->records)
    if (r.after && r.after != r.before) list.push_back({r.after.as<ir::Module>(), &r.pass, true});
  return list;
}

const ir::Binding* binding_named(const ir::Module* module, std::string_view function, std::string_view name) {
  const auto* f = ir::as<ir::Function>(module->find(function));
  const ir::Binding* found = nullptr;
  if (f)
    ir::walk(f->body, [&](const ir::Node* n) {
      const auto* b = ir::as<ir::Binding>(n);
      if (b && b->var->name == name) found = b;
      return true;
    });
  return found;
}

// Every binding of a version that these nodes come from, the nearest ones.
std::vector<const ir::Binding*> ancestors(const VersionIndex& version,
                                          const ir::SideTable<ir::Span<std::uint32_t>>& origins,
                                          std::vector<std::uint32_t> nodes) {
  constexpr std::size_t kMaxQueue = 512;
  std::vector<const ir::Binding*> found;
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    if (const ir::Binding* b = version.find(nodes[i])) {
      if (std::find(found.begin(), found.end(), b) == found.end()) found.push_back(b);
      continue;
    }
    if (nodes.size() > kMaxQueue) continue;
    for (const std::uint32_t id : origins.get(nodes[i]))
      if (std::find(nodes.begin(), nodes.end(), id) == nodes.end()) nodes.push_back(id);
  }
  std::sort(found.begin(), found.end(), [](const ir::Binding* a, const ir::Binding* b) { return a->id < b->id; });
  return found;
}

class Blamer {
 public:
  Blamer(session::Session& session, const std::vector<Version>& versions, Blame& out)
      : session_(session), versions_(versions), out_(out) {
    for (const Version& v : versions) indices_.emplace_back(v.module);
  }

  // The binding of a version, from there back.
  void tell(const ir::Binding* b, std::string_view function, std::size_t version, std::size_t depth) {
    support::poll();
    if (out_.steps.size() >= kMaxSteps) return;
    std::size_t made = version;
    std::vector<const ir::Binding*> from;
    for (std::size_t v = version; v > 0; --v) {
      made = v;
      if (indices_[v - 1].find(b->id) == b) {
        made = v - 1;
        continue;
      }
      from = ancestors(indices_[v - 1], session_.context().origins(), ids_of(b));
      // A pass that only built the same text again is not a step of the story.
      if (from.size() != 1 || text_of(from[0]) != text_of(b)) break;
      b = from[0];
      from.clear();
      made = v - 1;
    }
    BlameStep step;
    step.depth = depth;
    step.text = text_of(b);
    const Version& by = versions_[made];
    if (by.pass && made > 0) {
      step.pass = pipeline::to_string(*by.pass);
      step.by_build = by.by_build;
      step.anew = from.empty();
      find_rewrite(b, function, made, step);
    } else {
      place(b, step);
    }
    out_.steps.push_back(std::move(step));
    if (made > 0)
      for (const ir::Binding* f : from) tell(f, function_of(f, made - 1), made - 1, depth + 1);
  }

 private:
  void place(const ir::Binding* b, BlameStep& step) const {
    const source::Span span = session_.context().span_of(b);
    const source::Buffer* buffer = span ? session_.sources().find(span.file) : nullptr;
    if (!buffer) return;
    step.file = buffer->name();
    step.line = buffer->line_column(span.begin).line;
  }

  std::string function_of(const ir::Binding* b, std::size_t version) const {
    for (const ir::ModuleEntry& entry : versions_[version].module->entries) {
      bool inside = false;
      if (const auto* f = ir::as<ir::Function>(entry.function))
        ir::walk(f->body, [&](const ir::Node* n) {
          inside = inside || n == b;
          return !inside;
        });
      if (inside) return std::string(entry.name);
    }
    return {};
  }

  // Does the pass make the binding, with at most that many rewrites?
  bool makes(const ir::Binding* b, std::string_view function, std::size_t version, std::int64_t limit,
             std::int64_t& asked, std::string& last) {
    source::Diagnostics ignored;
    const session::LentProgram lent(session_, versions_[version - 1].module);
    const support::RewriteCounter counter(limit);
    const bool ok = session_.run_passes(pipeline::to_string(*versions_[version].pass), ignored);
    asked = counter.asked();
    last = counter.last();
    if (!ok || !session_.module()) return false;
    const ir::Binding* again = binding_named(session_.module(), function, b->var->name);
    return again && text_of(again) == text_of(b);
  }

  void find_rewrite(const ir::Binding* b, std::string_view function, std::size_t version, BlameStep& step) {
    std::int64_t asked = 0, ignored = 0;
    std::string last;
    if (!makes(b, function, version, -1, asked, last) || asked == 0) return;
    if (makes(b, function, version, 0, ignored, last)) return;  // by something that is not counted
    std::int64_t without = 0, with = asked;
    while (with - without > 1) {
      support::poll();
      const std::int64_t middle = without + (with - without) / 2;
      (makes(b, function, version, middle, ignored, last) ? with : without) = middle;
    }
    if (!makes(b, function, version, with, ignored, last)) return;
    step.rewrite = std::uint64_t(with);
    step.rewrites = std::uint64_t(asked);
    step.rule = last;
  }

  session::Session& session_;
  const std::vector<Version>& versions_;
  Blame& out_;
  std::vector<VersionIndex> indices_;
};

std::nullopt_t refuse(source::Diagnostics& out, source::Message message) {
  out.add({}, std::move(message));
  return std::nullopt;
}

// The binding of the lowered program behind an instruction.
const ir::Binding* lowered_binding(const CodeMap& map, const session::Session& session, Pc pc) {
  const session::Build& build = *map.build();
  const bytecode::InstructionDebug* debug = map.executable().debug.instruction(pc);
  if (!debug || !build.lowered) return nullptr;
  return ancestor(VersionIndex(build.lowered), session.context().origins(), {debug->binding, debug->node});
}

}  // namespace

std::optional<Blame> blame(Debugger& debugger, std::string_view target, int frame, source::Diagnostics& out) {
  Debugger::Impl& d = impl_of(debugger);
  session::Session& session = d.session;
  if (!session.module())
    return refuse(out, source::message(diag::NoSuchThing, "version with a pass behind it in this program", target));
  Blame result;
  const auto [text, subscript] = expression::split_target(target);
  const auto colon = text.find(':');
  std::string_view name = colon == std::string_view::npos ? text : text.substr(colon + 1);
  std::string function(colon == std::string_view::npos ? std::string_view() : text.substr(0, colon));
  if (function.empty() && d.run && d.can_be_asked() && !debugger.frames().empty())
    function = debugger.function_position(frame).function;
  std::shared_ptr<const session::Build> build = debugger.build();
  source::Diagnostics ignored;  // without code there are still the versions before it
  if (!build || build->source != session.module()) build = session.build(ignored);
  const std::vector<Version> versions = versions_of(session, build.get());
  Blamer blamer(session, versions, result);
  if (!subscript.empty()) {
    const std::vector<CauseStep> steps = debugger.why(target, frame, 0, out);
    if (steps.empty()) return std::nullopt;
    result.writer = lines_of(std::vector<CauseStep>{steps[0]})[0];
    const auto machine = steps[0].time ? debugger.machine_at(*steps[0].time) : std::nullopt;
    const ir::Binding* b = machine ? lowered_binding(d.run->code(), session, machine->frame().pc) : nullptr;
    if (!b || versions.empty() || versions.back().module != build->lowered)
      return refuse(out, source::message(diag::RunFailed, fmt::format("no call of this run wrote `{}`", target)));
    result.name = b->var->name;
    result.function = d.run->code().function_name(machine->frame().pc);
    blamer.tell(b, result.function, versions.size() - 1, 0);
    return result;
  }
  result.name = name;
  // The present version first, then those of the build, then those before.
  std::size_t now = 0;
  while (now + 1 < versions.size() && !versions[now + 1].by_build) ++now;
  std::vector<std::size_t> order{now};
  for (std::size_t v = versions.size(); v-- > now + 1;) order.push_back(v);
  for (std::size_t v = now; v-- > 0;) order.push_back(v);
  for (const std::size_t v : order) {
    std::vector<std::string_view> functions;
    for (const ir::ModuleEntry& entry : versions[v].module->entries)
      if (function.empty() || entry.name == function) functions.push_back(entry.name);
    for (const std::string_view f : functions)
      if (const ir::Binding* b = binding_named(versions[v].module, f, name)) {
        result.function = f;
        blamer.tell(b, f, v, 0);
        return result;
      }
  }
  return refuse(out,
                source::message(diag::NoSuchThing,
                                function.empty() ? "binding in any version of the program"
                                                 : fmt::format("binding in any version of function `{}`", function),
                                name));
}

std::vector<std::string> lines_of(const Blame& blame) {
  std::vector<std::string> lines;
  if (!blame.writer.empty()) lines.push_back(blame.writer);
  for (const BlameStep& s : blame.steps) {
    const std::string pad(s.depth * 2, ' ');
    lines.push_back(pad + s.text);
    if (s.pass.empty()) {
      lines.push_back(fmt::format("{}  as written{}", pad, s.line ? fmt::format(", {}:{}", s.file, s.line) : ""));
      continue;
    }
    std::string made = fmt::format("{}  made by {}{}", pad, s.pass, s.by_build ? ", of the build" : "");
    if (s.rewrite) made += fmt::format(", rewrite {} of {}: {}", s.rewrite, s.rewrites, s.rule);
    lines.push_back(made + (s.anew ? "" : ", from"));
  }
  return lines;
}

}  // namespace rldb::debug
