// Both directions go over the statements with a ShapeScan.
#include "frontend/cst/short_text.h"

#include <algorithm>
#include <utility>

#include "rldb/support/cancel.h"

namespace rldb::frontend::cst {

namespace {

constexpr std::size_t kSmall = 1024;                        // a text that is not worth it
constexpr std::size_t kFirstPart = std::size_t(256) << 10;  // that shows whether it is
constexpr std::size_t kLeastSaved = 8;                      // an eighth
constexpr char kName = '_';

class Shortener {
 public:
  Shortener(std::string_view text, KnownShapes& shapes) : text_(text), scan_(text), shapes_(shapes) {}

  std::optional<ShortText> run() {
    if (has_odd_line_ends(text_)) return std::nullopt;
    shapes_.forget_if_many();
    for (bool looked = false; scan_.next();) {
      support::poll();
      statement();
      if (looked || scan_.end() < kFirstPart) continue;
      looked = true;
      if (out_.text.size() + (scan_.end() - copied_) > less(scan_.end())) return std::nullopt;
    }
    if (scan_.lost()) return std::nullopt;
    out_.text += text_.substr(copied_);
    if (out_.text.size() > less(text_.size())) return std::nullopt;
    return std::move(out_);
  }

 private:
  static std::size_t less(std::size_t size) { return size - size / kLeastSaved; }

  void statement() {
    // The grammar finds the indentation of the text at its first statement.
    const bool known = !std::exchange(first_, false) && shapes_.find(scan_, text_) != nullptr;
    const bool goes_on = known && in_run_ && !scan_.comment_before() && scan_.indentation() == indentation_;
    in_run_ = known;
    if (!known) return;
    if (!goes_on) {
      out_.text += text_.substr(copied_, scan_.begin() - copied_);
      out_.runs.push_back({scan_.begin(), 0, static_cast<std::uint32_t>(out_.text.size())});
      out_.text += kName;
      indentation_ = scan_.indentation();
    }
    out_.runs.back().end = copied_ = scan_.end();
  }

  std::string_view text_;
  ShapeScan scan_;
  KnownShapes& shapes_;
  ShortText out_;
  std::uint32_t copied_ = 0;
  bool first_ = true;
  bool in_run_ = false;
  std::string_view indentation_;
};

class Lengthener {
 public:
  Lengthener(std::string_view text, const ShortText& shortened, KnownShapes& shapes, int max_depth,
             const std::vector<NodeRow>& rows, std::vector<NodeRow>& out)
      : text_(text), runs_(shortened.runs), shapes_(shapes), max_depth_(max_depth), rows_(rows), out_(out) {}

  bool run() {
    out_.clear();
    out_.reserve(text_.size() / 4 + 16);
    new_index_.resize(rows_.size() + 1);
    for (std::uint32_t i = 0; i < rows_.size(); ++i) {
      new_index_[i] = static_cast<std::uint32_t>(out_.size());
      const NodeRow& row = rows_[i];
      if (row.kind == Kind::ExpressionStatement && run_ < runs_.size() && row.begin == runs_[run_].at) {
        if (!put_run(runs_[run_++], depth_at(i))) return false;
        for (; i + 1 < row.next; ++i) new_index_[i + 1] = static_cast<std::uint32_t>(out_.size());
        continue;
      }
      depth_at(i);
      kept_.push_back(static_cast<std::uint32_t>(out_.size()));
      out_.push_back({row.kind, row.field, row.damaged, place(row.begin), place(row.end), row.next});
    }
    new_index_[rows_.size()] = static_cast<std::uint32_t>(out_.size());
    for (const std::uint32_t i : kept_) out_[i].next = new_index_[out_[i].next];
    return run_ == runs_.size();
  }

 private:
  // Ancestors of a row; asked for in order.
  int depth_at(std::uint32_t i) {
    while (!open_.empty() && open_.back() <= i) open_.pop_back();
    open_.push_back(rows_[i].next);
    return int(open_.size()) - 1;
  }

  // A place of the short text in the text: behind the last run that ends before it.
  std::uint32_t place(std::uint32_t at) const {
    const auto behind = std::upper_bound(runs_.begin(), runs_.end(), at,
                                         [](std::uint32_t o, const ShortText::Run& r) { return o < r.at + 1; });
    if (behind == runs_.begin()) return at;
    const ShortText::Run& last = *(behind - 1);
    return at - (last.at + 1) + last.end;
  }

  bool put_run(const ShortText::Run& run, int depth) {
    ShapeScan scan(text_.substr(0, run.end), run.begin);
    while (scan.next()) {
      support::poll();
      const ShapedTree* tree = shapes_.find(scan, text_);
      if (!tree || depth + tree->depth > max_depth_) return false;
      const auto base = static_cast<std::uint32_t>(out_.size());
      const std::vector<Piece>& pieces = scan.pieces();
      for (const ShapedRow& r : tree->rows)
        out_.push_back({r.kind, r.field, false, pieces[r.first].begin, pieces[r.last].end, base + r.next});
    }
    return !scan.lost();
  }

  std::string_view text_;
  const std::vector<ShortText::Run>& runs_;
  KnownShapes& shapes_;
  int max_depth_;
  const std::vector<NodeRow>& rows_;
  std::vector<NodeRow>& out_;
  std::size_t run_ = 0;                   // the next one
  std::vector<std::uint32_t> open_;       // `next` of the rows around
  std::vector<std::uint32_t> new_index_;  // by row of the short text
  std::vector<std::uint32_t> kept_;       // rows of `out_` whose `next` is one of the short text's
};

}  // namespace

std::optional<ShortText> shorten(std::string_view text, KnownShapes& shapes) {
  if (text.size() < kSmall) return std::nullopt;
  return Shortener(text, shapes).run();
}

bool lengthen(std::string_view text, const ShortText& shortened, KnownShapes& shapes, int max_depth,
              const std::vector<NodeRow>& rows, std::vector<NodeRow>& out) {
  return Lengthener(text, shortened, shapes, max_depth, rows, out).run();
}

}  // namespace rldb::frontend::cst
