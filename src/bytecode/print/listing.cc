// The debugger's listing: pc, gutter, the instruction in as_text's words, and a comment from debug info.
#include <fmt/format.h>

#include <algorithm>

#include "rldb/bytecode/builtin.h"
#include "rldb/bytecode/disassemble.h"
#include "rldb/support/check.h"

namespace rldb::bytecode {
namespace {

class Lister {
 public:
  Lister(const Executable& exe, FunctionIndex function, const ListingOptions& options)
      : exe_(exe), function_(function), options_(options) {}

  std::string run(Pc begin, Pc end) {
    const FunctionEntry& f = exe_.functions[std::size_t(function_)];
    begin = std::max(begin, f.start);
    end = std::min(end, f.end);
    width_ = fmt::format("{}", f.end - 1).size();
    for (Pc pc = begin; pc < end; ++pc) line(pc);
    return std::move(out_);
  }

  void header() {
    const FunctionEntry& f = exe_.functions[std::size_t(function_)];
    out_ += "@" + f.name + "(";
    // A file may claim millions of parameters without names.
    const std::int64_t shown = std::max(std::int64_t(f.param_names.size()), std::min(f.num_args, kUnnamedShown));
    for (RegName i = 0; i < RegName(shown); ++i) {
      if (i > 0) out_ += ", ";
      out_ += register_text(i);
      if (std::size_t(i) < f.param_names.size()) out_ += " " + f.param_names[std::size_t(i)];
    }
    if (shown < f.num_args) out_ += fmt::format(", ... {} more", f.num_args - shown);
    out_ += fmt::format("):  {} registers\n", f.register_file_size);
  }

 private:
  static constexpr std::int64_t kUnnamedShown = 64;

  void line(Pc pc) {
    std::string gutter = "  ";
    if (options_.decorator) {
      gutter = options_.decorator->gutter(pc);
      for (const std::string& above : options_.decorator->lines_before(pc)) out_ += above + "\n";
    }
    std::string text = fmt::format("{} {:>{}}  {}", gutter, pc, width_, instruction_text(exe_, pc));
    std::string comment = comment_of(pc);
    if (!comment.empty()) text = fmt::format("{:<72}  ; {}", text, comment);
    while (!text.empty() && text.back() == ' ') text.pop_back();
    out_ += text + "\n";
  }

  std::string comment_of(Pc pc) {
    std::vector<std::string> parts;
    Instruction i = exe_.instruction(pc);
    if (options_.show_variables) describe_debug(pc, i, parts);
    if (i.op == Opcode::Goto || i.op == Opcode::If) parts.push_back(fmt::format("to {}", pc + i.offset));
    if (options_.show_constants) describe_constants(i, parts);
    if (options_.decorator) {
      std::string more = options_.decorator->comment(pc);
      if (!more.empty()) parts.push_back(std::move(more));
    }
    return fmt::format("{}", fmt::join(parts, "; "));
  }

  void describe_debug(Pc pc, const Instruction& i, std::vector<std::string>& parts) {
    const InstructionDebug* d = exe_.debug.instruction(pc);
    if (i.op == Opcode::Call) {
      std::string names = argument_names(pc, i);
      std::string text;
      if (d && !d->variable.empty()) text = d->variable + " =";
      if (!names.empty()) text += (text.empty() ? "" : " ") + names;
      if (!text.empty()) parts.push_back(std::move(text));
    } else if (i.op != Opcode::Goto) {
      if (const VariableRange* v = exe_.debug.variable_at(function_, i.reg, pc)) parts.push_back(v->name);
    }
    if (!d) return;
    if (!d->slots_written.empty()) parts.push_back("sets " + slot_names(d->slots_written));
    if (!d->slots_read.empty()) parts.push_back("reads " + slot_names(d->slots_read));
  }

  // The variables among the arguments: `(x, w)`; empty when there are none.
  std::string argument_names(Pc pc, const Instruction& i) {
    std::string names;
    for (std::size_t a = 0; a < i.args.size(); ++a) {
      Arg arg = i.arg(a);
      if (arg.kind() != ArgKind::Register || is_special(arg.reg())) continue;
      const VariableRange* v = exe_.debug.variable_at(function_, arg.reg(), pc);
      if (!v) continue;
      names += (names.empty() ? "" : ", ") + v->name;
    }
    return names.empty() ? names : "(" + names + ")";
  }

  std::string slot_names(const std::vector<std::int32_t>& slots) {
    std::string text;
    for (std::int32_t s : slots) {
      const SlotDebug* slot = exe_.debug.slot(function_, s);
      if (!text.empty()) text += ", ";
      text += slot ? fmt::format("{}@{}", slot->text, s) : fmt::format("@{}", s);
    }
    return text;
  }

  void describe_constants(const Instruction& i, std::vector<std::string>& parts) {
    for (std::size_t a = 0; a < i.args.size(); ++a) {
      Arg arg = i.arg(a);
      if (arg.kind() != ArgKind::Constant) continue;
      const runtime::Value& v = exe_.constants[std::size_t(arg.value())];
      std::string text = describe(v);  // a string with escapes
      constexpr std::size_t kWidth = 70;
      if (text.size() > kWidth) text = text.substr(0, kWidth - 3) + "...";
      parts.push_back(fmt::format("c[{}] {}", arg.value(), text));
    }
  }

  const Executable& exe_;
  FunctionIndex function_;
  const ListingOptions& options_;
  std::size_t width_ = 1;
  std::string out_;
};

bool is_bytecode(const Executable& exe, FunctionIndex function) {
  return function >= 0 && std::size_t(function) < exe.functions.size() &&
         exe.functions[std::size_t(function)].kind == FunctionKind::Bytecode;
}

}  // namespace

std::string listing(const Executable& exe, FunctionIndex function, const ListingOptions& options) {
  if (!is_bytecode(exe, function)) return {};
  const FunctionEntry& f = exe.functions[std::size_t(function)];
  Lister lister(exe, function, options);
  lister.header();
  return lister.run(f.start, f.end);
}

std::string listing(const Executable& exe, FunctionIndex function, Pc begin, Pc end, const ListingOptions& options) {
  if (!is_bytecode(exe, function)) return {};
  return Lister(exe, function, options).run(begin, end);
}

}  // namespace rldb::bytecode
