// The faulty step of a kernel's schedule, as a diff. Users: `rldb bisect --by=kernel`, `:bisect --by=kernel`.
#pragma once

#include <string>

#include "rldb/ir/printer.h"
#include "rldb/repro/bisect.h"
#include "rldb/ui/render/text_diff.h"

namespace rldb::ui {

// Empty: no step is at fault.
std::string kernel_step_diff(const repro::KernelBisection& found, const ir::PrintOptions& print,
                             const DiffOptions& options);

}  // namespace rldb::ui
