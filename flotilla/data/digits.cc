#include "flotilla/data/digits.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include "flotilla/data/counter_random.h"
#include "flotilla/data/digit_strokes.h"

// Same bits everywhere: geometry is + - * / and sqrt on doubles, which IEEE 754 fixes; what a
// compiler may still change (a fused multiply-add, the last bit) is lost when the pen's places are
// rounded to the grid below, and from there on all numbers are integers.

namespace flotilla::data {
namespace {

struct Point {
  double x = 0;
  double y = 0;

  friend Point operator+(Point a, Point b) { return {a.x + b.x, a.y + b.y}; }
  friend Point operator-(Point a, Point b) { return {a.x - b.x, a.y - b.y}; }
  friend Point operator*(double s, Point a) { return {s * a.x, s * a.y}; }
};

double length(Point a) { return std::sqrt(a.x * a.x + a.y * a.y); }

// What changes from one image to the next, all strokes of an image alike.
struct Hand {
  double width, height;     // of the style's box, in pixels
  double slant, tilt;       // tan of the slant, tan of half the angle of the turn
  double bend_x, bend_y;    // how far the middle of a line swings out, as a share of the box
  double swell_x, swell_y;  // how much broader the foot is than the head, and so on
  double jitter;            // of each knot, as a share of the box
  double shift_x, shift_y;  // in pixels
  double radius;            // of the pen, in pixels
  double pressure;          // change of the radius along a stroke, as a share of it
  int ink, grain, dust;     // brightest pixel; noise on the stroke; noise beside it

  explicit Hand(CounterRandom& random)
      : width(random.uniform(10, 18)),
        height(random.uniform(15, 20)),
        slant(0.15 + random.bell(0.6)),
        tilt(random.bell(0.2)),
        bend_x(random.bell(0.4)),
        bend_y(random.bell(0.4)),
        swell_x(random.bell(0.6)),
        swell_y(random.bell(0.6)),
        jitter(random.uniform(0.02, 0.05)),
        shift_x(random.bell(3.5)),
        shift_y(random.bell(3.5)),
        radius(random.uniform(0.7, 1.7)),
        pressure(random.bell(0.4)),
        ink(random.below(80) + 176),
        grain(random.below(64)),
        dust(random.below(16)) {}

  // From the style's box, [-0.5, 0.5] x [-0.5, 0.5], to pixels around (0, 0).
  Point place(Point p) const {
    const Point bent = {p.x * (1 + swell_x * p.y) + bend_x * (0.25 - p.y * p.y),
                        p.y * (1 + swell_y * p.x) + bend_y * (0.25 - p.x * p.x)};
    const Point scaled = {width * bent.x - height * slant * bent.y, height * bent.y};
    // The point of the unit circle at twice the angle whose tangent is `tilt`, without sin and cos.
    const double norm = 1 + tilt * tilt;
    const double cosine = (1 - tilt * tilt) / norm, sine = 2 * tilt / norm;
    return {cosine * scaled.x - sine * scaled.y, sine * scaled.x + cosine * scaled.y};
  }
};

// The knots of a style in pixels of the image, centred and shifted, but never out of the image.
std::vector<std::vector<Point>> place_knots(const DigitStyle& style, const Hand& hand,
                                            CounterRandom& random) {
  std::vector<std::vector<Point>> strokes;
  Point low = {1e9, 1e9}, high = {-1e9, -1e9};
  for (const Stroke& stroke : style) {
    std::vector<Point>& points = strokes.emplace_back();
    for (const Knot& knot : stroke) {
      const Point moved = {knot.x / 100.0 - 0.5 + random.bell(hand.jitter),
                           knot.y / 100.0 - 0.5 + random.bell(hand.jitter)};
      const Point p = points.emplace_back(hand.place(moved));
      low = {std::min(low.x, p.x), std::min(low.y, p.y)};
      high = {std::max(high.x, p.x), std::max(high.y, p.y)};
    }
  }
  constexpr double kMargin = 2, kMiddle = (kDigitSide - 1) / 2.0;
  const auto offset = [](double low, double high, double shift) {
    const double room = std::max(0.0, kMiddle - kMargin - (high - low) / 2);
    return kMiddle - (low + high) / 2 + std::clamp(shift, -room, room);
  };
  const Point by = {offset(low.x, high.x, hand.shift_x), offset(low.y, high.y, hand.shift_y)};
  for (std::vector<Point>& points : strokes) {
    for (Point& p : points) p = p + by;
  }
  return strokes;
}

// Ink on a grid of kGrid places to a pixel.
class Canvas {
 public:
  static constexpr int kGrid = 32;

  explicit Canvas(std::span<uint8_t, kDigitPixels> pixels) : pixels_(pixels) {
    std::fill(pixels.begin(), pixels.end(), 0);
  }

