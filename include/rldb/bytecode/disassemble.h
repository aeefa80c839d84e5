// Text of executables: TVM's `as_text` exactly, and an annotated listing for the debugger.
//
// A Decorator adds what only its owner knows (markers, source lines); it is called once per line. Used by ui, debug,
// `rldb disasm`, fault messages, golden tests.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "rldb/bytecode/executable.h"

namespace rldb::bytecode {

std::string register_text(RegName reg);                // %3, %vm, %void
std::string arg_text(const Executable& exe, Arg arg);  // %3, i42, c[0], f[name]
// A map of another machine's code (vm/instruction_set.h) has its instructions' texts among its notes (metadata).
inline constexpr std::string_view kTextNotes = "rldb.text.";
std::string text_note(Pc pc);
std::string instruction_text(const Executable& exe, Pc pc);  // one line, no indentation

// TVM's text of a whole executable. Constants are not part of it.
std::string as_text(const Executable& exe);
// Constants by shape and dtype, functions by kind, sizes.
std::string stats(const Executable& exe);
// An ExecBuilder script in Python.
std::string as_python(const Executable& exe);

class Decorator {
 public:
  virtual ~Decorator() = default;
  // Two columns before the pc: "=>", "b+", "  ".
  virtual std::string gutter(Pc pc) { return (void)pc, "  "; }
  // Whole lines above the instruction (source text), without line breaks.
  virtual std::vector<std::string> lines_before(Pc pc) { return (void)pc, std::vector<std::string>{}; }
  // After the default comment.
  virtual std::string comment(Pc pc) { return (void)pc, std::string(); }
};
struct ListingOptions {
  Decorator* decorator = nullptr;
  bool show_variables = true;  // `; lv1 = ...` comments from debug info, slots as `n@0`
  bool show_constants = true;  // `c[0]` explained by a comment
};
// One function. Empty when `function` is not a bytecode function.
std::string listing(const Executable& exe, FunctionIndex function, const ListingOptions& options = {});
// Part of one: [begin, end) of pc, clipped.
std::string listing(const Executable& exe, FunctionIndex function, Pc begin, Pc end,
                    const ListingOptions& options = {});

}  // namespace rldb::bytecode
