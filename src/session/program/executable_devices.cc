#include "session/program/executable_devices.h"

#include <string>

#include "rldb/ir/type.h"

namespace rldb::session {

namespace {

constexpr std::string_view kDevices = "rldb.devices", kOfFunction = "rldb.devices.of ";

runtime::DeviceList list_in(const bytecode::Executable& exe, const std::string& key) {
  const auto note = exe.metadata.find(key);
  return note == exe.metadata.end() ? runtime::DeviceList()
                                    : runtime::parse_devices(note->second).value_or(runtime::DeviceList());
}

}  // namespace

void note_devices(bytecode::Executable& exe, const runtime::DeviceList& devices, const ir::Module* module) {
  if (devices.empty() || !module) return;
  exe.metadata[std::string(kDevices)] = to_string(devices);
  for (const ir::ModuleEntry& entry : module->entries) {
    const auto* f = ir::as<ir::Function>(entry.function);
    if (!f || f->params.empty()) continue;
    runtime::DeviceList of_parameters;
    for (const ir::Var* p : f->params) {
      const auto* t = ir::as<ir::TensorType>(p->type);
      const ir::VDevice* own = t ? t->vdevice : nullptr;
      of_parameters.push_back(own ? runtime::Device{runtime::device_type_of(own->target_kind), own->device_id}
                                  : runtime::device_at(devices, 0));
    }
    exe.metadata[std::string(kOfFunction) + std::string(entry.name)] = to_string(of_parameters);
  }
}

runtime::DeviceList noted_devices(const bytecode::Executable& exe) { return list_in(exe, std::string(kDevices)); }

std::optional<runtime::Device> noted_device(const bytecode::Executable& exe, std::string_view function,
                                            std::size_t parameter) {
  const runtime::DeviceList list = list_in(exe, std::string(kOfFunction) + std::string(function));
  if (parameter >= list.size()) return std::nullopt;
  return list[parameter];
}

}  // namespace rldb::session