  // A round dab. Ink falls from full to none over the pixel around the radius r, linear in the
  // square of the distance d: ((r + 1/2)^2 - d^2) / (2 r), which needs no root.
  void dab(Point at, double radius) {
    const int cx = to_grid(at.x), cy = to_grid(at.y), r = to_grid(radius);
    const int reach = r + kGrid / 2;
    const int full = 2 * r * kGrid;
    const int left = std::max(0, (cx - reach) / kGrid), top = std::max(0, (cy - reach) / kGrid);
    const int right = std::min(kDigitSide - 1, (cx + reach) / kGrid);
    const int bottom = std::min(kDigitSide - 1, (cy + reach) / kGrid);
    for (int y = top; y <= bottom; ++y) {
      const int dy = y * kGrid - cy;
      for (int x = left; x <= right; ++x) {
        const int dx = x * kGrid - cx;
        const int ink = std::clamp((reach * reach - dx * dx - dy * dy) * 255 / full, 0, 255);
        uint8_t& pixel = pixels_[y * kDigitSide + x];
        pixel = std::max(pixel, static_cast<uint8_t>(ink));
      }
    }
  }

 private:
  static int to_grid(double pixels) { return static_cast<int>(std::floor(pixels * kGrid + 0.5)); }

  std::span<uint8_t, kDigitPixels> pixels_;
};

// Follows a stroke dab by dab: cubic Hermite curves through the knots, whose tangents are those of
// a Catmull-Rom spline, but of the chord on either side at a corner and at the ends.
void draw_stroke(const Stroke& stroke, const std::vector<Point>& at, const Hand& hand,
                 Canvas& canvas) {
  constexpr double kStride = 0.4;  // pixels from dab to dab
  const size_t last = at.size() - 1;
  const auto smooth = [&](size_t i) { return 0 < i && i < last && !stroke[i].corner; };
  for (size_t i = 0; i < last; ++i) {
    const Point chord = at[i + 1] - at[i];
    const Point leave = smooth(i) ? 0.5 * (at[i + 1] - at[i - 1]) : chord;
    const Point arrive = smooth(i + 1) ? 0.5 * (at[i + 2] - at[i]) : chord;
    const int dabs = 1 + static_cast<int>(length(chord) * (1.2 / kStride));
    for (int n = 0; n <= dabs; ++n) {
      const double t = static_cast<double>(n) / dabs, u = 1 - t;
      const Point p = (u * u * (1 + 2 * t)) * at[i] + (t * u * u) * leave +
                      (t * t * (1 + 2 * u)) * at[i + 1] - (t * t * u) * arrive;
      const double way = (i + t) / last - 0.5;  // -0.5 at the start of the stroke, 0.5 at its end
      canvas.dab(p, std::max(0.6, hand.radius * (1 + hand.pressure * way)));
    }
  }
}

// Scales to the brightness of the ink, grains the strokes, and strews dust beside them.
void add_noise(const Hand& hand, CounterRandom& random, std::span<uint8_t, kDigitPixels> pixels) {
  static_assert(kDigitPixels % 8 == 0);
  for (size_t i = 0; i < kDigitPixels; i += 8) {
    const uint64_t bits = random.bits();
    for (size_t j = 0; j < 8; ++j) {
      const int noise = static_cast<int>(bits >> (8 * j) & 0xff);
      uint8_t& pixel = pixels[i + j];
      const int ink = pixel * hand.ink >> 8;
      const int grain = ink * noise * hand.grain >> 16;
      // Only the strongest tenth of the noise shows where there is no ink.
      const int dust = std::max(0, noise - 230) * hand.dust >> 4;
      pixel = static_cast<uint8_t>(std::min(255, ink - grain + dust));
    }
  }
}

}  // namespace

int draw_digit(uint64_t seed, Split split, int64_t index, std::span<uint8_t, kDigitPixels> pixels) {
  CounterRandom random(seed, static_cast<uint64_t>(split), index);
  const int digit = random.below(10);
  const std::span<const DigitStyle> styles = styles_of(digit);
  const DigitStyle& style = styles[random.below(static_cast<int>(styles.size()))];
  const Hand hand(random);
  const std::vector<std::vector<Point>> knots = place_knots(style, hand, random);
  Canvas canvas(pixels);
  for (size_t i = 0; i < style.size(); ++i) draw_stroke(style[i], knots[i], hand, canvas);
  add_noise(hand, random, pixels);
  return digit;
}

LabeledImages make_digits(uint64_t seed, Split split, int64_t count) {
  return make_drawn(draw_digit, seed, split, count);
}

void write_digits(const std::filesystem::path& directory, const DigitsOptions& options) {
  write_drawn(directory, draw_digit, options);
}

}  // namespace flotilla::data
