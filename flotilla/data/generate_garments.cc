#include "flotilla/data/generate_garments.h"

#include <algorithm>
#include <cstdlib>

#include "flotilla/data/counter_random.h"

// Same bits everywhere: all numbers are whole. A garment fills the box from -1000 to 1000 in both
// directions, x to the right and y downwards; what is worn upright is symmetric in x, shoes point
// to the left.

namespace flotilla::data {
namespace {

constexpr uint64_t kGarmentStream = 0x67617262;  // "garb"

enum Label { kTShirt, kTrousers, kPullover, kDress, kCoat, kSandal, kShirt, kSneaker, kBag, kBoot };

// From a at y == top to b at y == bottom, along a line.
int slope(int y, int top, int bottom, int a, int b) {
  return a + (b - a) * std::clamp(y - top, 0, bottom - top) / (bottom - top);
}

// What is worn on the upper half of the body.
struct Top {
  int shoulder, waist, hem;  // half the width there
  int bottom;                // where it ends
  int sleeve, spread;        // length of the sleeves, 0 for none; how far they stand out
  int arm;                   // half the width of a sleeve
  int neck;                  // radius of the hole for the head
  int front;                 // shade of the middle line in percent: buttons, a zip or an opening
  int collar;                // shade around the neck in percent

  static Top of(Label label, CounterRandom& random);
  int shade(int x, int y) const;
};

Top Top::of(Label label, CounterRandom& random) {
  Top top = {.shoulder = random.between(430, 560),
             .waist = random.between(400, 540),
             .hem = random.between(430, 580),
             .bottom = random.between(700, 950),
             .sleeve = random.between(1150, 1650),
             .spread = random.between(60, 330),
             .arm = random.between(120, 190),
             .neck = random.between(130, 300),
             .front = 100,
             .collar = 100};
  switch (label) {
    case kTShirt:
      top.sleeve = random.between(350, 750);
      top.spread = random.between(200, 600);
      break;
    case kDress:
      top.sleeve = random.chance(50) ? 0 : random.between(200, 1300);
      top.shoulder = random.between(230, 380);
      top.waist = random.between(180, 330);
      top.hem = random.between(300, 700);
      top.bottom = 1000;
      break;
    case kCoat:
      top.front = random.between(20, 75);
      top.collar = random.between(50, 100);
      top.bottom = random.between(820, 1000);
      break;
    case kShirt:
      top.sleeve = random.chance(40) ? random.between(400, 900) : top.sleeve;
      top.front = random.between(60, 100);
      top.collar = random.between(60, 110);
      break;
    default:  // a pullover
      top.collar = random.between(85, 110);
  }
  return top;
}

// Percent of the garment's shade at a place; 0 beside it.
int Top::shade(int x, int y) const {
  constexpr int kStart = -900;
  const int ax = std::abs(x), down = y - kStart;
  if (down < 0 || ax * ax + down * down < neck * neck) return 0;
  const int middle = (kStart + bottom) / 2;
  const int side =
      y < middle ? slope(y, kStart, middle, shoulder, waist) : slope(y, middle, bottom, waist, hem);
  if (y < bottom && ax < side) {
    if (ax < 45) return front;
    return ax * ax + down * down < (neck + 130) * (neck + 130) ? collar : 100;
  }
  const int arm_at = shoulder - arm / 2 + spread * down / 1000;
  return down < sleeve && std::abs(ax - arm_at) < arm ? 92 : 0;
}

struct Trousers {
  int waist, crotch, knee, foot, spread;

  explicit Trousers(CounterRandom& random)
      : waist(random.between(270, 420)),
        crotch(random.between(-550, -250)),
        knee(random.between(110, 190)),
        foot(random.between(100, 260)),
        spread(random.between(160, 330)) {}

  int shade(int x, int y) const {
    const int ax = std::abs(x);
    if (y < -960 || y > 960) return 0;
    if (y < crotch) return ax < waist ? (ax < 30 ? 80 : 100) : 0;
    const int leg = slope(y, crotch, 960, waist / 2, spread);
    const int half =
        y < 300 ? slope(y, crotch, 300, waist / 2, knee) : slope(y, 300, 960, knee, foot);
    return std::abs(ax - leg) < half ? 100 : 0;
  }
};

struct Shoe {
  int sole, heel;   // thickness at the toes and at the heel
  int toe, instep;  // height of the upper above the sole
  int shaft, back;  // height of the shaft above the instep, and its width
  int straps, gap;  // a sandal's; straps == 0 stands for a closed upper
  int sole_shade;

  static Shoe of(Label label, CounterRandom& random) {
    Shoe shoe = {.sole = random.between(80, 160),
                 .heel = random.between(80, 200),
                 .toe = random.between(150, 280),
                 .instep = random.between(420, 640),
                 .shaft = random.between(0, 130),
                 .back = random.between(560, 800),
                 .straps = 0,
                 .gap = 0,
                 .sole_shade = random.between(40, 115)};
    if (label == kBoot) {
      shoe.shaft = random.between(350, 900);
      shoe.heel = random.between(100, 420);
    } else if (label == kSandal) {
      shoe.straps = random.between(2, 5);
      shoe.gap = random.between(35, 65);
      shoe.heel = random.between(60, 620);
      shoe.instep = random.between(250, 560);
    }
    return shoe;
  }

