// Texts of kernels with the lines of the TensorIR, read out of LLVM's own texts.
#include "rldb/codegen/llvm/listing.h"

#include <cctype>
#include <charconv>
#include <unordered_map>

#include "codegen/llvm/engine/compile.h"
#include "codegen/llvm/engine/emitted.h"
#include "rldb/eval/eval.h"
#include "rldb/ir/printer.h"

namespace rldb::codegen {

namespace {

// Remembers the line that each statement begins.
class StatementLines : public ir::Decorator {
 public:
  explicit StatementLines(SourceLines& lines) : lines_(lines) {}
  void line(int number, const ir::Node* node) override {
    if (node) lines_.lines.emplace(node, number);
  }

 private:
  SourceLines& lines_;
};

// The number at the beginning of a text, which is passed over.
std::uint32_t take_number(std::string_view& text) {
  std::uint32_t n = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), n);
  text.remove_prefix(std::size_t(end - text.data()));
  return error == std::errc() ? n : 0;
}

bool take(std::string_view& text, std::string_view beginning) {
  if (!text.starts_with(beginning)) return false;
  text.remove_prefix(beginning.size());
  return true;
}

template <class Work>
void for_each_line(std::string_view text, Work work) {
  while (!text.empty()) {
    const auto end = std::min(text.find('\n'), text.size());
    if (!work(text.substr(0, end))) return;
    text.remove_prefix(std::min(end + 1, text.size()));
  }
}

void add(LinkedText& out, std::string_view line, std::uint32_t of) {
  out.text.append(line).push_back('\n');
  out.lines.push_back(of);
}

// `!12 = !DILocation(line: 34, ...)`
std::unordered_map<std::uint32_t, std::uint32_t> locations_in(std::string_view text) {
  std::unordered_map<std::uint32_t, std::uint32_t> lines;
  for_each_line(text, [&](std::string_view line) {
    if (!take(line, "!")) return true;
    const std::uint32_t id = take_number(line);
    if (!take(line, " = ")) return true;
    (void)take(line, "distinct ");
    if (take(line, "!DILocation(line: ")) lines[id] = take_number(line);
    return true;
  });
  return lines;
}

bool is_debug_metadata(std::string_view line) {
  if (line.starts_with("!llvm.dbg.")) return true;
  if (!take(line, "!") || line.empty() || std::isdigit(static_cast<unsigned char>(line[0])) == 0) return false;
  (void)take_number(line);
  if (!take(line, " = ")) return false;
  (void)take(line, "distinct ");
  return line.starts_with("!DI");
}

// `..., !dbg !12`: the line of an instruction; of a function it is not asked for.
LinkedText llvm_with_lines(std::string_view text) {
  const auto lines = locations_in(text);
  LinkedText out;
  for_each_line(text, [&](std::string_view line) {
    if (is_debug_metadata(line)) return true;
    constexpr std::string_view kMark = "!dbg !";
    const auto at = line.find(kMark);
    if (at == std::string_view::npos) {
      add(out, line, 0);
      return true;
    }
    std::string_view rest = line.substr(at + kMark.size());
    const auto found = lines.find(take_number(rest));
    std::string_view before = line.substr(0, at);
    while (before.ends_with(' ') || before.ends_with(',')) before.remove_suffix(1);
    add(out, std::string(before) + std::string(rest), found == lines.end() ? 0 : found->second);
    return true;
  });
  return out;
}

// `.loc 1 34 0 ...`: the line of the instructions that follow.
LinkedText assembly_with_lines(std::string_view text) {
  LinkedText out;
  std::uint32_t now = 0;
  for_each_line(text, [&](std::string_view line) {
    std::string_view word = line;
    if (take(word, "\t.section\t.debug")) return false;
    if (take(word, "\t.loc\t")) {
      (void)take_number(word);
      while (take(word, " ")) continue;
      now = take_number(word);
      return true;
    }
    if (word.starts_with("\t.file\t1") || word.starts_with(".Ltmp")) return true;
    const bool is_instruction = word.starts_with('\t') && !word.starts_with("\t.");
    add(out, line, is_instruction ? now : 0);
    return true;
  });
  return out;
}

}  // namespace

ir::Result<KernelListing> kernel_listing(ir::Context& ctx, const ir::PrimFunc* f, std::string_view name,
                                         const JitOptions& options) {
  RLDB_TRY(const runtime::KernelSignature signature, eval::signature_of(f, name));
  RLDB_TRY(const ir::PrimFunc* compiled, emitted(ctx, f, name, options));
  KernelListing out;
  SourceLines lines;
  lines.file = std::string(name);
  StatementLines keeper(lines);
  ir::PrintOptions print;
  print.header = false;
  out.tir = ir::print_function(name, compiled, print, &keeper);
  CompileOptions wanted;
  wanted.fp = options.fp;
  wanted.check_bounds = options.check_bounds;
  wanted.opt_level = options.opt_level;
  wanted.lines = &lines;
  RLDB_TRY(const std::string llvm, compile_text(compiled, signature, wanted, TextKind::Optimised));
  RLDB_TRY(const std::string assembly, compile_text(compiled, signature, wanted, TextKind::Assembly));
  out.llvm = llvm_with_lines(llvm);
  out.assembly = assembly_with_lines(assembly);
  return out;
}

}  // namespace rldb::codegen
