#include "ui/kernel_step.h"

#include "ui/text_diff.h"

namespace rldb::ui {

std::string kernel_step_diff(const repro::KernelBisection& found, const ir::PrintOptions& print, bool color) {
  if (!found.without || found.without == found.with) return {};
  DiffOptions options;
  options.color = color;
  return unified_diff(ir::print_function(found.kernel, found.without, print),
                      ir::print_function(found.kernel, found.with, print), "without", "with", options);
}

}  // namespace rldb::ui
