#include "flotilla/data/generate_images.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "flotilla/base/error.h"
#include "flotilla/data/counter_random.h"

// Same bits everywhere: geometry is on whole numbers, a turn is a unit vector in units of 1/kOne
// that is rounded before it is used.

namespace flotilla::data {
namespace {

constexpr uint64_t kFlowerStream = 0x666c6f77;  // "flow"
constexpr uint64_t kShapeStream = 0x73686170;   // "shap"
constexpr int kOne = 1 << 12;

struct Color {
  int red = 0, green = 0, blue = 0;

  Color scaled(int percent) const {
    return {red * percent / 100, green * percent / 100, blue * percent / 100};
  }
  Color moved(CounterRandom& random, int reach) const {
    const int r = random.bell_whole(reach), g = random.bell_whole(reach);
    return {red + r, green + g, blue + random.bell_whole(reach)};
  }
};

// A unit vector in units of 1/kOne.
struct Turn {
  int x = kOne, y = 0;

  friend Turn operator*(Turn a, Turn b) {
    return {(a.x * b.x - a.y * b.y) / kOne, (a.x * b.y + a.y * b.x) / kOne};
  }
};

// The point of the unit circle at twice the angle whose tangent is `t`.
Turn turn_of(double t) {
  const double norm = 1 + t * t;
  return {static_cast<int>(std::floor(kOne * (1 - t * t) / norm + 0.5)),
          static_cast<int>(std::floor(kOne * 2 * t / norm + 0.5))};
}

// ---- flowers

struct PetalCount {
  int count = 0;
  double half_tangent = 0;  // of half the angle from petal to petal
};

constexpr std::array<PetalCount, 6> kPetals = {{{.count = 3, .half_tangent = 1.7320508},
                                                {.count = 4, .half_tangent = 1},
                                                {.count = 5, .half_tangent = 0.7265425},
                                                {.count = 6, .half_tangent = 0.5773503},
                                                {.count = 8, .half_tangent = 0.4142136},
                                                {.count = 12, .half_tangent = 0.2679492}}};

struct FlowerColors {
  Color petal = {};
  Color center = {};
};

constexpr std::array<FlowerColors, 17> kFlowerColors = {{
    {{225, 40, 45}, {240, 200, 60}},
    {{240, 130, 30}, {120, 70, 30}},
    {{250, 215, 50}, {150, 90, 30}},
    {{250, 240, 170}, {230, 170, 40}},
    {{250, 250, 245}, {240, 200, 50}},
    {{245, 245, 250}, {150, 60, 130}},
    {{250, 180, 205}, {240, 210, 90}},
    {{240, 95, 160}, {250, 220, 120}},
    {{190, 30, 110}, {60, 20, 40}},
    {{150, 60, 190}, {240, 220, 90}},
    {{185, 140, 225}, {110, 50, 150}},
    {{95, 80, 215}, {250, 250, 240}},
    {{70, 125, 235}, {240, 220, 70}},
    {{140, 190, 245}, {60, 90, 190}},
    {{175, 220, 120}, {90, 140, 50}},
    {{130, 25, 35}, {30, 20, 20}},
    {{245, 160, 120}, {200, 60, 50}},
}};
static_assert(kPetals.size() * kFlowerColors.size() == kFlowerClasses);

class Picture {
 public:
  explicit Picture(std::span<uint8_t, kFlowerBytes> rgb) : rgb_(rgb) {}

  void put(int x, int y, const Color& color) {
    uint8_t* at = &rgb_[(y * kFlowerSide + x) * 3];
    at[0] = static_cast<uint8_t>(std::clamp(color.red, 0, 255));
    at[1] = static_cast<uint8_t>(std::clamp(color.green, 0, 255));
    at[2] = static_cast<uint8_t>(std::clamp(color.blue, 0, 255));
  }

  // An ellipse around (x, y) whose long axis points along `turn`; darker towards its rim.
  void ellipse(int x, int y, Turn turn, int longer, int shorter, const Color& color) {
    const int reach = std::max(longer, shorter);
    for (int py = std::max(0, y - reach); py <= std::min(kFlowerSide - 1, y + reach); ++py) {
      for (int px = std::max(0, x - reach); px <= std::min(kFlowerSide - 1, x + reach); ++px) {
        const int dx = px - x, dy = py - y;
        const int64_t along = (dx * turn.x + dy * turn.y) * int64_t{1024} / (kOne * longer);
        const int64_t across = (dy * turn.x - dx * turn.y) * int64_t{1024} / (kOne * shorter);
        const int64_t square = (along * along + across * across) >> 10;  // 1024 on the rim
        if (square < 1024) put(px, py, color.scaled(100 - static_cast<int>(square * 25 / 1024)));
      }
    }
  }

  void add_noise(CounterRandom& random, int reach) {
    static_assert(kFlowerBytes % 8 == 0);
    for (size_t i = 0; i < rgb_.size(); i += 8) {
      const uint64_t bits = random.bits();
      for (size_t j = 0; j < 8; ++j) {
        const int noise = (static_cast<int>(bits >> (8 * j) & 0xff) - 128) * reach / 128;
        rgb_[i + j] = static_cast<uint8_t>(std::clamp(rgb_[i + j] + noise, 0, 255));
      }
    }
  }

