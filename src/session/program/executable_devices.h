// The devices of a program in its executable's notes: those of the run by number, and for each function those of its
// parameters. Room-private.
#pragma once

#include <optional>
#include <string_view>

#include "rldb/bytecode/executable.h"
#include "rldb/ir/module.h"
#include "rldb/runtime/device.h"

namespace rldb::session {

// `module`: what the executable was made of; without devices nothing is noted.
void note_devices(bytecode::Executable& exe, const runtime::DeviceList& devices, const ir::Module* module);
runtime::DeviceList noted_devices(const bytecode::Executable& exe);  // empty: none, or not readable
std::optional<runtime::Device> noted_device(const bytecode::Executable& exe, std::string_view function,
                                            std::size_t parameter);

}  // namespace rldb::session
