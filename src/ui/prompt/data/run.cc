// The stopped run: places, breakpoints, frames, variables, memory.
#include "rldb/debug/model_node.h"
#include "rldb/debug/objects.h"
#include "rldb/runtime/tensor_place.h"
#include "rldb/ui/prompt/data.h"
#include "ui/prompt/view.h"

namespace rldb::ui {

namespace {

// The index of an instruction or a register; below 0: none.
template <class Index>
Json index_json(Index i) {
  return i < 0 ? Json() : Json(std::int64_t(i));
}
template <class Index>
Json indices_json(const std::vector<Index>& list) {
  Json out = Json::array();
  for (const Index i : list) out.push_back(std::int64_t(i));
  return out;
}

Json named_values(const std::vector<std::pair<std::string, runtime::Value>>& values, std::int64_t max_elements) {
  Json rows = Json::array();
  for (const auto& [name, value] : values) rows.push_back({{"name", name}, {"value", value_json(value, max_elements)}});
  return rows;
}

}  // namespace

Json breakpoint_json(const debug::Breakpoint& b) {
  std::vector<bytecode::Pc> pcs;
  for (const debug::Site& site : b.sites)
    if (pcs.empty() || pcs.back() != site.pc) pcs.push_back(site.pc);
  return {{"number", b.number},
          {"kind", kind_name(b)},
          {"where", b.spec},
          {"enabled", b.enabled},
          {"temporary", b.temporary},
          {"condition", or_null(b.condition)},
          {"ignore", b.ignore},
          {"hits", b.hits},
          {"commands", b.commands},
          {"log", or_null(b.log)},
          {"in_kernel", b.in_kernel ? Json(b.place) : Json()},
          {"kernel", or_null(b.kernel)},
          {"kernel_lines", b.kernel_lines},
          {"moved_to", or_null(b.moved_to)},
          {"pcs", indices_json(pcs)}};
}

Json position_json(Repl& repl, const debug::Position& where) {
  Json out{{"function", where.function},
           {"binding", or_null(where.binding)},
           {"pc", index_json(where.pc)},
           {"file", nullptr},
           {"line", nullptr},
           {"kernel", or_null(where.kernel)}};
  if (const source::Buffer* buffer = repl.session().sources().find(where.span.file)) {
    out["file"] = buffer->name();
    out["line"] = buffer->line_column(where.span.begin).line;
  }
  if (const onnx::Node* node = debug::model_node_at(repl.session(), where.span)) {
    out["node"] = node->label;
    out["op"] = node->op;
  }
  return out;
}

Json breakpoints_json(Repl& repl, std::optional<debug::PointKind> kind) {
  Json rows = Json::array();
  for (const auto& [number, b] : repl.debugger().breakpoints())
    if (!kind || b.kind == *kind) rows.push_back(breakpoint_json(b));
  return rows;
}

Json frame_json(Repl& repl, const debug::FrameInfo& f) {
  Json row{{"number", f.number}, {"selected", f.number == repl.frame()}, {"in_kernel", f.in_kernel}};
  row["where"] = position_json(repl, f.where);
  if (f.in_kernel) return row;
  Json arguments = Json::array();
  for (const auto& [name, value] : debug::arguments_of(repl.debugger(), f.number))
    arguments.push_back({{"name", name}, {"value", value.is_null() ? Json() : value_json(value, 0)}});
  row["arguments"] = std::move(arguments);
  return row;
}

Json frames_json(Repl& repl, bool with_locals) {
  Json rows = Json::array();
  for (const debug::FrameInfo& f : repl.debugger().frames()) {
    rows.push_back(frame_json(repl, f));
    if (with_locals && !f.in_kernel) rows.back()["locals"] = locals_json(repl, f.number)["locals"];
  }
  return rows;
}

Json local_rows(Repl& repl, int frame, std::span<const debug::LocalInfo> locals) {
  std::vector<bytecode::RegName> registers;
  for (const debug::LocalInfo& local : locals) registers.push_back(local.reg);
  const std::vector<std::string> storages = debug::storages_in(repl.debugger(), frame, registers);
  Json rows = Json::array();
  for (const debug::LocalInfo& local : locals) {
    const bool held = local.live && local.reg >= 0;
    Json row{
        {"name", local.name}, {"type", or_null(local.type)}, {"register", index_json(local.reg)}, {"live", local.live}};
    row["storage"] = held ? or_null(storages[rows.size()]) : Json();
    row["place"] = held ? or_null(runtime::place_of(local.value)) : Json();
    row["value"] = local.live ? value_json(local.value, repl.print_format.max_elements) : Json();
    rows.push_back(std::move(row));
  }
  return rows;
}

Json locals_json(Repl& repl, int frame) {
  Json rows = local_rows(repl, frame, repl.debugger().locals(frame));
  const debug::OtherNames other = debug::other_names(repl.debugger(), frame);
  return {{"locals", std::move(rows)}, {"not_kept", other.not_kept}, {"not_yet", other.ahead}};
}

Json kernel_json(const debug::Debugger::KernelPosition& at, std::int64_t max_elements) {
  return {{"kernel", at.kernel},
          {"statement", at.text},
          {"line", at.line},
          {"steps", at.steps},
          {"loops", named_values(at.loops, max_elements)},
          {"locals", named_values(at.variables, max_elements)},
          {"buffers", named_values(at.buffers, max_elements)}};
}

Json registers_json(Repl& repl) {
  Json rows = Json::array();
  for (const debug::RegisterInfo& r : debug::registers_of(repl.debugger(), repl.frame()))
    rows.push_back({{"register", index_json(r.reg)},
                    {"name", or_null(r.name)},
                    {"state", debug::to_string(r.state)},
                    {"storage", or_null(r.storage)},
                    {"offset", r.storage.empty() ? Json() : Json(r.offset)},
                    {"place", or_null(runtime::place_of(r.value))},
                    {"shared", indices_json(r.shared)},
                    {"value", value_json(r.value, 0)}});
  return rows;
}

Json heap_json(Repl& repl) {
  const std::vector<debug::SlotUse> uses = debug::slot_uses(repl.debugger(), repl.frame());
  Json rows = Json::array();
  for (const debug::SlotInfo& s : repl.debugger().heap(repl.frame())) {
    const std::size_t i = std::size_t(s.slot);
    rows.push_back({{"slot", s.slot},
                    {"expression", s.expression},
                    {"value", s.set ? Json(s.value) : Json()},
                    {"bound_by", or_null(s.bound_by)},
                    {"written", i < uses.size() ? indices_json(uses[i].written) : Json::array()},
                    {"read", i < uses.size() ? indices_json(uses[i].read) : Json::array()}});
  }
  return rows;
}

Json objects_json(Repl& repl, std::size_t most) {
  Json rows = Json::array();
  for (const debug::HeapObject& o : debug::objects_of(repl.debugger(), most).list)
    rows.push_back({{"id", o.id}, {"value", o.text}, {"fields", o.fields}, {"held_by", o.held_by}});
  return rows;
}

Json storage_json(const debug::StoragePlan& plan, const runtime::DeviceList& devices) {
  Json storages = Json::array();
  for (const debug::PlannedStorage& s : plan.storages) {
    Json tensors = Json::array();
    for (const debug::Tenant& t : s.tenants)
      tensors.push_back({{"register", index_json(t.reg)},
                         {"binding", or_null(t.binding)},
                         {"shape", or_null(t.shape)},
                         {"offset", t.offset < 0 ? Json() : Json(t.offset)},
                         {"made", index_json(t.made)},
                         {"written", index_json(t.written)},
                         {"last_use", index_json(t.last_use)},
                         {"cleared", index_json(t.cleared)}});
    storages.push_back({{"id", s.id},
                        {"bytes", s.size},
                        {"device", to_string(runtime::device_at(devices, s.device))},
                        {"allocated", index_json(s.allocated)},
                        {"released", index_json(s.released)},
                        {"tensors", std::move(tensors)}});
  }
  Json uses = Json::array();
  for (const runtime::DeviceUse& u : runtime::device_uses())
    uses.push_back({{"device", to_string(u.device)},
                    {"storages", u.storages},
                    {"bytes", u.bytes},
                    {"most", u.peak},
                    {"copies_in", u.copies_in},
                    {"bytes_in", u.bytes_in},
                    {"nanoseconds_in", u.ns_in},
                    {"copies_out", u.copies_out},
                    {"bytes_out", u.bytes_out},
                    {"nanoseconds_out", u.ns_out}});
  return {{"function", plan.function},
          {"begin", index_json(plan.begin)},
          {"end", index_json(plan.end)},
          {"storages", std::move(storages)},
          {"devices", std::move(uses)}};
}

}  // namespace rldb::ui