 private:
  std::span<uint8_t, kFlowerBytes> rgb_;
};

// Leaves: a green or brown ground that changes from top to bottom, with dark and light spots.
void paint_ground(Picture& picture, CounterRandom& random) {
  const Color ground = random.chance(70) ? Color{50, 95, 40} : Color{95, 80, 55};
  const Color top = ground.moved(random, 40), bottom = ground.moved(random, 40);
  for (int y = 0; y < kFlowerSide; ++y) {
    const int down = y * 256 / kFlowerSide, up = 256 - down;
    const Color row = {(top.red * up + bottom.red * down) / 256,
                       (top.green * up + bottom.green * down) / 256,
                       (top.blue * up + bottom.blue * down) / 256};
    for (int x = 0; x < kFlowerSide; ++x) picture.put(x, y, row);
  }
  for (int i = 0; i < 25; ++i) {
    const int x = random.below(kFlowerSide), y = random.below(kFlowerSide);
    const int longer = random.between(12, 45), shorter = random.between(5, 14);
    const Turn turn = turn_of(random.uniform(-1, 1));
    picture.ellipse(x, y, turn, longer, shorter, ground.moved(random, 50));
  }
}

// ---- shapes

// Whether a point, in units of 1/1024 of the shape's size, lies in a shape of a kind.
bool covers(int kind, int x, int y) {
  const int ax = std::abs(x), ay = std::abs(y), square = (x * x + y * y) >> 10;
  switch (kind) {
    case 0:  // disc
      return square < 1024;
    case 1:  // ring
      return square < 1024 && square > 380;
    case 2:  // square
      return ax < 850 && ay < 850;
    case 3:  // frame
      return ax < 900 && ay < 900 && (ax > 500 || ay > 500);
    case 4:  // triangle
      return y < 750 && 2 * ax < y + 1000;
    case 5:  // plus
      return (ax < 300 && ay < 1000) || (ay < 300 && ax < 1000);
    case 6:  // bars
      return ax < 950 && ay < 950 && (ay / 190) % 2 == 0;
    case 7:  // two discs
      return ((ax - 560) * (ax - 560) + y * y) >> 10 < 260;
    case 8:  // half a disc
      return square < 1024 && y > 0;
    default:  // checkers
      return ax < 950 && ay < 950 && (x > 0) == (y > 0);
  }
}

constexpr std::array<Color, 10> kShapeColors = {{{215, 45, 45},
                                                 {60, 165, 60},
                                                 {50, 75, 210},
                                                 {230, 205, 50},
                                                 {190, 60, 190},
                                                 {60, 190, 200},
                                                 {235, 135, 40},
                                                 {235, 235, 235},
                                                 {35, 35, 40},
                                                 {130, 85, 50}}};

}  // namespace

void draw_flower(uint64_t seed, int64_t index, int label, std::span<uint8_t, kFlowerBytes> rgb) {
  require(0 <= label && label < kFlowerClasses, "a flower's class lies in [0, {}), but is {}",
          kFlowerClasses, label);
  const PetalCount& petals = kPetals[label % kPetals.size()];
  const FlowerColors& colors = kFlowerColors[label / kPetals.size()];
  CounterRandom random(seed, kFlowerStream, index);
  Picture picture(rgb);
  paint_ground(picture, random);
  const int x = kFlowerSide / 2 + random.bell_whole(40);
  const int y = kFlowerSide / 2 + random.bell_whole(40);
  const int radius = random.between(60, 95);
  const int shade = random.between(80, 110);
  const int width = 2 * radius / petals.count + random.between(4, 12);
  const Color petal = colors.petal.moved(random, 30).scaled(shade);
  const Turn step = turn_of(petals.half_tangent);
  Turn turn = turn_of(random.uniform(-1, 1));
  for (int i = 0; i < petals.count; ++i) {
    const int px = x + turn.x * radius / 2 / kOne, py = y + turn.y * radius / 2 / kOne;
    picture.ellipse(px, py, turn, radius / 2, width, petal.moved(random, 15));
    turn = turn * step;
  }
  const int center = radius / random.between(4, 5);
  picture.ellipse(x, y, Turn{}, center, center, colors.center.moved(random, 25).scaled(shade));
  picture.add_noise(random, random.between(4, 16));
}

int draw_shape(uint64_t seed, Split split, int64_t index, std::span<uint8_t, kShapeBytes> planes) {
  CounterRandom random(seed, kShapeStream + static_cast<uint64_t>(split), index);
  const int label = random.below(kShapeClasses);
  const int size = random.between(8 * 16, 14 * 16);
  const int room = kShapeSide * 8 - size * 3 / 4;  // from the middle, in sixteenths
  const int cx = kShapeSide * 8 + random.bell_whole(room / 2);
  const int cy = kShapeSide * 8 + random.bell_whole(room / 2);
  const Turn turn = turn_of(random.bell(0.25));
  const Color ink = kShapeColors[label % 10].moved(random, 40);
  const int grey = random.between(90, 165);
  const Color ground = Color{grey, grey, grey}.moved(random, 60);
  const int noise = random.between(10, 40);
  constexpr int kPlane = kShapeSide * kShapeSide;
  for (int y = 0; y < kShapeSide; ++y) {
    for (int x = 0; x < kShapeSide; ++x) {
      const int dx = x * 16 + 8 - cx, dy = y * 16 + 8 - cy;
      const int along = (dx * turn.x + dy * turn.y) / kOne * 1024 / size;
      const int across = (dy * turn.x - dx * turn.y) / kOne * 1024 / size;
      const Color& color = covers(label / 10, along, across) ? ink : ground;
      const uint64_t bits = random.bits();
      const auto put = [&](int plane, int value) {
        const int grain = (static_cast<int>(bits >> (8 * plane) & 0xff) - 128) * noise / 128;
        planes[plane * kPlane + y * kShapeSide + x] =
            static_cast<uint8_t>(std::clamp(value + grain, 0, 255));
      };
      put(0, color.red);
      put(1, color.green);
      put(2, color.blue);
    }
  }
  return label;
}

}  // namespace flotilla::data
