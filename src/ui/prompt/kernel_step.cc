#include "rldb/ui/prompt/kernel_step.h"

namespace rldb::ui {

std::string kernel_step_diff(const repro::KernelBisection& found, const ir::PrintOptions& print,
                             const DiffOptions& options) {
  if (!found.without || found.without == found.with) return {};
  return text_diff(ir::print_function(found.kernel, found.without, print),
                   ir::print_function(found.kernel, found.with, print), "without", "with", options);
}

}  // namespace rldb::ui
