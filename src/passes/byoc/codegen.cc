#include "rldb/passes/codegen.h"

#include "passes/byoc/codegens.h"
#include "rldb/support/check.h"

namespace rldb::passes {

namespace {

constexpr std::size_t kMaxRegistered = 100;

// The rows of codegen.def, then the registered ones. Capacity is reserved: a row never moves.
std::vector<CodegenInfo>& table() {
  static std::vector<CodegenInfo> rows = [] {
    std::vector<CodegenInfo> out = {
#define RLDB_CODEGEN(id, name, function, doc) {name, &passes::function, doc},
#include "rldb/passes/codegen.def"
    };
    out.reserve(out.size() + kMaxRegistered);
    return out;
  }();
  return rows;
}

}  // namespace

const std::vector<CodegenInfo>& all_codegens() { return table(); }

const CodegenInfo* find_codegen(std::string_view name) {
  for (const CodegenInfo& c : table())
    if (c.name == name) return &c;
  return nullptr;
}

const CodegenInfo& register_codegen(CodegenInfo codegen) {
  const std::string name(codegen.name);
  RLDB_CHECK(!name.empty() && codegen.run, "a code generator that is registered has a name and a function");
  RLDB_CHECK(!find_codegen(name), "there is a code generator `" + name + "` already");
  RLDB_CHECK(table().size() < table().capacity(), "too many code generators are registered");
  return table().emplace_back(codegen);
}

}  // namespace rldb::passes
