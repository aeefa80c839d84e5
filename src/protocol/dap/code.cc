// Breakpoints, texts, instructions.
#include <fmt/format.h>

#include <algorithm>

#include "protocol/dap/adapter.h"
#include "protocol/dap/fields.h"
#include "rldb/bytecode/disassemble.h"

namespace rldb::protocol::dap {

Answer Adapter::on_setBreakpoints(const Request& request) { return points_->set_source(request.arguments); }
Answer Adapter::on_setFunctionBreakpoints(const Request& request) { return points_->set_functions(request.arguments); }
Answer Adapter::on_setDataBreakpoints(const Request& request) { return points_->set_data(request.arguments); }
Answer Adapter::on_setInstructionBreakpoints(const Request& request) {
  return points_->set_instructions(request.arguments);
}
Answer Adapter::on_setExceptionBreakpoints(const Request& request) {
  return points_->set_exceptions(request.arguments);
}

// The id has the frame, counted from the outermost, so that it is known when the frames on top of it have changed.
Answer Adapter::on_dataBreakpointInfo(const Request& request) {
  Fields fields(request.arguments);
  std::string expression = fields.text("name");
  const std::int64_t reference = fields.integer_or("variablesReference", 0);
  auto frame = reference > 0 ? std::optional(0) : frame_of(fields);
  if (fields.failure()) return support::Failure(*fields.failure());
  if (reference > 0) {
    select_rank_of_variables(reference);
    auto target = variables_->target_of(reference, expression);
    if (!target.ok())
      return Json{{"dataId", nullptr}, {"description", fmt::format("`{}` cannot be watched", expression)}};
    expression = target->expression;
    frame = target->frame;
  }
  source::Diagnostics diagnostics;
  const debug::Breakpoint* probe = repl_->debugger().add_watchpoint(expression, *frame, false, diagnostics);
  if (!probe) return Json{{"dataId", nullptr}, {"description", diagnostics.first_error("it cannot be watched")}};
  const std::size_t depth = probe->frame;
  const std::string where = probe->function;
  repl_->debugger().remove_breakpoint(probe->number);
  return Json{{"dataId", fmt::format("{}:{}", depth, expression)},
              {"description", where.empty() ? expression : fmt::format("{} in {}", expression, where)},
              {"accessTypes", {"write"}},
              {"canPersist", false}};
}

// A breakpoint slides from a line without code to the next one that has some: there it would not stay.
std::optional<std::string> Adapter::code_at(const SourceRef& source, std::uint32_t line) {
  if (source.kind == SourceKind::Version) {
    const auto text = sources_->version_text(source);
    const auto place = text ? text->place_at(line) : std::nullopt;
    return place && place->line == line ? std::optional(place->specs.front()) : std::nullopt;
  }
  if (source.kind == SourceKind::Listing) return std::nullopt;
  const std::string name = source.kind == SourceKind::File ? sources_->buffer_name(source.name) : source.name;
  if (name.empty()) return std::nullopt;
  source::Diagnostics ignored;
  std::string spec = fmt::format("{}:{}", name, line);
  const debug::Breakpoint* probe = repl_->debugger().add_breakpoint(spec, true, ignored);
  if (!probe) return std::nullopt;
  const debug::Position there =
      probe->sites.empty() ? debug::Position{} : repl_->debugger().position_at(probe->sites[0]);
  const source::Buffer* buffer = repl_->session().sources().find(there.span.file);
  const bool stays = probe->in_kernel ? !probe->kernel_lines.empty() && probe->kernel_lines[0] == line
                                      : buffer && buffer->line_column(there.span.begin).line == line;
  repl_->debugger().remove_breakpoint(probe->number);
  return stays ? std::optional(std::move(spec)) : std::nullopt;
}

// Lines of the range at which a breakpoint would stay.
Answer Adapter::on_breakpointLocations(const Request& request) {
  Fields fields(request.arguments);
  const auto source = sources_->find(fields.object("source"));
  const std::int64_t first = fields.integer("line"), last = fields.integer_or("endLine", first);
  if (fields.failure()) return support::Failure(*fields.failure());
  Json list = Json::array();
  constexpr std::int64_t kMost = 10'000;
  for (std::int64_t line = first; source.ok() && line <= last && line - first < kMost; ++line)
    if (code_at(*source, line_from_client(line))) list.push_back({{"line", line}});
  return Json{{"breakpoints", std::move(list)}};
}

// ---- texts ----

Answer Adapter::on_source(const Request& request) {
  Fields fields(request.arguments);
  const Json& source = fields.object("source");
  const std::int64_t reference = fields.integer_or("sourceReference", 0);
  if (fields.failure()) return support::Failure(*fields.failure());
  support::Result<std::string, Failure> text = std::string();
  if (fields.has("source")) {
    const auto ref = sources_->find(source);
    if (!ref.ok()) return support::Failure(ref.error());
    text = sources_->text(ref->kind == SourceKind::File && !sources_->buffer_name(ref->name).empty()
                              ? SourceRef{SourceKind::File, sources_->buffer_name(ref->name), 0, {}}
                              : *ref);
  } else {
    text = sources_->text_of_reference(reference);
  }
  if (!text.ok()) return support::Failure(text.error());
  return Json{{"content", std::move(*text)}, {"mimeType", "text/x-python"}};
}

Answer Adapter::on_loadedSources(const Request&) {
  Json list = Json::array();
  const source::SourceManager& sources = repl_->session().sources();
  for (std::uint32_t i = 1; i <= sources.size(); ++i) {
    const source::Buffer* buffer = sources.find(source::FileId{i});
    if (buffer && buffer->name() == repl_->session().program_path())
      list.push_back(sources_->source_of_buffer(*buffer));
  }
  for (const SourceRef& version : sources_->versions()) list.push_back(sources_->source_of(version));
  return Json{{"sources", std::move(list)}};
}

// The program, and the IR after each pass.
Answer Adapter::on_modules(const Request& request) {
  Fields fields(request.arguments);
  const std::int64_t start = std::max<std::int64_t>(0, fields.integer_or("startModule", 0));
  const std::int64_t count = std::max<std::int64_t>(0, fields.integer_or("moduleCount", 0));
  if (fields.failure()) return support::Failure(*fields.failure());
  std::vector<Json> all;
  const session::Program* program = repl_->session().program();
  if (program) {
    const std::string path = program->path();
    all.push_back({{"id", 0},
                   {"name", path.substr(path.rfind('/') + 1)},
                   {"path", path},
                   {"isUserCode", true},
                   {"version", program->version_count() > 0 ? program->version_name(program->position()) : ""},
                   {"symbolStatus", fmt::format("{} functions", program->function_names().size())}});
  }
  for (const SourceRef& version : sources_->versions())
    all.push_back({{"id", all.size()},
                   {"name", sources_->source_of(version)["name"]},
                   {"isOptimized", version.version > 0},
                   {"version", version.hash},
                   {"symbolStatus", version.name.empty() ? "as loaded" : "after " + version.name}});
  Json list = Json::array();
  for (std::size_t i = std::size_t(start); i < all.size() && (count == 0 || i < std::size_t(start + count)); ++i)
    list.push_back(std::move(all[i]));
  return Json{{"modules", std::move(list)}, {"totalModules", all.size()}};
}

// ---- instructions ----

// Exactly as many rows as are asked for: those outside of the code are invalid ones.
Answer Adapter::on_disassemble(const Request& request) {
  Fields fields(request.arguments);
  const std::string reference = fields.text("memoryReference");
  const std::int64_t offset = fields.integer_or("offset", 0);
  const std::int64_t from = fields.integer_or("instructionOffset", 0);
  const std::int64_t count = fields.integer("instructionCount");
  if (fields.failure()) return support::Failure(*fields.failure());
  const auto address = read_address(reference);
  constexpr std::int64_t kFar = std::int64_t(1) << 40, kMost = 100'000;
  if (!address || *address > kFar || std::abs(offset) > kFar || std::abs(from) > kFar)
    return refused(fmt::format("`{}` is not the address of an instruction", reference));
  if (count < 0 || count > kMost) return refused(fmt::format("`instructionCount` must be from 0 to {}", kMost));
  const vm::Machine* machine = repl_->debugger().machine();
  Json rows = Json::array();
  for (std::int64_t i = 0; i < count; ++i) {
    support::poll();
    const std::int64_t pc = *address + offset - kFirstAddress + from + i;
    if (!machine || pc < 0 || bytecode::Pc(pc) >= machine->executable().end()) {
      rows.push_back({{"address", fmt::format("0x{:x}", std::max<std::int64_t>(0, kFirstAddress + pc))},
                      {"instruction", ""},
                      {"presentationHint", "invalid"}});
      continue;
    }
    const bytecode::Executable& exe = machine->executable();
    Json row{{"address", address_of(bytecode::Pc(pc))},
             {"instruction", bytecode::instruction_text(exe, bytecode::Pc(pc))}};
    const bytecode::FunctionIndex f = exe.function_of(bytecode::Pc(pc));
    if (f >= 0 && exe.functions[std::size_t(f)].start == bytecode::Pc(pc))
      row["symbol"] = exe.functions[std::size_t(f)].name;
    const debug::Position at = repl_->debugger().position_at({bytecode::Pc(pc), 0});
    if (const source::Buffer* buffer = repl_->session().sources().find(at.span.file)) {
      row["location"] = sources_->source_of_buffer(*buffer);
      row["line"] = line_to_client(buffer->line_column(at.span.begin).line);
    }
    rows.push_back(std::move(row));
  }
  return Json{{"instructions", std::move(rows)}};
}

}  // namespace rldb::protocol::dap
