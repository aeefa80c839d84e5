// Layered layout of a graph (Sugiyama): ranks, an order within each that has few crossings, positions.
#include "rldb/ui/render/layers.h"

#include <algorithm>

#include "rldb/support/cancel.h"

namespace rldb::ui {

namespace {

// A node, or a point through which a long edge passes.
struct Item {
  int node = -1;
  double width = 0;
  double x = 0;
  std::size_t layer = 0;
  std::vector<std::size_t> above, below;
};

class Layout {
 public:
  Layout(const std::vector<LayerNode>& nodes, double height, double row, double gap)
      : nodes_(nodes), height_(height), row_(row), gap_(gap) {}

  LayerLayout run() {
    assign_layers();
    lead_edges();
    for (int sweep = 0; sweep < 8; ++sweep) order(sweep % 2 == 0);
    place();
    return finish();
  }

 private:
  void assign_layers() {
    items_.resize(nodes_.size());
    const std::vector<std::size_t> layers = layers_of(nodes_);
    for (std::size_t i = 0; i < nodes_.size(); ++i) {
      items_[i].node = int(i);
      items_[i].width = nodes_[i].width;
      items_[i].layer = layers[i];
    }
  }

  // Adds points for edges that span several layers; beyond a limit edges go straight.
  void lead_edges() {
    constexpr std::size_t kMostPoints = 500'000;
    ways_.resize(nodes_.size());
    for (std::size_t i = 0; i < nodes_.size(); ++i) {
      for (const int from : nodes_[i].inputs) {
        support::poll();
        std::vector<std::size_t> way{std::size_t(from)};
        for (std::size_t l = items_[std::size_t(from)].layer + 1; l < items_[i].layer && items_.size() < kMostPoints;
             ++l) {
          Item point;
          point.layer = l;
          point.width = 4;
          items_.push_back(point);
          way.push_back(items_.size() - 1);
        }
        way.push_back(i);
        for (std::size_t k = 1; k < way.size(); ++k) {
          items_[way[k]].above.push_back(way[k - 1]);
          items_[way[k - 1]].below.push_back(way[k]);
        }
        ways_[i].push_back(std::move(way));
      }
    }
    for (std::size_t i = 0; i < items_.size(); ++i) {
      if (items_[i].layer >= layers_.size()) layers_.resize(items_[i].layer + 1);
      layers_[items_[i].layer].push_back(i);
    }
    rank_.resize(items_.size());
    for (const auto& layer : layers_) note_ranks(layer);
  }
  void note_ranks(const std::vector<std::size_t>& layer) {
    for (std::size_t k = 0; k < layer.size(); ++k) rank_[layer[k]] = double(k);
  }

  void order(bool down) {
    for (std::size_t n = 0; n < layers_.size(); ++n) {
      support::poll();
      std::vector<std::size_t>& layer = layers_[down ? n : layers_.size() - 1 - n];
      std::vector<std::pair<double, std::size_t>> wanted;
      for (const std::size_t i : layer) {
        const auto& near = down ? items_[i].above : items_[i].below;
        double sum = 0;
        for (const std::size_t other : near) sum += rank_[other];
        wanted.emplace_back(near.empty() ? rank_[i] : sum / double(near.size()), i);
      }
      std::stable_sort(wanted.begin(), wanted.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
      for (std::size_t k = 0; k < layer.size(); ++k) layer[k] = wanted[k].second;
      note_ranks(layer);
    }
  }

  // From left to right without overlap, each as close to the middle of its inputs as its neighbours permit. The whole
  // layer is then moved to where its nodes want to be on average, and a little towards the middle: otherwise thousands
  // of layers would each be a little further to one side than the last.
  void place() {
    constexpr double kTowardsMiddle = 0.05;
    double left = 0;
    for (const auto& layer : layers_) {
      double from = 0, moved = 0;
      std::size_t wishes = 0;
      for (const std::size_t i : layer) {
        support::poll();
        Item& item = items_[i];
        double wanted = 0;
        for (const std::size_t other : item.above) wanted += items_[other].x;
        if (!item.above.empty()) wanted /= double(item.above.size());
        item.x = i == layer.front() ? wanted : std::max(from + item.width / 2, wanted);
        from = item.x + item.width / 2 + gap_;
        if (item.above.empty()) continue;
        moved += wanted - item.x;
        ++wishes;
      }
      const double shift = wishes > 0 ? moved / double(wishes) : 0;
      const double middle = (items_[layer.front()].x + items_[layer.back()].x) / 2 + shift;
      for (const std::size_t i : layer) {
        items_[i].x += shift - kTowardsMiddle * middle;
        left = std::min(left, items_[i].x - items_[i].width / 2);
      }
    }
    for (Item& item : items_) item.x -= left;
  }

  LayerLayout finish() const {
    LayerLayout out;
    const auto at = [&](std::size_t i) { return LayerLayout::Place{items_[i].x, double(items_[i].layer) * row_}; };
    for (std::size_t i = 0; i < nodes_.size(); ++i) {
      out.places.push_back(at(i));
      auto& edges = out.edges.emplace_back();
      for (const auto& way : ways_[i]) {
        auto& points = edges.emplace_back();
        // Through a layer an edge goes straight down, beside the nodes; between layers, at any angle.
        for (const std::size_t k : way) {
          points.push_back(at(k));
          if (k >= nodes_.size()) points.push_back({at(k).x, at(k).y + height_});
        }
        points.front().y += height_;
      }
    }
    for (const Item& item : items_) out.width = std::max(out.width, item.x + item.width / 2);
    out.height = double(layers_.size()) * row_ - (row_ - height_);
    return out;
  }

  const std::vector<LayerNode>& nodes_;
  double height_, row_, gap_;
  std::vector<Item> items_;
  std::vector<std::vector<std::size_t>> layers_;
  std::vector<double> rank_;
  std::vector<std::vector<std::vector<std::size_t>>> ways_;
};

}  // namespace

std::vector<std::size_t> layers_of(const std::vector<LayerNode>& nodes) {
  std::vector<std::size_t> layers(nodes.size(), 0);
  for (std::size_t i = 0; i < nodes.size(); ++i)
    for (const int from : nodes[i].inputs) layers[i] = std::max(layers[i], layers[std::size_t(from)] + 1);
  // Down to the first use, from the last node on: weights are prepared beside the layer of the model that reads them,
  // not all at the top.
  std::vector<std::size_t> first_use(nodes.size(), 0);  // 0: none
  for (std::size_t i = nodes.size(); i-- > 0;) {
    if (first_use[i] > 0) layers[i] = first_use[i] - 1;
    for (const int from : nodes[i].inputs) {
      std::size_t& first = first_use[std::size_t(from)];
      first = first == 0 ? layers[i] : std::min(first, layers[i]);
    }
  }
  return layers;
}

LayerLayout lay_out(const std::vector<LayerNode>& nodes, double height, double row, double gap) {
  return Layout(nodes, height, row, gap).run();
}

}  // namespace rldb::ui
