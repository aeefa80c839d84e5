#include "runtime/kv/cache_text.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "runtime/kv/paged_cache.h"

namespace rldb::runtime::kv {

namespace {

constexpr std::size_t kMostSequences = 100;
constexpr std::size_t kMostPages = 32;

std::string page_list(const std::vector<std::int64_t>& pages) {
  const std::size_t shown = std::min(pages.size(), kMostPages);
  std::string text = fmt::format("{}", fmt::join(pages.begin(), pages.begin() + std::ptrdiff_t(shown), " "));
  if (shown < pages.size()) text += fmt::format(" and {} more", pages.size() - shown);
  return text;
}

std::string sequence_text(const Value& s) {
  const auto& pages = PagedCache::pages(s);
  std::string text = fmt::format("sequence {}: {} {}, {} {}", PagedCache::parts(s)[Id].as_int(), PagedCache::length(s),
                                 PagedCache::length(s) == 1 ? "row" : "rows", pages.size() == 1 ? "page" : "pages",
                                 pages.empty() ? "none" : page_list(pages));
  const Window w = PagedCache::window(s);
  if (w.size > 0) text += fmt::format(", a window of {} rows behind {} kept ones", w.size, w.sink);
  if (const std::size_t nodes = PagedCache::tree(s).size()) text += fmt::format(", {} of them in a token tree", nodes);
  return text;
}

}  // namespace

std::string cache_text(const Value& v) {
  const auto cache = PagedCache::of(v);
  if (!cache) return {};
  using N = Number;
  const std::int64_t layers = cache->number(N::Layers), first = cache->number(N::FirstLayer);
  std::string text =
      fmt::format("{}: layers {} to {}, {} heads of queries, {} of keys; keys of {} and values of {} numbers, {}\n",
                  kPagedKind, first, first + layers - 1, cache->number(N::QoHeads), cache->number(N::KvHeads),
                  cache->number(N::KeyDim), cache->number(N::ValueDim), to_string(cache->pool(Keys).dtype()));
  const std::vector<int> users = cache->users();
  const auto shared = std::count_if(users.begin(), users.end(), [](int n) { return n > 1; });
  text += fmt::format("{} pages of {} rows: {} free, {} shared by sequences\n", cache->number(N::Pages),
                      cache->number(N::PageSize), cache->free_pages(), shared);
  const std::vector<Value>& all = cache->sequences();
  if (all.empty()) text += "no sequences\n";
  for (std::size_t i = 0; i < all.size() && i < kMostSequences; ++i) text += sequence_text(all[i]) + "\n";
  if (all.size() > kMostSequences) text += fmt::format("and {} more sequences\n", all.size() - kMostSequences);
  text.pop_back();
  return text;
}

}  // namespace rldb::runtime::kv
