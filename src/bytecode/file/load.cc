// Reading `.rlvm` files: every count is bounded by the remaining bytes, and the result is verified.
#include <fmt/format.h>

#include "bytecode/file/format.h"
#include "rldb/bytecode/disassemble.h"
#include "rldb/bytecode/serialise.h"
#include "rldb/runtime/library_data.h"
#include "rldb/runtime/tensor_blob.h"
#include "rldb/support/bytes.h"
#include "rldb/support/cancel.h"

namespace rldb::bytecode {

using support::ByteReader;
namespace {

using runtime::DType;
using runtime::ErrorKind;
using runtime::Value;

// The enumeration used for the tags of constants: files do not specify it.
enum class TagStyle { Ffi, Old };

class Loader {
 public:
  Loader(std::string_view bytes, TagStyle style) : in_(bytes), style_(style) {}

  runtime::Result<Executable> run() {
    std::uint64_t magic = in_.u64();
    if (magic != format::kMagicV1 && magic != format::kMagicV2)
      return runtime::fail(ErrorKind::BadFile, "not a Relax VM executable: wrong magic number");
    std::string version = in_.string();
    if (in_.ok() && version != format::kVersion)
      return runtime::fail(ErrorKind::BadFile, fmt::format("executable of format version `{}`; only `{}` is known",
                                                           version.substr(0, 40), format::kVersion));
    read_functions();
    if (magic == format::kMagicV2) read_memory_scopes();
    read_constants();
    read_words(exe_.instr_offset, "instructions");
    read_words(exe_.instr_data, "instruction words");
    if (in_.ok() && in_.left() > 0) read_sections();
    if (!in_.ok()) return runtime::fail(ErrorKind::BadFile, "executable is damaged at " + in_.error());
    RLDB_TRY_VOID(verify(exe_));
    return std::move(exe_);
  }

  // How far the reading got: decides which of two attempts to report.
  std::size_t reached() const { return in_.at(); }

 private:
  void read_functions() {
    std::uint64_t n = in_.count(52, "functions");
    for (std::uint64_t i = 0; i < n && in_.ok(); ++i) {
      FunctionEntry f;
      f.kind = FunctionKind(in_.i32());
      f.name = in_.string();
      f.start = Pc(in_.i64());
      f.end = Pc(in_.i64());
      f.num_args = in_.i64();
      f.register_file_size = in_.i64();
      std::uint64_t params = in_.count(8, "parameter names");
      for (std::uint64_t p = 0; p < params && in_.ok(); ++p) f.param_names.push_back(in_.string());
      exe_.functions.push_back(std::move(f));
    }
  }

  void read_memory_scopes() {
    std::uint64_t n = in_.count(16, "memory scopes");
    for (std::uint64_t i = 0; i < n && in_.ok(); ++i) {
      const ConstantIndex constant(in_.i64());
      exe_.memory_scopes[constant] = in_.string();
    }
  }

  void read_constants() {
    std::uint64_t n = in_.count(8, "constants");
    for (std::uint64_t i = 0; i < n && in_.ok(); ++i) {
      support::poll();
      exe_.constants.push_back(read_constant());
    }
  }

  Value read_constant() {
    std::int32_t tag = in_.i32();
    switch (style_) {
      case TagStyle::Ffi:
        switch (format::Tag(tag)) {
          case format::Tag::Int:
            return Value::of_int(in_.i64());
          case format::Tag::Float:
            return Value::of_float(in_.f64());
          case format::Tag::DType:
            return Value::of_dtype(runtime::read_dtype(in_));
          case format::Tag::String:
            return Value::of_string(in_.string());
          case format::Tag::Shape:
            return read_shape();
          case format::Tag::Tensor:
            return read_tensor();
        }
        break;
      case TagStyle::Old:
        switch (format::OldTag(tag)) {
          case format::OldTag::Int:
            return Value::of_int(in_.i64());
          case format::OldTag::Float:
            return Value::of_float(in_.f64());
          case format::OldTag::DType:
            return Value::of_dtype(runtime::read_dtype(in_));
          case format::OldTag::String:
            return Value::of_string(in_.string());
          case format::OldTag::Shape:
            return read_shape();
          case format::OldTag::Tensor:
            return read_tensor();
        }
        break;
    }
    in_.fail(fmt::format("constant of unknown kind {}", tag));
    return Value();
  }

  Value read_shape() {
    std::vector<Word> dims;
    read_words(dims, "dimensions");
    return Value::of_shape(std::move(dims));
  }

  Value read_tensor() {
    const auto tensor = runtime::read_tensor(in_);
    return tensor ? Value(*tensor) : Value();
  }

  void read_words(std::vector<Word>& words, const char* what) {
    std::uint64_t n = in_.count(8, what);
    words.reserve(n);
    for (std::uint64_t i = 0; i < n && in_.ok(); ++i) words.push_back(in_.i64());
  }

