// Identifiers, types and literals of OpenCL C.
#include "codegen/opencl/emit/c_names.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cmath>

namespace rldb::codegen {

using ir::DType;
using runtime::TypeCode;

namespace {

constexpr std::string_view kReserved[] = {
#define RLDB_RESERVED_WORD(word) #word,
#include "codegen/opencl/emit/reserved_word.def"
};

// Macros of OpenCL C are in upper case, and the helpers of the generated code begin with rldb_.
bool is_reserved(std::string_view name) {
  const bool upper =
      name.size() > 2 && std::all_of(name.begin(), name.end(), [](char c) {
        return std::isupper(static_cast<unsigned char>(c)) || c == '_' || std::isdigit(static_cast<unsigned char>(c));
      });
  return upper || name.starts_with("rldb_") || name.starts_with("__") || name.starts_with("as_") ||
         name.starts_with("convert_") ||
         std::find(std::begin(kReserved), std::end(kReserved), name) != std::end(kReserved);
}

std::string identifier(std::string_view wanted) {
  std::string name;
  for (const char c : wanted) name += std::isalnum(static_cast<unsigned char>(c)) || c == '_' ? c : '_';
  if (name.empty() || std::isdigit(static_cast<unsigned char>(name[0]))) name.insert(0, "v");
  if (is_reserved(name)) name += "_";
  if (name.starts_with("__") || name.starts_with("rldb_")) name.insert(0, "v");
  return name;
}

}  // namespace

std::string CNames::fresh(std::string_view wanted) {
  const std::string base = identifier(wanted);
  std::string name = base;
  while (!taken_.insert(name).second) name = fmt::format("{}_{}", base, ++next_[base]);
  return name;
}

const std::string& CNames::of(const ir::Node* n, std::string_view wanted) {
  const auto it = names_.find(n);
  if (it != names_.end()) return it->second;
  return names_.emplace(n, fresh(wanted)).first->second;
}

bool is_half(DType t) { return t.code == TypeCode::Float && t.bits == 16; }
bool is_rounded(DType t) { return is_half(t) || t.is_bfloat16(); }

std::string_view value_type(DType t) {
  if (is_rounded(t)) return "float";
  if (t.is_bool()) return "bool";
  return memory_type(t);
}

std::string_view memory_type(DType t) {
  if (is_rounded(t)) return "ushort";
  if (t.is_bool()) return "uchar";
  const bool is_signed = t.is_int();
  if (t.code == TypeCode::Float) return t.bits == 32 ? "float" : t.bits == 64 ? "double" : "";
  if (!is_signed && !t.is_uint()) return "";
  switch (t.bits) {
    case 8:
      return is_signed ? "char" : "uchar";
    case 16:
      return is_signed ? "short" : "ushort";
    case 32:
      return is_signed ? "int" : "uint";
    case 64:
      return is_signed ? "long" : "ulong";
    default:
      return "";
  }
}

std::string_view unsigned_type(DType t) { return memory_type(DType::UInt(t.bits)); }

std::string int_literal(std::int64_t value, DType t) {
  if (t.is_bool()) return value ? "true" : "false";
  if (t.is_uint()) {
    const std::string digits = fmt::format("{}", std::uint64_t(value));
    return t.bits == 64 ? digits + "UL" : t.bits == 32 ? digits + "u" : fmt::format("({}){}", memory_type(t), digits);
  }
  const std::string_view suffix = t.bits == 64 ? "L" : "";
  if (value == INT64_MIN) return fmt::format("(-{}L - 1)", INT64_MAX);
  if (t.bits == 32 && value == INT32_MIN) return fmt::format("(-{} - 1)", INT32_MAX);
  return value < 0 ? fmt::format("({}{})", value, suffix) : fmt::format("{}{}", value, suffix);
}

std::string float_literal(double value, DType t) {
  const bool wide = t.bits == 64;
  if (std::isnan(value)) return wide ? "as_double(0x7ff8000000000000L)" : "as_float(0x7fc00000)";
  if (std::isinf(value)) {
    const std::string_view sign = value < 0 ? "-" : "";
    return fmt::format("({}{})", sign, wide ? "as_double(0x7ff0000000000000L)" : "as_float(0x7f800000)");
  }
  std::string digits = wide ? fmt::format("{}", value) : fmt::format("{}", float(value));
  if (digits.find_first_of(".e") == std::string::npos) digits += ".0";
  if (!wide) digits += "f";
  return std::signbit(value) ? "(" + digits + ")" : digits;
}

std::string bare(std::string text) {
  if (text.size() < 2 || text.front() != '(' || text.back() != ')') return text;
  int depth = 0;
  for (std::size_t i = 0; i + 1 < text.size(); ++i) {
    depth += text[i] == '(' ? 1 : text[i] == ')' ? -1 : 0;
    if (depth == 0) return text;
  }
  return text.substr(1, text.size() - 2);
}

}  // namespace rldb::codegen
