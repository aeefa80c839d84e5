// Recorded runs, value by value.
#include "ui/batch/page_values.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <set>

#include "rldb/repro/compare.h"
#include "rldb/session/default_function.h"
#include "rldb/support/cancel.h"
#include "rldb/ui/prompt/value_document.h"

namespace rldb::ui {

namespace {

using PageJson = nlohmann::ordered_json;

constexpr std::int64_t kCells = 16;  // of a side of a slice: a page is sent by mail
constexpr std::size_t kMostValues = 2000;

class Values {
 public:
  void add(const repro::Trace& trace, const std::string& where) {
    for (const repro::Event& event : trace.events) {
      support::poll();
      for (const std::string& name : event.names) {
        if (replies.size() >= kMostValues || !seen_.insert(name).second) continue;
        PageJson value = value_document(event.value, {}, kCells);
        value["name"] = name;
        value["notes"] = PageJson::array({where});
        replies.emplace_back("value?name=" + name, std::move(value));
      }
    }
    for (const std::string& problem : {trace.error, trace.incomplete})
      if (!problem.empty()) problems += fmt::format("{}{}: {}", problems.empty() ? "" : "\n", where, problem);
  }

  PageReplies replies;
  std::string problems;

 private:
  std::set<std::string> seen_;
};

std::size_t parameter_count(const ir::Module* module, std::string_view function) {
  const auto* f = module ? ir::as<ir::Function>(module->find(function)) : nullptr;
  return f ? f->params.size() : 0;
}

}  // namespace

std::optional<PageRun> page_run(session::Session& session, const std::vector<std::string>& texts,
                                source::Diagnostics& out) {
  PageRun run;
  run.function = session::default_function(session);
  run.texts = texts;
  const auto arguments = session.arguments(run.function, texts, out);
  if (!arguments) return std::nullopt;
  for (const session::Argument& a : *arguments) run.values.push_back(a.value);
  return run;
}

PageReplies page_values(session::Session& session, const ir::Module* loaded, const PageRun& run) {
  Values values;
  const auto record = [&](const ir::Module* module, const std::string& where) {
    repro::Program program;
    program.module = module;
    program.function = run.function;
    program.args = run.values;
    program.kernels = session.options().engine;
    values.add(repro::record(session, program), where);
  };
  session.mute(true);
  record(loaded, "in a run of the module as loaded");
  if (session.module() != loaded && parameter_count(session.module(), run.function) == run.values.size())
    record(session.module(), "in a run of the last version");
  session.mute(false);
  values.replies.emplace_back("values", PageJson{{"function", run.function},
                                                 {"inputs", run.texts},
                                                 {"count", values.replies.size()},
                                                 {"problem", values.problems}});
  return std::move(values.replies);
}

}  // namespace rldb::ui