  void read_sections() {
    if (in_.u64() != format::kSectionsMagic) return in_.fail("unknown data after the code");
    std::uint32_t version = in_.u32();
    if (in_.ok() && (version < 1 || version > kSectionsVersion))
      return in_.fail(
          fmt::format("sections of version {}; the versions up to {} are known", version, kSectionsVersion));
    while (in_.ok()) {
      auto id = format::Section(in_.u32());
      std::string_view bytes = in_.raw(in_.u64());
      if (!in_.ok()) return;
      std::size_t start = in_.at() - bytes.size();
      ByteReader part(bytes);
      switch (id) {
        case format::Section::End:
          if (in_.left() > 0) in_.fail("data after the last section");
          return;
        case format::Section::Debug:
          read_debug(part);
          break;
        case format::Section::Kernels:
          read_map(part, exe_.kernels);
          break;
        case format::Section::Metadata:
          read_map(part, exe_.metadata);
          // The texts of instructions are never taken from a file.
          std::erase_if(exe_.metadata, [](const auto& note) { return note.first.starts_with(kTextNotes); });
          break;
        case format::Section::TensorIR:
          exe_.tensor_ir = part.raw(part.left());
          break;
      }
      if (id > format::Section::TensorIR) return in_.fail(fmt::format("unknown section {}", std::uint32_t(id)));
      if (part.ok() && part.left() > 0) part.fail("section is too long");
      if (!part.ok()) return in_.fail(fmt::format("section at {}, {}", start, part.error()));
    }
  }

  static void read_map(ByteReader& in, std::map<std::string, std::string>& entries) {
    std::uint64_t n = in.count(16, "entries");
    for (std::uint64_t i = 0; i < n && in.ok(); ++i) {
      std::string name = in.string();
      entries[name] = in.string();
    }
  }

  static Location read_location(ByteReader& in) {
    Location l;
    l.file = in.u32();
    l.line = in.u32();
    l.column = in.u32();
    return l;
  }

  static std::vector<std::int32_t> read_slots(ByteReader& in) {
    std::vector<std::int32_t> slots(in.count(4, "slots"));
    for (std::int32_t& s : slots) s = in.i32();
    return slots;
  }

  static SlotDebug read_slot(ByteReader& in) {
    SlotDebug s;
    s.text = in.string();
    s.is_variable = in.u8() != 0;
    s.bound_by = in.string();
    s.dtype = runtime::read_dtype(in);
    return s;
  }

  static VariableRange read_variable(ByteReader& in) {
    VariableRange v;
    v.name = in.string();
    v.reg = RegName(in.i64());
    v.begin = Pc(in.i64());
    v.end = Pc(in.i64());
    v.is_parameter = in.u8() != 0;
    v.type = in.string();
    return v;
  }

  void read_debug(ByteReader& in) {
    std::uint64_t files = in.count(8, "files");
    for (std::uint64_t i = 0; i < files && in.ok(); ++i) exe_.debug.files.push_back(in.string());
    std::uint64_t functions = in.count(36, "functions");
    for (std::uint64_t i = 0; i < functions && in.ok(); ++i) {
      FunctionDebug f;
      f.location = read_location(in);
      f.heap_register = RegName(in.i64());
      std::uint64_t slots = in.count(21, "slots");
      for (std::uint64_t s = 0; s < slots && in.ok(); ++s) f.slots.push_back(read_slot(in));
      std::uint64_t variables = in.count(41, "variables");
      for (std::uint64_t v = 0; v < variables && in.ok(); ++v) f.variables.push_back(read_variable(in));
      exe_.debug.functions.push_back(std::move(f));
    }
    std::uint64_t instructions = in.count(36, "instructions");
    for (std::uint64_t i = 0; i < instructions && in.ok(); ++i) {
      support::poll();
      InstructionDebug d;
      d.variable = in.string();
      d.location = read_location(in);
      d.slots_read = read_slots(in);
      d.slots_written = read_slots(in);
      exe_.debug.instructions.push_back(std::move(d));
    }
  }

  ByteReader in_;
  TagStyle style_;
  Executable exe_;
};

}  // namespace

bool is_executable_file(std::string_view first_bytes) {
  if (runtime::is_library_file(first_bytes)) return true;
  ByteReader in(first_bytes);
  std::uint64_t magic = in.u64();
  return in.ok() && (magic == format::kMagicV1 || magic == format::kMagicV2);
}

runtime::Result<Executable> load(std::string_view bytes) {
  Loader loader(bytes, TagStyle::Ffi);
  runtime::Result<Executable> loaded = loader.run();
  if (loaded.ok()) return loaded;
  // The tags of constants changed without a change of version: a file that does not read one way may read the other.
  Loader old_loader(bytes, TagStyle::Old);
  runtime::Result<Executable> old = old_loader.run();
  if (old.ok() || old_loader.reached() > loader.reached()) return old;
  return loaded;
}

}  // namespace rldb::bytecode
