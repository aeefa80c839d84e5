// A script that shows a fault again: module, inputs, pipeline, and what a right pipeline would answer.
#pragma once

#include <string>

#include "ui/cli.h"
#include "ui/console.h"

namespace rldb::ui {

// To the file that the line names. `seen`: what was found, for the reader. False: diagnosed.
bool save_repro(const CommandLine& line, const ir::Module* module, const std::string& passes, const std::string& seen,
                Console& console);

}  // namespace rldb::ui
