#include "repro/fuzz/domain.h"

#include <array>

#include "rldb/ir/op_id.h"

namespace rldb::repro {

namespace {

using Rows = std::array<std::optional<Domain>, op::kCount>;

Rows read_rows() {
  Rows rows;
#define RLDB_DOMAIN(row, low, high, image_low, image_high, slope, steadiness) \
  rows[std::size_t(op::Id::row)] = Domain{{low, high}, false, {image_low, image_high}, slope, Steadiness::steadiness};
#define RLDB_DOMAIN_HULL(row, most, steadiness) \
  rows[std::size_t(op::Id::row)] = Domain{{-(most), most}, true, {}, 1, Steadiness::steadiness};
#include "repro/fuzz/domain.def"
  return rows;
}

}  // namespace

std::optional<Domain> domain_of(op::Id id) {
  static const Rows rows = read_rows();
  return rows[std::size_t(id)];
}

Image image_of(const Domain& domain, const Known& x) {
  const bool exact = domain.steadiness != Steadiness::Smooth && x.exact;
  return {domain.hull ? x.range.hull() : domain.image, exact, x.error * domain.slope};
}

}  // namespace rldb::repro
