#include "frontend/echo.h"

#include <algorithm>
#include <string>
#include <unordered_set>

#include "rldb/source/diagnostic_id.h"

namespace rldb::frontend {

namespace {

using source::DiagId;

// Kinds whose repetition in one function has the same cause.
bool has_one_cause(DiagId id) {
  return id == DiagId::UnknownName || id == DiagId::DataflowVarOutside || id == DiagId::BranchVarOutside ||
         id == DiagId::NoMember || id == DiagId::SymbolNotBound || id == DiagId::StringInBody;
}

// Where the outermost function that holds an offset begins.
std::uint32_t function_at(const FunctionRanges& functions, std::uint32_t offset) {
  const auto after = std::upper_bound(functions.begin(), functions.end(), offset,
                                      [](std::uint32_t o, const auto& range) { return o < range.first; });
  return after == functions.begin() ? 0 : std::prev(after)->first;
}

}  // namespace

FunctionRanges functions_of(const cst::Tree& tree) {
  FunctionRanges out;
  for (const cst::NodeRow& row : tree.rows) {
    if (row.kind != cst::Kind::RelaxFunction && row.kind != cst::Kind::PrimFunc) continue;
    if (out.empty() || row.begin >= out.back().second) out.emplace_back(row.begin, row.end);
  }
  return out;
}

void add_without_echoes(std::vector<source::Diagnostic> from, const FunctionRanges& functions,
                        source::Diagnostics& to) {
  std::stable_sort(from.begin(), from.end(), [](const source::Diagnostic& a, const source::Diagnostic& b) {
    return a.span.begin < b.span.begin;
  });
  std::unordered_set<std::string> said;
  for (source::Diagnostic& d : from) {
    if (has_one_cause(d.id) &&
        !said.insert(std::to_string(function_at(functions, d.span.begin)) + ":" + d.message).second)
      continue;
    to.add(std::move(d));
  }
}

}  // namespace rldb::frontend
