// flotilla/device/cpu/isa.h
//
// What this CPU can really do. cpuid alone is not believed: some virtual machines report what then
// dies of SIGILL, so one instruction of each set is tried.

#pragma once

#include <string_view>

namespace flotilla {

// From the poorest to the richest; each holds all before it.
enum class Isa {
  kSse41,
  kAvx2,
  kAvx512,      // the f, bw, dq and vl parts together
  kAvx512Bf16,  // with dot products of bfloat16
  kAmx,         // with tiles that both work and are described by cpuid, as oneDNN needs it
};

// What to use: what there is, at most FLT_MAX_ISA. Tried out at the first call; thread safe.
Isa isa();

// Holds oneDNN to isa(). Making a primitive does it too; called early, a wrong FLT_MAX_ISA is
// refused before any work is done. Thread safe.
void init_isa();

// "sse41", "avx2", "avx512", "avx512_bf16", "amx".
std::string_view name_of(Isa isa);

}  // namespace flotilla
