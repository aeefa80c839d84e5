// Writing `.rlvm` files: TVM's layout, then our sections (debug info, TensorIR, kernels, metadata).
#include "rldb/bytecode/serialise.h"

#include <fmt/format.h>

#include "bytecode/file/format.h"
#include "rldb/runtime/tensor_blob.h"
#include "rldb/support/bytes.h"
#include "rldb/support/cancel.h"

namespace rldb::bytecode {

using support::ByteWriter;
namespace {

using runtime::DType;
using runtime::ErrorKind;
using runtime::Value;
using runtime::ValueKind;
using Written = runtime::Result<support::Unit>;

void write_words(ByteWriter& out, const std::vector<Word>& words) {
  out.u64(words.size());
  for (Word w : words) out.i64(w);
}

void write_functions(ByteWriter& out, const std::vector<FunctionEntry>& functions) {
  out.u64(functions.size());
  for (const FunctionEntry& f : functions) {
    out.i32(std::int32_t(f.kind));
    out.string(f.name);
    out.i64(f.start.value());
    out.i64(f.end.value());
    out.i64(f.num_args);
    out.i64(f.register_file_size);
    out.u64(f.param_names.size());
    for (const std::string& p : f.param_names) out.string(p);
  }
}

Written write_constant(ByteWriter& out, const Value& v, std::size_t index) {
  auto tag = [&](format::Tag t) { out.i32(std::int32_t(t)); };
  switch (v.kind()) {
    case ValueKind::Int:
      tag(format::Tag::Int);
      out.i64(v.as_int());
      return support::Unit{};
    case ValueKind::Float:
      tag(format::Tag::Float);
      out.f64(v.as_float());
      return support::Unit{};
    case ValueKind::DType:
      tag(format::Tag::DType);
      runtime::write_dtype(out, v.as_dtype());
      return support::Unit{};
    case ValueKind::String:
      tag(format::Tag::String);
      out.string(v.as_string());
      return support::Unit{};
    case ValueKind::Shape:
      tag(format::Tag::Shape);
      write_words(out, v.as_shape());
      return support::Unit{};
    case ValueKind::Tensor:
      tag(format::Tag::Tensor);
      runtime::write_tensor(out, v.as_tensor());
      return support::Unit{};
    case ValueKind::Null:
    case ValueKind::Bool:
    case ValueKind::Tuple:
    case ValueKind::Function:
    case ValueKind::Storage:
    case ValueKind::Object:
      break;
  }
  return runtime::fail(ErrorKind::Unsupported, fmt::format("constant {} is a {}, which an executable file cannot hold",
                                                           index, to_string(v.kind())));
}

void write_location(ByteWriter& out, Location l) {
  out.u32(l.file);
  out.u32(l.line);
  out.u32(l.column);
}

void write_slots(ByteWriter& out, const std::vector<std::int32_t>& slots) {
  out.u64(slots.size());
  for (std::int32_t s : slots) out.i32(s);
}

std::string debug_section(const DebugInfo& debug) {
  ByteWriter out;
  out.u64(debug.files.size());
  for (const std::string& f : debug.files) out.string(f);
  out.u64(debug.functions.size());
  for (const FunctionDebug& f : debug.functions) {
    write_location(out, f.location);
    out.i64(f.heap_register.value());
    out.u64(f.slots.size());
    for (const SlotDebug& s : f.slots) {
      out.string(s.text);
      out.u8(s.is_variable);
      out.string(s.bound_by);
      runtime::write_dtype(out, s.dtype);
    }
    out.u64(f.variables.size());
    for (const VariableRange& v : f.variables) {
      out.string(v.name);
      out.i64(v.reg.value());
      out.i64(v.begin.value());
      out.i64(v.end.value());
      out.u8(v.is_parameter);
      out.string(v.type);
    }
  }
  out.u64(debug.instructions.size());
  for (const InstructionDebug& i : debug.instructions) {
    support::poll();
    out.string(i.variable);
    write_location(out, i.location);
    write_slots(out, i.slots_read);
    write_slots(out, i.slots_written);
  }
  return out.take();
}

std::string map_section(const std::map<std::string, std::string>& entries) {
  ByteWriter out;
  out.u64(entries.size());
  for (const auto& [name, bytes] : entries) {
    out.string(name);
    out.string(bytes);
  }
  return out.take();
}

void write_section(ByteWriter& out, format::Section id, std::string_view bytes) {
  out.u32(std::uint32_t(id));
  out.u64(bytes.size());
  out.raw(bytes);
}

bool has_sections(const Executable& exe) {
  const DebugInfo& d = exe.debug;
  return !d.files.empty() || !d.functions.empty() || !d.instructions.empty() || !exe.tensor_ir.empty() ||
         !exe.kernels.empty() || !exe.metadata.empty();
}

}  // namespace

runtime::Result<std::string> serialise(const Executable& exe) {
  ByteWriter out;
  out.u64(format::kMagicV2);
  out.string(format::kVersion);
  write_functions(out, exe.functions);
  out.u64(exe.memory_scopes.size());
  for (const auto& [constant, scope] : exe.memory_scopes) {
    out.i64(constant.value());
    out.string(scope);
  }
  out.u64(exe.constants.size());
  for (std::size_t i = 0; i < exe.constants.size(); ++i) {
    support::poll();
    RLDB_TRY_VOID(write_constant(out, exe.constants[i], i));
  }
  write_words(out, exe.instr_offset);
  write_words(out, exe.instr_data);

  if (!has_sections(exe)) return out.take();  // as TVM writes it
  out.u64(format::kSectionsMagic);
  out.u32(kSectionsVersion);
  write_section(out, format::Section::Debug, debug_section(exe.debug));
  if (!exe.tensor_ir.empty()) write_section(out, format::Section::TensorIR, exe.tensor_ir);
  write_section(out, format::Section::Kernels, map_section(exe.kernels));
  write_section(out, format::Section::Metadata, map_section(exe.metadata));
  write_section(out, format::Section::End, {});
  return out.take();
}

}  // namespace rldb::bytecode
