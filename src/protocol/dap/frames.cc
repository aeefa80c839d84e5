// Frames with their places, scopes, variables.
#include <fmt/format.h>

#include <algorithm>

#include "protocol/dap/adapter.h"
#include "protocol/dap/fields.h"

namespace rldb::protocol::dap {

const std::vector<debug::FrameInfo>& Adapter::frames() {
  std::optional<std::vector<debug::FrameInfo>>& known = runs_->view().frames;
  if (!known) known = repl_->debugger().frames();
  return *known;
}

std::optional<int> Adapter::frame_number(std::int64_t id) {
  const std::size_t rank = runs_->rank_of(id);
  if (rank != runs_->current() && !runs_->is_live(rank)) return std::nullopt;
  select_rank(rank);
  const std::int64_t count = std::max<std::int64_t>(1, std::int64_t(frames().size()));  // one after the end
  const std::int64_t number = runs_->number_of(id) - runs_->view().first_frame;
  return id > 0 && number >= 0 && number < count ? std::optional(int(number)) : std::nullopt;
}

std::optional<int> Adapter::frame_of(Fields& fields) {
  if (!fields.has("frameId")) return 0;
  const std::int64_t id = fields.integer("frameId");
  const auto number = frame_number(id);
  if (!number) fields.fail(fmt::format("the frame {} belongs to an earlier stop", id), false);
  return number.value_or(0);
}

// ---- places ----

void Adapter::put_span(Json& out, const source::Span& span) {
  const source::Buffer* buffer = repl_->session().sources().find(span.file);
  const source::LineColumn begin = buffer->line_column(span.begin, source::ColumnUnit::Utf16);
  const source::LineColumn end = buffer->line_column(span.end, source::ColumnUnit::Utf16);
  out["source"] = sources_->source_of_buffer(*buffer);
  out["line"] = line_to_client(begin.line);
  out["column"] = column_to_client(begin.column);
  if (end.line == begin.line && end.column > begin.column) {
    out["endLine"] = line_to_client(end.line);
    out["endColumn"] = column_to_client(end.column);
  }
}

void Adapter::put_place(Json& out, const debug::FrameInfo& frame) {
  out["column"] = column_to_client(1);
  if (frame.in_kernel) {
    if (const auto at = repl_->debugger().kernel_position()) {
      out["source"] = at->source ? sources_->source_of_buffer(*at->source)
                                 : sources_->source_of({SourceKind::Kernel, at->kernel, 0, {}});
      out["line"] = line_to_client(std::max<std::uint32_t>(1, at->line));
      return;
    }
  }
  if (const auto& version = runs_->view().version)
    if (const auto text = sources_->version_text(*version))
      if (const std::uint32_t line = text->line_of(frame.where.pc)) {
        out["source"] = sources_->source_of(*version);
        out["line"] = line_to_client(line);
        return;
      }
  if (repl_->session().sources().find(frame.where.span.file)) return put_span(out, frame.where.span);
  const vm::Machine* machine = repl_->debugger().machine();
  const bytecode::FunctionIndex f =
      machine ? machine->executable().find_function(frame.where.function) : bytecode::FunctionIndex(-1);
  out["source"] = sources_->source_of({SourceKind::Listing, frame.where.function, 0, {}});
  out["line"] =
      line_to_client(f < 0 || frame.where.pc < 0
                         ? 1
                         : Sources::line_in_listing(machine->executable().functions[std::size_t(f)], frame.where.pc));
}

namespace {

std::string name_of_frame(const debug::Debugger& debugger, const debug::FrameInfo& f) {
  if (f.in_kernel) {
    const auto at = debugger.kernel_position();
    if (!at) return f.where.function;
    std::string name = at->kernel;
    for (const auto& [variable, value] : at->loops)
      name += fmt::format(" {}={}", variable, runtime::format_brief(value));
    return name;
  }
  const std::string binding = f.where.binding.empty() ? std::string() : ":" + f.where.binding;
  if (f.is_virtual == debug::VirtualFrame::Fused)
    return fmt::format("{}{} ({} of {})", f.where.kernel, binding, f.where.part + 1, f.where.group.size());
  if (f.is_virtual == debug::VirtualFrame::Inlined) return fmt::format("{}{} (inlined)", f.where.written_in, binding);
  return f.where.function + binding;
}

}  // namespace

Json Adapter::frame_json(const debug::FrameInfo& f) {
  Json out{{"id", runs_->id(runs_->view().first_frame + f.number)}, {"name", name_of_frame(repl_->debugger(), f)}};
  put_place(out, f);
  if (f.where.pc >= 0) out["instructionPointerReference"] = address_of(f.where.pc);
  out["canRestart"] = f.is_virtual == debug::VirtualFrame::None;
  if (f.is_virtual != debug::VirtualFrame::None) out["presentationHint"] = "subtle";
  return out;
}

// After the end of the run there is no frame: the function that has returned stands for it.
Json Adapter::end_frame() {
  debug::FrameInfo f;
  f.where = repl_->debugger().last_stop().where;
  if (f.where.function.empty() && call_) f.where.function = call_->function;
  const ir::Module* module = repl_->session().module();
  const ir::Expr* function = module ? module->find(f.where.function) : nullptr;
  if (function && !f.where.span) f.where.span = repl_->session().context().span_of(function);
  Json out{{"id", runs_->id(runs_->view().first_frame)}, {"name", fmt::format("{} (returned)", f.where.function)}};
  put_place(out, f);
  return out;
}

Answer Adapter::on_stackTrace(const Request& request) {
  Fields fields(request.arguments);
  const std::int64_t start = std::max<std::int64_t>(0, fields.integer_or("startFrame", 0));
  const std::int64_t levels = std::max<std::int64_t>(0, fields.integer_or("levels", 0));
  if (auto failure = select_thread(fields)) return support::Failure(*std::move(failure));
  Json list = Json::array();
  if (!repl_->debugger().active()) {
    if (start == 0) list.push_back(end_frame());
    return Json{{"stackFrames", std::move(list)}, {"totalFrames", 1}};
  }
  const std::vector<debug::FrameInfo>& all = frames();
  constexpr std::int64_t kMost = 10'000;
  const std::int64_t count = levels > 0 ? std::min(levels, kMost) : kMost;
  for (std::int64_t i = start; i < std::int64_t(all.size()) && i - start < count; ++i)
    list.push_back(frame_json(all[std::size_t(i)]));
  return Json{{"stackFrames", std::move(list)}, {"totalFrames", all.size()}};
}

Answer Adapter::on_scopes(const Request& request) {
  Fields fields(request.arguments);
  (void)fields.integer("frameId");
  const auto frame = frame_of(fields);
  if (fields.failure()) return support::Failure(*fields.failure());
  return Json{{"scopes", variables_->scopes(*frame)}};
}

Answer Adapter::on_variables(const Request& request) {
  Fields fields(request.arguments);
  const std::int64_t reference = fields.integer("variablesReference");
  const std::int64_t start = fields.integer_or("start", 0), count = fields.integer_or("count", 0);
  const std::string filter = fields.text_or("filter");
  if (fields.failure()) return support::Failure(*fields.failure());
  (void)filter;  // no list has both kinds
  select_rank_of_variables(reference);
  return variables_->list(reference, start, count);
}

}  // namespace rldb::protocol::dap
