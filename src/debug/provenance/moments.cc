#include "debug/provenance/moments.h"

namespace rldb::debug {

Moments::Machine Moments::at(std::uint64_t time, bool whole) {
  if (whole_ && whole_at_ == time) return whole_;
  if (!whole && skimmed_ && skimmed_at_ == time) return skimmed_;
  if (!whole && time < no_skim_from_) {
    skimmed_.reset();
    std::optional<Skimmed> made;
    const SkimEnd end = skim_to(run_, time, made);
    if (end == SkimEnd::Interrupted) abandon_question();
    if (made) {
      skimmed_at_ = time;
      skimmed_ = std::make_shared<const Skimmed>(*std::move(made));
      if (!skimmed_->unknown.empty()) return skimmed_;
      // Nothing was left out.
      whole_at_ = time;
      return whole_ = std::move(skimmed_);
    }
    no_skim_from_ = time;
  }
  whole_.reset();
  Run::Seek how{};
  auto made = run_.machine_at(time, &how);
  if (how == Run::Seek::Interrupted) abandon_question();
  if (!made) return nullptr;
  whole_at_ = time;
  return whole_ = std::make_shared<const Skimmed>(Skimmed{*std::move(made), {}});
}

}  // namespace rldb::debug
