// flotilla/update/betas.h
//
// What the rules after Kingma and Ba (2015) keep of their moments after a step, by default.

#pragma once

namespace flotilla::update {

template <typename T>
inline constexpr T kBeta1 = static_cast<T>(0.9);
template <typename T>
inline constexpr T kBeta2 = static_cast<T>(0.999);

}  // namespace flotilla::update
