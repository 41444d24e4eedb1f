// SPDX-License-Identifier: Apache-2.0
#include "ann/threads.hpp"

#include <dlfcn.h>
#include <omp.h>

#include "support/cpu.hpp"

namespace tessera::ann {
namespace {

using Set = void (*)(int);
using Get = int (*)();

// Looked up, not linked: any BLAS may stand behind FAISS, and only OpenBLAS has these.
Set blas_set() { return reinterpret_cast<Set>(dlsym(RTLD_DEFAULT, "openblas_set_num_threads")); }
Get blas_get() { return reinterpret_cast<Get>(dlsym(RTLD_DEFAULT, "openblas_get_num_threads")); }

}  // namespace

ThreadCount::ThreadCount(int threads) : openmp_before_(omp_get_max_threads()) {
  const int count = threads > 0 ? threads : support::usable_cores();
  omp_set_num_threads(count);
  if (blas_set() == nullptr || blas_get() == nullptr) return;
  blas_before_ = blas_get()();
  blas_set()(count);
}

ThreadCount::~ThreadCount() {
  omp_set_num_threads(openmp_before_);
  if (blas_before_ > 0) blas_set()(blas_before_);
}

}  // namespace tessera::ann
