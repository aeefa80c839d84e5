// A number for each node, by its id; 0 until it is set. Its memory is that of the nodes in use, in pages: a small
// module in the context of a long session is verified in its own time. Room-private.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <vector>

namespace rldb::ir::verify_detail {

class IdTable {
 public:
  std::uint32_t of(std::uint32_t id) const {
    const std::size_t page = id / kPage;
    return page < pages_.size() && pages_[page] ? (*pages_[page])[id % kPage] : 0;
  }
  void set(std::uint32_t id, std::uint32_t number) {
    const std::size_t page = id / kPage;
    if (page >= pages_.size()) pages_.resize(page + 1);
    if (!pages_[page]) pages_[page] = std::make_unique<Page>();
    (*pages_[page])[id % kPage] = number;
  }

 private:
  static constexpr std::size_t kPage = 1024;
  using Page = std::array<std::uint32_t, kPage>;
  std::vector<std::unique_ptr<Page>> pages_;
};

}  // namespace rldb::ir::verify_detail
