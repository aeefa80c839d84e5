// Regions of memory, with a bit for each byte.
#include "repro/sanitize/written_bytes.h"

#include <algorithm>

namespace rldb::repro {

using runtime::Value;
using runtime::ValueKind;

constexpr std::size_t kPurgeAfter = std::size_t(1) << 24;

void WrittenBytes::forget(const Value& memory) {
  if (memory.is(ValueKind::Tuple)) {
    for (const Value& v : memory.as_tuple().fields) forget(v);
    return;
  }
  const bool is_tensor = memory.is(ValueKind::Tensor);
  if (!is_tensor && !memory.is(ValueKind::Storage)) return;
  const runtime::Ref<runtime::Storage> storage =
      is_tensor ? memory.as_tensor().storage()
                : runtime::Ref<runtime::Storage>(static_cast<runtime::Storage*>(memory.object()));
  if (!storage || storage->size() == 0) return;
  const auto [it, made] = regions_.try_emplace(storage->data());
  if (made || it->second.written.size() != storage->size()) {
    // A storage that has grown is elsewhere now.
    std::erase_if(regions_, [&](const auto& r) { return r.second.storage == storage; });
    regions_[storage->data()] = {std::vector<bool>(storage->size(), true), storage};
    new_bytes_ += storage->size();
  }
  if (is_tensor)
    set(memory.as_tensor().data(), memory.as_tensor().byte_size(), false);
  else
    set(storage->data(), storage->size(), false);
  purge();
}

void WrittenBytes::forget_own(const std::byte* at, std::size_t bytes) {
  if (bytes == 0) return;
  regions_[at] = {std::vector<bool>(bytes, false), {}};
  own_.push_back(at);
}

void WrittenBytes::drop_own() {
  for (const std::byte* at : own_) regions_.erase(at);
  own_.clear();
}

// Storages that nobody else has any more.
void WrittenBytes::purge() {
  if (new_bytes_ < kPurgeAfter) return;
  std::erase_if(regions_, [](const auto& r) { return r.second.storage && r.second.storage->use_count() == 1; });
  new_bytes_ = 0;
}

WrittenBytes::Regions::const_iterator WrittenBytes::find(const std::byte* at) const {
  auto it = regions_.upper_bound(at);
  if (it == regions_.begin()) return regions_.end();
  --it;
  return at < it->second.end(it->first) ? it : regions_.end();
}

void WrittenBytes::set(const std::byte* at, std::size_t bytes, bool written) {
  const auto found = find(at);
  if (found == regions_.end()) return;
  auto& all = regions_[found->first].written;
  const auto begin = std::size_t(at - found->first), end = std::min(all.size(), begin + bytes);
  std::fill(all.begin() + std::ptrdiff_t(begin), all.begin() + std::ptrdiff_t(end), written);
}

void WrittenBytes::write(const std::byte* at, std::size_t bytes) { set(at, bytes, true); }

bool WrittenBytes::is_written(const std::byte* at, std::size_t bytes) const {
  const auto found = find(at);
  if (found == regions_.end()) return true;
  const auto& all = found->second.written;
  const auto begin = std::size_t(at - found->first), end = std::min(all.size(), begin + bytes);
  return std::find(all.begin() + std::ptrdiff_t(begin), all.begin() + std::ptrdiff_t(end), false) ==
         all.begin() + std::ptrdiff_t(end);
}

WrittenBytes::Gap WrittenBytes::gap_in(const runtime::Tensor& t) const {
  Gap gap;
  if (is_written(t.data(), t.byte_size())) return gap;
  const std::size_t width = std::max<std::size_t>(1, t.dtype().bytes());
  for (std::int64_t i = 0; i < t.element_count(); ++i) {
    const bool written = is_written(t.data() + std::size_t(i) * width, width);
    gap.some = gap.some || written;
    if (written || gap.element) continue;
    gap.element.emplace(t.shape().size());
    std::int64_t flat = i;
    for (std::size_t k = t.shape().size(); k-- > 0; flat /= t.shape()[k]) (*gap.element)[k] = flat % t.shape()[k];
  }
  return gap;
}

}  // namespace rldb::repro
