#include "flotilla/data/image/color.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "flotilla/base/error.h"
#include "flotilla/data/image/vectors.h"

namespace flotilla::data {
namespace {

// Red, green, blue, half, bits.
struct GreyWeights {
  int red = 0, green = 0, blue = 0, bits = 0;
};

constexpr GreyWeights kPilGrey = {19595, 38470, 7471, 16};
constexpr GreyWeights kCv2Grey = {9798, 19235, 3735, 15};

template <int kChannels>
void grey_row(const uint8_t* in, int64_t width, GreyWeights w, uint8_t* into) {
  vectorized([=] {
    for (int64_t x = 0; x < width; ++x) {
      const uint8_t* p = in + x * kChannels;
      const int sum = p[0] * w.red + p[1] * w.green + p[2] * w.blue + (1 << (w.bits - 1));
      into[x] = static_cast<uint8_t>(sum >> w.bits);
    }
  });
}

uint8_t cut_to_byte(float x) {
  if (x <= 0) return 0;
  return x >= 255 ? 255 : static_cast<uint8_t>(x);
}

void require_rgb(const ImageView& image, const char* what) {
  require(image.channels == 3, "{} needs 3 channels, but the image has {}", what, image.channels);
}

struct Hsv {
  int h = 0, s = 0, v = 0;
};

Hsv pil_hsv(int r, int g, int b) {
  const int most = std::max({r, g, b}), least = std::min({r, g, b});
  if (most == least) return {0, 0, most};
  const auto range = static_cast<float>(most - least);
  const float s = range / static_cast<float>(most);
  const float rc = static_cast<float>(most - r) / range;
  const float gc = static_cast<float>(most - g) / range;
  const float bc = static_cast<float>(most - b) / range;
  float h = 0;
  if (r == most) {
    h = bc - gc;
  } else if (g == most) {
    h = static_cast<float>(2.0 + rc - bc);
  } else {
    h = static_cast<float>(4.0 + gc - rc);
  }
  h = static_cast<float>(std::fmod(h / 6.0 + 1.0, 1.0));
  return {static_cast<int>(h * 255.0), static_cast<int>(s * 255.0), most};
}

// The sixth of the colour circle and the three values that its colours are made of.
void pil_rgb(Hsv in, uint8_t* into) {
  const auto v = static_cast<uint8_t>(in.v);
  if (in.s == 0) {
    into[0] = into[1] = into[2] = v;
    return;
  }
  const int sixth = static_cast<int>(std::floor(static_cast<float>(in.h) * 6.0 / 255.0));
  const auto f =
      static_cast<float>(static_cast<float>(in.h) * 6.0 / 255.0 - static_cast<float>(sixth));
  const auto fs = static_cast<float>(static_cast<float>(in.s) / 255.0);
  const auto byte = [](double x) {
    return static_cast<uint8_t>(std::clamp(static_cast<int>(std::round(x)), 0, 255));
  };
  const uint8_t p = byte(in.v * (1.0 - fs)), q = byte(in.v * (1.0 - fs * f)),
                t = byte(in.v * (1.0 - fs * (1.0 - f)));
  const std::array<std::array<uint8_t, 3>, 6> colors = {
      {{v, t, p}, {q, v, p}, {p, v, t}, {p, q, v}, {t, p, v}, {v, p, q}}};
  std::copy_n(colors[sixth % 6].begin(), 3, into);
}

// Divisions by table, with 12 bits behind the point.
struct Cv2Tables {
  std::array<int, 256> saturation = {};
  std::array<int, 256> hue = {};
};

const Cv2Tables& cv2_tables() {
  static const Cv2Tables tables = [] {
    Cv2Tables made;
    for (int i = 1; i < 256; ++i) {
      made.saturation[i] = static_cast<int>(std::lrint((255 << 12) / (1.0 * i)));
      made.hue[i] = static_cast<int>(std::lrint((256 << 12) / (6.0 * i)));
    }
    return made;
  }();
  return tables;
}

Hsv cv2_hsv(const Cv2Tables& tables, int r, int g, int b) {
  const int most = std::max({r, g, b}), range = most - std::min({r, g, b});
  int h = 0;
  if (most == r) {
    h = g - b;
  } else if (most == g) {
    h = b - r + 2 * range;
  } else {
    h = r - g + 4 * range;
  }
  h = (h * tables.hue[range] + (1 << 11)) >> 12;
  if (h < 0) h += 256;
  return {std::clamp(h, 0, 255), (range * tables.saturation[most] + (1 << 11)) >> 12, most};
}

// Blue first.
void cv2_bgr(Hsv in, uint8_t* into) {
  float h = static_cast<float>(in.h) * (6.f / 255.f);
  const float s = static_cast<float>(in.s) * (1.f / 255.f),
              v = static_cast<float>(in.v) * (1.f / 255.f);
  int sixth = static_cast<int>(std::floor(h));
  h -= static_cast<float>(sixth);
  sixth %= 6;
  const float values[4] = {v, v * (1.f - s), v * (1.f - s * h), v * (1.f - s * (1.f - h))};
  static constexpr int kPick[6][3] = {{1, 3, 0}, {1, 0, 2}, {3, 0, 1},
                                      {0, 2, 1}, {0, 1, 3}, {2, 1, 0}};
  for (int c = 0; c < 3; ++c) {
    const float x = in.s == 0 ? v : values[kPick[sixth][c]];
    into[c] = static_cast<uint8_t>(std::clamp(std::nearbyint(x * 255.f), 0.f, 255.f));
  }
}

}  // namespace

Image to_grey(const ImageView& image, Style style) {
  require(image.channels == 3 || image.channels == 4,
          "a grey image can be made of 3 or 4 channels, but the image has {}", image.channels);
  const GreyWeights weights = style == Style::kPil ? kPilGrey : kCv2Grey;
  Image out(image.height, image.width, 1);
  for (int64_t y = 0; y < image.height; ++y) {
    const auto row = image.channels == 3 ? grey_row<3> : grey_row<4>;
    row(image.row(y), image.width, weights, out.row(y));
  }
  return out;
}

Image to_rgb(const ImageView& image) {
  Image out(image.height, image.width, 3);
  const int64_t colors = image.channels >= 3 ? 3 : 1;
  for (int64_t y = 0; y < image.height; ++y) {
    const uint8_t* in = image.row(y);
    uint8_t* into = out.row(y);
    for (int64_t x = 0; x < image.width; ++x, in += image.channels) {
      for (int64_t c = 0; c < 3; ++c) *into++ = in[colors == 3 ? c : 0];
    }
  }
  return out;
}

Image look_up(const ImageView& image, std::span<const uint8_t, 256> table) {
  Image out(image.height, image.width, image.channels);
  const int64_t size = image.width * image.channels;
  for (int64_t y = 0; y < image.height; ++y) {
    const uint8_t* in = image.row(y);
    uint8_t* into = out.row(y);
    for (int64_t i = 0; i < size; ++i) into[i] = table[in[i]];
  }
  return out;
}

Image blend(const ImageView& image, uint8_t other, double factor) {
  std::array<uint8_t, 256> table = {};
  const auto alpha = static_cast<float>(factor);
  for (int x = 0; x < 256; ++x) {
    table[x] = cut_to_byte(static_cast<float>(other) + alpha * static_cast<float>(x - other));
  }
  return look_up(image, table);
}

Image blend(const ImageView& image, const ImageView& grey, double factor) {
  const auto alpha = static_cast<float>(factor);
  Image out(image.height, image.width, image.channels);
  for (int64_t y = 0; y < image.height; ++y) {
    const uint8_t* in = image.row(y);
    const uint8_t* other = grey.row(y);
    uint8_t* into = out.row(y);
    for (int64_t x = 0; x < image.width; ++x) {
      for (int64_t c = 0; c < image.channels; ++c) {
        *into++ = cut_to_byte(static_cast<float>(other[x]) +
                              alpha * static_cast<float>(*in++ - other[x]));
      }
    }
  }
  return out;
}

Image saturate(const ImageView& image, float factor) {
  require_rgb(image, "saturation");
  Image out(image.height, image.width, 3);
  for (int64_t y = 0; y < image.height; ++y) {
    const uint8_t* in = image.row(y);
    uint8_t* into = out.row(y);
    for (int64_t x = 0; x < image.width; ++x, in += 3) {
      const float grey = static_cast<float>(in[0]) * 0.114f + static_cast<float>(in[1]) * 0.587f +
                         static_cast<float>(in[2]) * 0.299f;
      for (int c = 0; c < 3; ++c) {
        *into++ = cut_to_byte(static_cast<float>(in[c]) * factor + grey * (1 - factor));
      }
    }
  }
  return out;
}

int grey_mean(const ImageView& grey) {
  int64_t sum = 0;
  for (int64_t y = 0; y < grey.height; ++y) {
    for (int64_t x = 0; x < grey.width; ++x) sum += grey.row(y)[x];
  }
  const int64_t count = std::max<int64_t>(1, grey.height * grey.width);
  return static_cast<int>(static_cast<double>(sum) / static_cast<double>(count) + 0.5);
}

Image shift_hue(const ImageView& image, int shift, Style style) {
  require_rgb(image, "hue");
  Image out(image.height, image.width, 3);
  const Cv2Tables& tables = cv2_tables();
  for (int64_t y = 0; y < image.height; ++y) {
    const uint8_t* in = image.row(y);
    uint8_t* into = out.row(y);
    for (int64_t x = 0; x < image.width; ++x, in += 3, into += 3) {
      const bool pil = style == Style::kPil;
      Hsv hsv = pil ? pil_hsv(in[0], in[1], in[2]) : cv2_hsv(tables, in[2], in[1], in[0]);
      hsv.h = (hsv.h + shift) & 255;
      pil ? pil_rgb(hsv, into) : cv2_bgr(hsv, into);
    }
  }
  return out;
}

}  // namespace flotilla::data
