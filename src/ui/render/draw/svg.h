// Svg: a picture as text, written element by element. It refers to nothing outside the file.
#pragma once

#include <fmt/format.h>

#include <string>
#include <string_view>

namespace rldb::ui {

// `&`, `<`, `>` and quotes as entities; control bytes as blanks.
std::string xml_text(std::string_view text);

class Svg {
 public:
  Svg(double width, double height);
  void rect(double x, double y, double width, double height, std::string_view fill, std::string_view hint = {});
  void box(double x, double y, double width, double height, std::string_view stroke, std::string_view fill);
  void line(double x1, double y1, double x2, double y2, std::string_view stroke);
  // Points as `x,y x,y`.
  void polyline(std::string_view points, std::string_view stroke);
  void arrow(double x1, double y1, double x2, double y2, std::string_view stroke);
  // Along the data of a path element, with a head at its end.
  void arrow_path(std::string_view data, std::string_view stroke);
  enum class Anchor { Start, Middle, End };
  void text(double x, double y, std::string_view text, Anchor anchor = Anchor::Start, std::string_view fill = "#222");
  std::string finish() &&;

 private:
  std::string out_;
};

// A colour for 0 to 1, from dark blue through green to yellow.
std::string heat_color(double part);

}  // namespace rldb::ui
