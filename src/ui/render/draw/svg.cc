#include "ui/render/draw/svg.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace rldb::ui {

std::string xml_text(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '&')
      out += "&amp;";
    else if (c == '<')
      out += "&lt;";
    else if (c == '>')
      out += "&gt;";
    else if (c == '"')
      out += "&quot;";
    else
      out += static_cast<unsigned char>(c) < 0x20 || c == 0x7F ? ' ' : c;
  }
  return out;
}

Svg::Svg(double width, double height) {
  out_ = fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0:g}\" height=\"{1:g}\" viewBox=\"0 0 {0:g} {1:g}\" "
      "font-family=\"monospace\" font-size=\"12\">\n"
      "<defs><marker id=\"head\" viewBox=\"0 0 8 8\" refX=\"8\" refY=\"4\" markerWidth=\"7\" markerHeight=\"7\" "
      "orient=\"auto\"><path d=\"M0 0 L8 4 L0 8 z\" fill=\"#555\"/></marker></defs>\n"
      "<rect width=\"{0:g}\" height=\"{1:g}\" fill=\"#fff\"/>\n",
      width, height);
}

void Svg::rect(double x, double y, double width, double height, std::string_view fill, std::string_view hint) {
  out_ +=
      fmt::format("<rect x=\"{:g}\" y=\"{:g}\" width=\"{:g}\" height=\"{:g}\" fill=\"{}\"", x, y, width, height, fill);
  out_ += hint.empty() ? std::string("/>\n") : fmt::format("><title>{}</title></rect>\n", xml_text(hint));
}

void Svg::box(double x, double y, double width, double height, std::string_view stroke, std::string_view fill) {
  out_ +=
      fmt::format("<rect x=\"{:g}\" y=\"{:g}\" width=\"{:g}\" height=\"{:g}\" rx=\"4\" stroke=\"{}\" fill=\"{}\"/>\n",
                  x, y, width, height, stroke, fill);
}

void Svg::line(double x1, double y1, double x2, double y2, std::string_view stroke) {
  out_ +=
      fmt::format("<line x1=\"{:g}\" y1=\"{:g}\" x2=\"{:g}\" y2=\"{:g}\" stroke=\"{}\"/>\n", x1, y1, x2, y2, stroke);
}

void Svg::arrow(double x1, double y1, double x2, double y2, std::string_view stroke) {
  out_ +=
      fmt::format("<line x1=\"{:g}\" y1=\"{:g}\" x2=\"{:g}\" y2=\"{:g}\" stroke=\"{}\" marker-end=\"url(#head)\"/>\n",
                  x1, y1, x2, y2, stroke);
}

void Svg::arrow_path(std::string_view data, std::string_view stroke) {
  out_ += fmt::format("<path d=\"{}\" fill=\"none\" stroke=\"{}\" marker-end=\"url(#head)\"/>\n", data, stroke);
}

void Svg::polyline(std::string_view points, std::string_view stroke) {
  out_ += fmt::format("<polyline points=\"{}\" fill=\"none\" stroke=\"{}\"/>\n", points, stroke);
}

void Svg::text(double x, double y, std::string_view text, Anchor anchor, std::string_view fill) {
  const std::string_view side = anchor == Anchor::Start ? "start" : anchor == Anchor::Middle ? "middle" : "end";
  out_ += fmt::format("<text x=\"{:g}\" y=\"{:g}\" text-anchor=\"{}\" fill=\"{}\">{}</text>\n", x, y, side, fill,
                      xml_text(text));
}

std::string Svg::finish() && { return std::move(out_) + "</svg>\n"; }

std::string heat_color(double part) {
  static constexpr std::array<std::array<double, 3>, 5> kStops{
      {{68, 1, 84}, {59, 82, 139}, {33, 145, 140}, {94, 201, 98}, {253, 231, 37}}};
  const double at = std::clamp(part, 0.0, 1.0) * double(kStops.size() - 1);
  const std::size_t low = std::min(std::size_t(at), kStops.size() - 2);
  std::array<int, 3> mixed{};
  for (std::size_t i = 0; i < 3; ++i)
    mixed[i] = int(std::lround(kStops[low][i] + (at - double(low)) * (kStops[low + 1][i] - kStops[low][i])));
  return fmt::format("#{:02x}{:02x}{:02x}", mixed[0], mixed[1], mixed[2]);
}

}  // namespace rldb::ui
