// Replies of commands as data: their JSON form (`--format=json`, docs/json.md).
//
// One function per kind of thing. Text is cut and aligned for a reader, data never is: all rows, all numbers.
#pragma once

#include <nlohmann/json.hpp>
#include <string_view>
#include <vector>

#include "rldb/debug/facts.h"
#include "rldb/debug/graph.h"
#include "rldb/debug/storage.h"
#include "rldb/ops/op_info.h"
#include "rldb/passes/pattern.h"
#include "rldb/repro/reduce.h"
#include "rldb/repro/validate.h"
#include "rldb/schedule/schedule.h"
#include "rldb/ui/prompt/state.h"

namespace rldb::ui {

struct LineWindow;

using Json = nlohmann::ordered_json;

// ---- values and types ----

// A number; "nan", "inf" and "-inf", which JSON cannot express as numbers.
Json number_json(double x);
inline Json or_null(std::string_view text) { return text.empty() ? Json() : Json(text); }
// Up to `max_elements` elements of a tensor are included, otherwise null; the shape tells how many there are.
Json value_json(const runtime::Value& v, std::int64_t max_elements);
// null: the type is not known.
Json type_json(const ir::Type* type);
Json statistics_json(std::string_view expression, const runtime::Value& v, const debug::Statistics& s);
Json differences_json(const debug::Differences& d);

// ---- the program ----

Json program_json(Repl& repl);
Json functions_json(const ir::Module* module);
Json operator_json(const ops::OpInfo& op);
Json binding_json(const debug::BindingGraph& graph, const debug::GraphNode& node);
Json graph_json(const debug::BindingGraph& graph);
Json session_values_json(Repl& repl);
Json options_json(Repl& repl);
Json aliases_json(Repl& repl);
// Text of the module or of one function; `function` empty: the module.
Json text_json(std::string_view function, const std::string& text);
// Where a variable is used, as `:uses` shows it.
struct VariableUse {
  std::string function;
  std::string name;                      // of what is computed from it; empty: the function returns it
  std::string text;                      // its binding, or the instruction
  const ir::Binding* binding = nullptr;  // null: there is only code
};
Json uses_json(Repl& repl, std::string_view name, const std::vector<VariableUse>& uses);
Json matches_json(Repl& repl, const std::vector<passes::FoundPattern>& found);
Json schedule_json(Repl& repl, std::string_view kernel, const ir::PrimFunc* f, const schedule::Result& result);
Json kernel_states_json(Repl& repl);

// ---- passes and versions ----

Json passes_json(const std::vector<const pipeline::PassRow*>& rows);
Json pipelines_json(std::span<const pipeline::NamedPipeline> rows);
// The pass that made a version.
Json pass_json(const session::Program& program, std::size_t version);
Json pass_record_json(const session::Program& program, const pipeline::Record& record);
Json history_json(Repl& repl);
Json diff_json(Repl& repl, std::size_t before, std::size_t after);
// The current version.
Json version_json(Repl& repl);
Json validation_json(const repro::Validation& v);

// ---- the stopped run ----

Json position_json(Repl& repl, const debug::Position& where);
// The stop after a verb, with the displays.
Json stop_json(Repl& repl, const debug::StopReport& stop);
Json breakpoint_json(const debug::Breakpoint& b);
// Of one kind; nullopt: of all.
Json breakpoints_json(Repl& repl, std::optional<debug::PointKind> kind = std::nullopt);
Json displays_json(Repl& repl);
Json frame_json(Repl& repl, const debug::FrameInfo& frame);
Json frames_json(Repl& repl, bool with_locals);
Json locals_json(Repl& repl, int frame);
// Rows of that list, for some of the frame's locals.
Json local_rows(Repl& repl, int frame, std::span<const debug::LocalInfo> locals);
Json kernel_json(const debug::Debugger::KernelPosition& at, std::int64_t max_elements);
Json registers_json(Repl& repl);
Json heap_json(Repl& repl);
Json objects_json(Repl& repl, std::size_t most);
Json storage_json(const debug::StoragePlan& plan, const runtime::DeviceList& devices);
// Lines of the text around a stop; in a kernel, of the kernel's text.
Json lines_json(Repl& repl);
Json lines_json(const source::Buffer& buffer, const LineWindow& window);
// One function, or -1 for all.
Json disassembly_json(Repl& repl, const bytecode::Executable& exe, bytecode::FunctionIndex function);
Json origin_json(bytecode::Pc pc, const std::vector<std::string>& steps);
Json when_json(const debug::NameHistory& history);
Json why_json(const std::vector<debug::CauseStep>& steps);
Json checkpoints_json(Repl& repl);

}  // namespace rldb::ui
