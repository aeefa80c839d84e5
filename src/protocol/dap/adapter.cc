// Requests to handlers, and what all of them have in common.
#include "protocol/dap/adapter.h"

#include <fmt/format.h>

#include <algorithm>

#include "rldb/ui/terminal/guarded.h"

namespace rldb::protocol::dap {

namespace {

ui::CommandLine for_clients(const ui::CommandLine& line) {
  ui::CommandLine own = line;
  own.files.clear();
  own.prompt.batch = own.prompt.quiet = own.prompt.no_init = true;
  own.format = ui::Format::Text;
  return own;
}

}  // namespace

Adapter::Adapter(const ui::CommandLine& line, Channel& channel, Traffic& traffic)
    : line_(for_clients(line)), channel_(channel), traffic_(traffic), console_(channel) {}
Adapter::~Adapter() = default;

std::uint32_t Adapter::line_from_client(std::int64_t line) const {
  constexpr std::int64_t kMost = 0x7fffffff;
  return std::uint32_t(std::clamp<std::int64_t>(lines_from_1_ ? line : line + 1, 1, kMost));
}

std::optional<Failure> Adapter::missing(const RequestRow& row) const {
  switch (row.needs) {
    case Needs::Nothing:
      return std::nullopt;
    case Needs::Initialized:
      if (!initialized_) return Failure{fmt::format("`{}` comes after `initialize`", row.name)};
      return std::nullopt;
    case Needs::Program:
      if (!loaded_) return Failure{"no program is loaded: `launch` comes first"};
      if (ended_) return Failure{"the program has ended", false};
      return std::nullopt;
    case Needs::Stopped:
      if (!loaded_) return Failure{"no program is loaded: `launch` comes first"};
      if (ended_) return Failure{"the program has ended", false};
      if (!configured_) return Failure{"the program has not been started", false};
      if (repl_->debugger().last_stop().kind == debug::StopKind::None)
        return Failure{"the program is not stopped", false};
      return std::nullopt;
  }
  return std::nullopt;
}

Answer Adapter::dispatch(const Request& request) {
  const RequestRow* row = find_request(request.command);
  if (!row) return refused(fmt::format("there is no request `{}`", request.command));
  if (auto failure = missing(*row)) return support::Failure(*std::move(failure));
#define RLDB_DAP_REQUEST(id, spelled, needs, while_running) \
  if (row->name == spelled) return on_##id(request);
#include "rldb/protocol/dap_request.def"
  return refused(fmt::format("there is no request `{}`", request.command));
}

void Adapter::handle(const Request& request) {
  console_.begin_work();
  std::optional<Answer> answer;
  const auto abandoned = ui::run_guarded([&] { answer.emplace(dispatch(request)); }, 0);
  if (abandoned) answer.emplace(refused(abandoned->exit_code > 128 ? "cancelled" : abandoned->message.text));
  channel_.answer(request, std::move(*answer));
  for (const auto& work : std::exchange(then_, {}))
    if (const auto stopped = ui::run_guarded(work, 0))
      channel_.output("stderr", fmt::format("{}\n", stopped->message.text));
  console_.end_work();
}

Answer Adapter::on_initialize(const Request& request) {
  if (initialized_) return refused("`initialize` comes once");
  Fields fields(request.arguments);
  lines_from_1_ = fields.flag("linesStartAt1", true);
  columns_from_1_ = fields.flag("columnsStartAt1", true);
  takes_invalidated_ = fields.flag("supportsInvalidatedEvent");
  console_.set_progress(fields.flag("supportsProgressReporting"));
  if (fields.text_or("pathFormat", "path") != "path") fields.fail("`pathFormat` must be \"path\"");
  if (fields.failure()) return support::Failure(*fields.failure());
  initialized_ = true;
  Json body;
  for (const char* capability : {"supportsConfigurationDoneRequest",
                                 "supportsFunctionBreakpoints",
                                 "supportsConditionalBreakpoints",
                                 "supportsHitConditionalBreakpoints",
                                 "supportsEvaluateForHovers",
                                 "supportsStepBack",
                                 "supportsSetVariable",
                                 "supportsRestartFrame",
                                 "supportsGotoTargetsRequest",
                                 "supportsStepInTargetsRequest",
                                 "supportsCompletionsRequest",
                                 "supportsModulesRequest",
                                 "supportsRestartRequest",
                                 "supportsExceptionInfoRequest",
                                 "supportTerminateDebuggee",
                                 "supportsDelayedStackTraceLoading",
                                 "supportsLoadedSourcesRequest",
                                 "supportsLogPoints",
                                 "supportsSetExpression",
                                 "supportsTerminateRequest",
                                 "supportsDataBreakpoints",
                                 "supportsReadMemoryRequest",
                                 "supportsWriteMemoryRequest",
                                 "supportsSingleThreadExecutionRequests",
                                 "supportsDisassembleRequest",
                                 "supportsCancelRequest",
                                 "supportsBreakpointLocationsRequest",
                                 "supportsClipboardContext",
                                 "supportsSteppingGranularity",
                                 "supportsInstructionBreakpoints",
                                 "supportsExceptionFilterOptions"})
    body[capability] = true;
  body["completionTriggerCharacters"] = {":", ".", " "};
  body["exceptionBreakpointFilters"] = Json::array();
  for (const FilterRow& row : filters())
    body["exceptionBreakpointFilters"].push_back({{"filter", row.name},
                                                  {"label", row.label},
                                                  {"description", row.doc},
                                                  {"default", row.by_default},
                                                  {"supportsCondition", !row.event.empty()}});
  body["additionalModuleColumns"] = Json::array();
  return body;
}

}  // namespace rldb::protocol::dap
