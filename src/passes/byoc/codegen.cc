#include "rldb/passes/codegen.h"

#include "passes/byoc/codegens.h"
#include "rldb/support/check.h"

namespace rldb::passes {

namespace {

constexpr std::size_t kMaxRegistered = 100;

// The rows of the table, then the registered ones. Capacity is reserved: a row never moves.
template <class Info>
class Registry {
 public:
  explicit Registry(std::vector<Info> rows) : rows_(std::move(rows)) { rows_.reserve(rows_.size() + kMaxRegistered); }
  const std::vector<Info>& rows() const { return rows_; }

  const Info* find(std::string_view name) const {
    for (const Info& c : rows_)
      if (c.name == name) return &c;
    return nullptr;
  }

  const Info& add(Info codegen) {
    const std::string name(codegen.name);
    RLDB_CHECK(!name.empty() && codegen.run, "a code generator that is registered has a name and a function");
    RLDB_CHECK(!find(name), "there is a code generator `" + name + "` already");
    RLDB_CHECK(rows_.size() < rows_.capacity(), "too many code generators are registered");
    return rows_.emplace_back(codegen);
  }

 private:
  std::vector<Info> rows_;
};

Registry<CodegenInfo>& codegens() {
  static Registry<CodegenInfo> registry({
#define RLDB_CODEGEN(id, name, function, doc) {name, &passes::function, doc},
#include "rldb/passes/codegen.def"
  });
  return registry;
}

Registry<KernelCodegenInfo>& kernel_codegens() {
  static Registry<KernelCodegenInfo> registry({
#define RLDB_KERNEL_CODEGEN(id, name, function, doc) {name, &passes::function, doc},
#include "rldb/passes/kernel_codegen.def"
  });
  return registry;
}

}  // namespace

const std::vector<CodegenInfo>& all_codegens() { return codegens().rows(); }
const CodegenInfo* find_codegen(std::string_view name) { return codegens().find(name); }
const CodegenInfo& register_codegen(CodegenInfo codegen) { return codegens().add(codegen); }

const std::vector<KernelCodegenInfo>& all_kernel_codegens() { return kernel_codegens().rows(); }
const KernelCodegenInfo* find_kernel_codegen(std::string_view name) { return kernel_codegens().find(name); }
const KernelCodegenInfo& register_kernel_codegen(KernelCodegenInfo codegen) { return kernel_codegens().add(codegen); }

}  // namespace rldb::passes
