// SPDX-License-Identifier: Apache-2.0
#include "engine/registry.hpp"

#include <algorithm>
#include <cstdlib>

#include "engine/cpu_backend.hpp"
#include "engine/cuda_backend.hpp"
#include "kernels/cuda/runtime.hpp"
#include "support/cpu.hpp"
#include "support/fail.hpp"

namespace tessera::engine {
namespace {

struct IsaRow {
  const char* name;
  const kernels::CpuKernels& (*table)() noexcept;
};

constexpr IsaRow kIsas[] = {
#define TESSERA_ISA(isa) {#isa, &kernels::isa::table},
#include "kernels/isas.def"
#undef TESSERA_ISA
};

bool usable(std::string_view isa) {
  const support::CpuFeatures cpu = support::cpu_features();
  if (isa == "avx2") return cpu.avx2_fma_f16c;
  if (isa == "avx512") return cpu.avx512;
  if (isa == "avx512_vnni") return cpu.avx512 && cpu.vnni;
  if (isa == "avx512_bf16") return cpu.avx512 && cpu.vnni && cpu.bf16;
  return true;
}

std::string joined(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& w : words) text += (text.empty() ? "" : ", ") + w;
  return text;
}

}  // namespace

std::vector<std::string> isas_built() {
  std::vector<std::string> names;
  for (const IsaRow& row : kIsas) names.emplace_back(row.name);
  return names;
}

std::vector<std::string> isas_usable() {
  std::vector<std::string> names = isas_built();
  std::erase_if(names, [](const std::string& name) { return !usable(name); });
  return names;
}

const kernels::CpuKernels& select_kernels() {
  const char* forced = std::getenv("TESSERA_FORCE_ISA");
  const std::string wanted = forced != nullptr && *forced != '\0' ? forced : isas_usable().back();
  for (const IsaRow& row : kIsas) {
    if (wanted != row.name) continue;
    if (!usable(wanted)) {
      support::fail(ErrorCode::unsupported, "TESSERA_FORCE_ISA is '{}', which this CPU cannot run: use one of {}", wanted, joined(isas_usable()));
    }
    return row.table();
  }
  support::fail(ErrorCode::invalid_argument, "TESSERA_FORCE_ISA is '{}': wanted one of {}", wanted, joined(isas_built()));
}

std::unique_ptr<core::Backend> make_backend(BackendKind kind, int threads) {
  if (kind == BackendKind::cuda) return make_cuda_backend(cuda::open_device(), select_kernels());
  return make_cpu_backend(select_kernels(), threads);
}

}  // namespace tessera::engine
