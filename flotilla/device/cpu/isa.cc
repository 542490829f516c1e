#include "flotilla/device/cpu/isa.h"

#include <algorithm>
#include <string>
#include <vector>

#include "flotilla/base/env.h"
#include "flotilla/base/error.h"

#ifdef __x86_64__
#include <cpuid.h>
#include <setjmp.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>
#endif

namespace flotilla {
namespace {

#ifdef __x86_64__

thread_local sigjmp_buf* trying = nullptr;

void on_illegal_instruction(int signal_number) {
  if (trying != nullptr) siglongjmp(*trying, 1);
  // Not ours: another thread met an illegal instruction in this very moment.
  signal(signal_number, SIG_DFL);
  raise(signal_number);
}

// True where `instruction` runs through.
bool runs(void (*instruction)()) {
  struct sigaction ours = {}, before = {};
  ours.sa_handler = on_illegal_instruction;
  if (sigaction(SIGILL, &ours, &before) != 0) return false;
  sigjmp_buf back;
  volatile bool ok = false;
  if (sigsetjmp(back, 1) == 0) {
    trying = &back;
    instruction();
    ok = true;
  }
  trying = nullptr;
  sigaction(SIGILL, &before, nullptr);
  return ok;
}

void try_avx2() { asm volatile("vpaddd %%ymm0, %%ymm0, %%ymm0; vzeroupper" ::: "xmm0"); }

void try_avx512() {
  asm volatile(
      "vaddps %%zmm0, %%zmm0, %%zmm0; vpaddb %%zmm0, %%zmm0, %%zmm0;"
      "vandps %%zmm0, %%zmm0, %%zmm0; vpaddd %%ymm16, %%ymm16, %%ymm16; vzeroupper" ::
          : "xmm0");
}

void try_bf16() { asm volatile("vdpbf16ps %%zmm0, %%zmm0, %%zmm0; vzeroupper" ::: "xmm0"); }

void try_tiles() { asm volatile("tilerelease"); }

bool amx_works() {
  constexpr unsigned kTileAndBf16 = 1u << 24 | 1u << 22;
  unsigned a = 0, b = 0, c = 0, d = 0;
  if (!__get_cpuid_count(7, 0, &a, &b, &c, &d) || (d & kTileAndBf16) != kTileAndBf16) return false;
  // Leaf 1Dh describes the tiles. Where a virtual machine leaves it zero, the instructions work,
  // but oneDNN computes tile sizes of zero and dies.
  if (!__get_cpuid_count(0x1d, 0, &a, &b, &c, &d) || a == 0) return false;
  if (!__get_cpuid_count(0x1d, 1, &a, &b, &c, &d) || a == 0 || b == 0) return false;
  // Linux wants to be asked before a process may use the large registers.
  constexpr long kRequestPermission = 0x1023, kTileData = 18;
  return syscall(SYS_arch_prctl, kRequestPermission, kTileData) == 0 && runs(try_tiles);
}

Isa probe() {
  __builtin_cpu_init();
  if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("fma") || !runs(try_avx2)) {
    return Isa::kSse41;
  }
  const bool avx512 = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                      __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
  if (!avx512 || !runs(try_avx512)) return Isa::kAvx2;
  if (!__builtin_cpu_supports("avx512bf16") || !runs(try_bf16)) return Isa::kAvx512;
  return amx_works() ? Isa::kAmx : Isa::kAvx512Bf16;
}

#else

Isa probe() { return Isa::kSse41; }

#endif

Isa most_allowed() {
  const std::string text = env::text_or("FLT_MAX_ISA", name_of(Isa::kAmx));
  for (const Isa isa : {Isa::kSse41, Isa::kAvx2, Isa::kAvx512, Isa::kAvx512Bf16, Isa::kAmx}) {
    if (text == name_of(isa)) return isa;
  }
  refuse("FLT_MAX_ISA must be sse41, avx2, avx512, avx512_bf16 or amx, but is \"{}\"", text);
}

}  // namespace

Isa isa() {
  static const Isa found = std::min(probe(), most_allowed());
  return found;
}

std::string_view name_of(Isa isa) {
  switch (isa) {
    case Isa::kSse41:
      return "sse41";
    case Isa::kAvx2:
      return "avx2";
    case Isa::kAvx512:
      return "avx512";
    case Isa::kAvx512Bf16:
      return "avx512_bf16";
    default:
      return "amx";
  }
}

}  // namespace flotilla
