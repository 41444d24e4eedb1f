// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace tessera::ann {

/// Sets the threads of OpenMP, and of OpenBLAS where FAISS was linked with it, for its lifetime. 0: the cores the process may
/// use. OpenMP's setting is the calling thread's own; OpenBLAS's is the process's.
class ThreadCount {
 public:
  explicit ThreadCount(int threads);
  ~ThreadCount();
  ThreadCount(const ThreadCount&) = delete;
  ThreadCount& operator=(const ThreadCount&) = delete;

 private:
  int openmp_before_;
  int blas_before_ = 0;
};

}  // namespace tessera::ann
