// Relatives: from every binding of a program's versions to the bindings of the written text that it came from.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "rldb/debug/version_text.h"
#include "rldb/ir/context.h"

namespace rldb::ui {

using RelativeList = std::vector<std::uint32_t>;  // ascending

class Relatives {
 public:
  // Versions before the last one made by hand have no relatives: an edit has no provenance.
  Relatives(const ir::Context& context, const std::vector<debug::ModuleVersion>& versions);

  // Of a binding, or of one of its nodes; empty: none.
  const RelativeList& of(std::uint32_t node) const;
  // Of everything that calls the function in a version.
  const RelativeList& of_callers(std::size_t version, std::string_view function) const;

 private:
  void number(const ir::Module* module);
  void follow(const ir::Module* module, const ir::SideTable<ir::Span<std::uint32_t>>& origins);
  void note_calls(std::size_t version, const ir::Module* module);
  RelativeList search(std::vector<std::uint32_t> nodes, const ir::SideTable<ir::Span<std::uint32_t>>& origins) const;

  std::unordered_map<std::uint32_t, RelativeList> of_;
  std::vector<std::unordered_map<std::string_view, RelativeList>> callers_;
};

}  // namespace rldb::ui