  int shade(int x, int y) const {
    constexpr int kGround = 620;
    if (x < -950 || x > 950) return 0;
    const int high = kGround - slope(x, -200, 700, sole, heel);  // where the foot stands
    if (y > kGround || (y > high + sole && x < 450)) return 0;   // below the arch
    if (y > high) return sole_shade;
    const int opening = 950 - back;
    const int upper = x < opening ? slope(x, -950, opening, toe, instep) : instep + shaft;
    if (y < high - upper) return 0;
    if (straps == 0) return 100;
    return (x + y / 2 + 2000) * straps % 2000 < 20 * (100 - gap) ? 100 : 0;
  }
};

struct Bag {
  int half, top, bottom, lean;  // of the body; how much narrower it is at the top
  int ring, strap;              // radius and width of the handle
  int flap;                     // where a darker flap ends, if below the top

  explicit Bag(CounterRandom& random)
      : half(random.between(550, 950)),
        top(random.between(-500, -50)),
        bottom(random.between(550, 900)),
        lean(random.between(0, 200)),
        ring(random.between(250, 550)),
        strap(random.between(60, 130)),
        flap(random.between(-900, 400)) {}

  int shade(int x, int y) const {
    if (y >= top && y < bottom) {
      if (std::abs(x) >= slope(y, top, bottom, half - lean, half)) return 0;
      return y < flap ? 82 : 100;
    }
    const int up = y - top, square = x * x + up * up;
    return up < 0 && square < ring * ring && square > (ring - strap) * (ring - strap) ? 88 : 0;
  }
};

// What changes from one image to the next for all kinds alike.
struct Look {
  int width, height;      // of half the box, in sixteenths of a pixel
  int shift_x, shift_y;   // in sixteenths of a pixel
  int slant;              // in thousandths
  int shade;              // brightest pixel
  int stripes, contrast;  // of a pattern: period across or, if negative, along; percent
  int fold;               // darker towards the sides, in percent
  int noise;

  explicit Look(CounterRandom& random)
      : width(random.between(10 * 16, 14 * 16)),
        height(random.between(11 * 16, 14 * 16)),
        shift_x(random.bell_whole(28)),
        shift_y(random.bell_whole(28)),
        slant(random.bell_whole(160)),
        shade(random.between(90, 255)),
        stripes(random.chance(25) ? random.between(130, 400) * (random.chance(50) ? 1 : -1) : 0),
        contrast(random.between(10, 60)),
        fold(random.between(0, 40)),
        noise(random.between(4, 50)) {}

  // Of a place whose garment has this percentage.
  int light(int percent, int x, int y) const {
    int light = shade * percent / 100;
    if (stripes > 0 && (x + 4000) / stripes % 2 == 0) light = light * (100 - contrast) / 100;
    if (stripes < 0 && (y + 4000) / -stripes % 2 == 0) light = light * (100 - contrast) / 100;
    return light * (100 - fold * std::abs(x) / 1000) / 100;
  }
};

// Each pixel is the mean of four places in it.
template <typename Garment>
void paint(const Garment& garment, const Look& look, CounterRandom& random,
           std::span<uint8_t, kDrawnPixels> pixels) {
  for (int at = 0; at < kDrawnPixels; ++at) {
    int light = 0;
    for (int corner = 0; corner < 4; ++corner) {
      const int py = at / kDrawnSide * 16 + corner / 2 * 8 + 4 - kDrawnSide * 8 - look.shift_y;
      const int px = at % kDrawnSide * 16 + corner % 2 * 8 + 4 - kDrawnSide * 8 - look.shift_x;
      const int y = py * 1000 / look.height;
      const int x = px * 1000 / look.width + y * look.slant / 1000;
      light += look.light(garment.shade(x, y), x, y);
    }
    const int grain = (static_cast<int>(random.bits() >> 56) - 128) * look.noise / 256;
    // The ground stays black but for a little dust, as on a photograph that was cut out.
    const int dust = light > 0 ? grain : std::max(0, grain - look.noise * 3 / 8);
    pixels[at] = static_cast<uint8_t>(std::clamp(light / 4 + dust, 0, 255));
  }
}

}  // namespace

int draw_garment(uint64_t seed, Split split, int64_t index,
                 std::span<uint8_t, kDrawnPixels> pixels) {
  CounterRandom random(seed, kGarmentStream + static_cast<uint64_t>(split), index);
  const auto label = static_cast<Label>(random.below(10));
  const Look look(random);
  switch (label) {
    case kTrousers:
      paint(Trousers(random), look, random, pixels);
      break;
    case kSandal:
    case kSneaker:
    case kBoot:
      paint(Shoe::of(label, random), look, random, pixels);
      break;
    case kBag:
      paint(Bag(random), look, random, pixels);
      break;
    default:
      paint(Top::of(label, random), look, random, pixels);
  }
  return label;
}

void write_garments(const std::filesystem::path& directory, const DrawnSetOptions& options) {
  write_drawn(directory, draw_garment, options);
}

}  // namespace flotilla::data
