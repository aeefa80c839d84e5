// Views: how the prompt shows things: stops with the source around them, types, operators, tables.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "rldb/debug/debugger.h"
#include "rldb/ops/op_info.h"
#include "rldb/session/program_kind.h"
#include "rldb/ui/prompt/state.h"

namespace rldb::ui {

// Has the program these abilities (session/program_kind.h), which `what` needs? False: refused, which is reported.
bool needs(Repl& repl, std::string_view what, unsigned abilities);

// Numbers of the lines of a text around a position.
struct LineWindow {
  std::uint32_t first = 0, last = 0, current = 0;
};
LineWindow lines_around(const source::Buffer& buffer, std::uint32_t line, std::size_t lines);
LineWindow lines_around(const source::Buffer& buffer, const debug::Position& where, std::size_t lines);
// The text of the selected frame, else of the program. None: it has no text.
source::FileId file_at_hand(Repl& repl);
void show_source_lines(Repl& repl, source::FileId file, const LineWindow& window);
// Source lines around a position, with an arrow at the current one.
void show_source_around(Repl& repl, const debug::Position& where, std::size_t lines);
// A pane shows the text around the stop, so that a stop need not show it again.
bool screen_shows_code(const Repl& repl);
// Of one kind: nullopt: of all.
void show_breakpoints(Repl& repl, std::optional<debug::PointKind> kind = std::nullopt);
void show_displays(Repl& repl);
// Resolves breakpoints again in a changed program, and reports which lost their places.
void resolve_and_tell(Repl& repl);
// "breakpoint", "watchpoint", "catchpoint", "log point".
std::string_view kind_name(const debug::Breakpoint& b);
void show_operator(Repl& repl, const ops::OpInfo& op);
void show_program(Repl& repl);
// By `:set diff` and the terminal.
DiffOptions diff_options_of(Repl& repl);
struct DifferenceView {
  std::optional<DiffLayout> layout = {};  // none: that of `:set diff`
  std::size_t most_lines = std::size_t(-1);
};
// Shows the diff of two texts; nothing if they are equal. Returns how many of its lines were left out.
std::size_t show_difference(Repl& repl, std::string_view before, std::string_view after, const std::string& before_name,
                            const std::string& after_name, const DifferenceView& view = {});
// TVMScript, highlighted when the console has colour.
void show_text(Repl& repl, const std::string& text);
std::string describe_position(const Repl& repl, const debug::Position& where);
// The same for a frame, virtual ones included.
std::string describe_frame(const Repl& repl, const debug::FrameInfo& frame);
// The checked type and the three kinds of shape, in RFC 0089's words.
std::vector<std::string> explain_type(const ir::Type* type);
std::optional<std::uint64_t> parse_count(std::string_view text);

}  // namespace rldb::ui
