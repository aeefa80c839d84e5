// Elements that are read before they are written: each kernel is stepped through on its own arguments before it runs,
// whatever engine runs it, and its memory is put back. Room-private.
#pragma once

#include <set>

#include "repro/sanitize/overflow.h"
#include "repro/sanitize/written_bytes.h"

namespace rldb::repro {

class UninitRecorder : public OverflowRecorder {
 public:
  UninitRecorder(std::size_t max_bytes, const Sanitizers& which, const runtime::PackedRegistry& registry)
      : OverflowRecorder(max_bytes, which.overflow, registry), by_element_(which.unwritten) {}
  runtime::Result<support::Unit> calling(std::string_view name, const ir::PrimFunc* f,
                                         runtime::PackedArgs args) override;
  void leave(const runtime::Value& result) override;
  // Kernels that could not be stepped through to their end: what they read is not known.
  const std::set<std::string>& not_looked_at() const { return not_looked_at_; }

 protected:
  void fresh(const runtime::Value& memory) override;
  void called_packed(runtime::PackedArgs args, const runtime::Value& result) override;

 private:
  void step_through(std::string_view name, const ir::PrimFunc* f, runtime::PackedArgs args);
  void look_at_packed(std::string_view name, runtime::PackedArgs args);
  void tell_gap(const runtime::Tensor& t, std::vector<std::int64_t> element, std::string_view reader);

  bool by_element_;
  WrittenBytes written_;
  std::set<std::string> not_looked_at_;
};

}  // namespace rldb::repro
