// Elements that a question names (`x[3, 4]`, `sp[1][2, :]`), and where the run held their tensor: in a register now, or
// as of its definition if its register was freed since. Users: the questions about elements.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "debug/impl.h"
#include "debug/provenance/write_history.h"

namespace rldb::debug {

struct ElementTarget {
  std::string shown;                    // `sp[1]`
  std::string base;                     // the name in front: `sp`
  std::vector<std::size_t> fields;      // of tuples, behind it
  int binding = -1;                     // of the base; -1: none
  std::size_t frame = 0;                // of the machine, counted from the outermost
  runtime::Value value;                 // the tensor
  std::vector<std::int64_t> positions;  // empty: no subscript follows, or it selects nothing
  const runtime::Tensor& tensor() const { return value.as_tensor(); }
};

// Nullopt: diagnosed. `d.run` must be there.
std::optional<ElementTarget> element_target(const Debugger::Impl& d, const Debugger& debugger, std::string_view name,
                                            std::string_view subscript, int frame, source::Diagnostics& out);

// Shows `f` the moments and registers in which the tensor lies, until it returns true: now; then, after its register
// was freed, as of its definition. An alias or a field that has no register of its own stands for what it was made
// from. False: it is not in the run's memory (fused away, inlined), or `f` wanted none of them.
using Holding = std::function<bool(std::uint64_t time, const ValuePath& path)>;
bool each_holding(const Debugger::Impl& d, ElementTarget target, const Holding& f);

}  // namespace rldb::debug
