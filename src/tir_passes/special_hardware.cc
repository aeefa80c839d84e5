// Passes for hardware that no engine here has: InferFragment and TransformMmaBufferLayout (matrix units),
// InjectPermutedLayout and LowerAutoCopy (copies between memories), LowerDeviceStorageAccessInfo (memories of special
// chips), LowerCustomDatatypes. A program without such parts passes through unchanged; one with them is refused.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "rldb/ir/walk.h"
#include "rldb/source/diagnostic_refusal.h"
#include "rldb/tir_passes/prim_funcs.h"
#include "rldb/tir_passes/target.h"

namespace rldb::passes {

using namespace ir;

namespace {

support::Failure<source::Message> refused(std::string_view name, std::string why) {
  return support::Failure(source::message(diag::PassUnsupported, fmt::format("`{}`", name), std::move(why)));
}

// The first allocation whose scope is one of those, or null.
template <class F>
const Buffer* allocated_in(const Stmt* body, const F& special) {
  const Buffer* found = nullptr;
  walk(body, [&](const Node* n) {
    if (const auto* a = as<AllocBuffer>(n); a && !found && special(a->buffer->scope)) found = a->buffer;
    if (const auto* b = as<SBlock>(n))
      for (const Buffer* buffer : b->alloc_buffers)
        if (!found && special(buffer->scope)) found = buffer;
    return !found && !isa<Expr>(n);
  });
  return found;
}

template <class F>
Result<const Module*> without_memory(PassEnv& env, const Module* module, const F& special, std::string_view why) {
  return map_prim_funcs(env, module, [&](std::string_view name, const PrimFunc* f) -> Result<const PrimFunc*> {
    if (const Buffer* b = allocated_in(f->body, special))
      return refused(name, fmt::format("`{}` is in memory of scope \"{}\", {}", b->name, b->scope, why));
    return f;
  });
}

Result<const Module*> without_annotation(PassEnv& env, const Module* module, std::string_view key,
                                         std::string_view why) {
  return map_prim_funcs(env, module, [&](std::string_view name, const PrimFunc* f) -> Result<const PrimFunc*> {
    bool found = false;
    walk(f->body, [&](const Node* n) {
      const auto* b = as<SBlock>(n);
      found = found || (b && find_attr(b->annotations, key));
      return !found && !isa<Expr>(n);
    });
    if (found) return refused(name, fmt::format("a block has the annotation `{}`: {}", key, why));
    return f;
  });
}

constexpr std::string_view kMatrixUnit = "which is that of a matrix unit";
constexpr std::array<std::string_view, 4> kGlobalTags = {"", ".dyn", ".workspace", ".vtcm"};

// The tag after the rank, as in "global.texture-weight".
std::string_view tag_of(std::string_view scope) {
  for (const std::string_view rank : {"global", "shared", "warp", "local"})
    if (scope.starts_with(rank)) return scope.substr(rank.size());
  return {};
}

}  // namespace

Result<const Module*> infer_fragment(PassEnv& env, const Module* module, const NoOptions&) {
  return without_memory(
      env, module, [](std::string_view scope) { return scope.starts_with("wmma."); }, kMatrixUnit);
}

Result<const Module*> transform_mma_buffer_layout(PassEnv& env, const Module* module, const NoOptions&) {
  return without_memory(
      env, module, [](std::string_view scope) { return scope.starts_with("m16n8k8."); }, kMatrixUnit);
}

Result<const Module*> inject_permuted_layout(PassEnv& env, const Module* module, const NoOptions&) {
  return without_annotation(env, module, "permuted_layout", "layouts without bank conflicts are made for matrix units");
}

Result<const Module*> lower_auto_copy(PassEnv& env, const Module* module, const NoOptions&) {
  return without_annotation(env, module, "auto_copy", "copies through the memories of a GPU have no schedule here");
}

Result<const Module*> lower_device_storage_access_info(PassEnv& env, const Module* module, const NoOptions&) {
  const auto special = [](std::string_view scope) {
    return std::find(kGlobalTags.begin(), kGlobalTags.end(), tag_of(scope)) == kGlobalTags.end();
  };
  return without_memory(env, module, special, "of which nothing is known");
}

Result<const Module*> lower_custom_datatypes(PassEnv& env, const Module* module, const NoOptions&) {
  return map_prim_funcs(env, module, [&](std::string_view name, const PrimFunc* f) -> Result<const PrimFunc*> {
    if (!find_attr(f->attrs, kTargetAttr)) return refused(name, "it has no attribute `target`: run BindTarget first");
    return f;  // no program here has a datatype of its own: the front end refuses them
  });
}

}  // namespace rldb::passes
