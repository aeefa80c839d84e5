// Integers of kernels that overflow their dtype: each kernel is stepped through on copies of its arguments before it
// runs. Room-private.
#pragma once

#include "rldb/repro/sanitize.h"

namespace rldb::repro {

class OverflowRecorder : public Recorder {
 public:
  OverflowRecorder(std::size_t max_bytes, bool look, const runtime::PackedRegistry& registry)
      : Recorder(max_bytes), look_(look), registry_(registry) {}
  void enter(std::string_view name, const ir::Function* f, runtime::PackedArgs args) override;
  void leave(const runtime::Value& result) override;
  void begin(const ir::Binding* b) override;
  runtime::Result<support::Unit> bound(const ir::Binding* b, const runtime::Value& value) override;
  runtime::Result<support::Unit> calling(std::string_view name, const ir::PrimFunc* f,
                                         runtime::PackedArgs args) override;
  // One per kernel and binding.
  std::vector<Finding>& findings() { return findings_; }

 protected:
  // The kernel is called by the binding in progress.
  void tell(Finding finding, std::string_view kernel);
  bool is_outermost() const { return functions_.size() == 1; }
  const runtime::PackedRegistry& registry() const { return registry_; }

 private:
  bool look_;
  const runtime::PackedRegistry& registry_;
  std::vector<std::string> functions_;
  std::vector<const ir::Binding*> bindings_;
  std::vector<Finding> findings_;
};

}  // namespace rldb::repro
