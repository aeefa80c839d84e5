// The patterns of FuseOpsByPattern as text: `[("name", pattern), FusionPattern(name="...", pattern=...)]`.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "rldb/passes/pattern.h"

namespace rldb::passes {

struct NamedPattern {
  std::string name;
  Pattern pattern;
};
ir::Result<std::vector<NamedPattern>> parse_named_patterns(std::string_view text);

}  // namespace rldb::passes
