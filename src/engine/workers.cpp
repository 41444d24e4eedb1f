// SPDX-License-Identifier: Apache-2.0
#include "engine/workers.hpp"

#include "support/config.hpp"
#include "support/cpu.hpp"
#include "support/fail.hpp"
#include "support/float_env.hpp"

#if TESSERA_HAVE_TBB
#include <optional>

#include <tbb/global_control.h>
#include <tbb/parallel_for.h>
#include <tbb/task_arena.h>
#else
#include <atomic>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>
#endif

namespace tessera::engine {
namespace {

using Body = std::function<void(Index, int)>;

#if TESSERA_HAVE_TBB

class TbbExecutor final : public core::Executor {
 public:
  explicit TbbExecutor(int threads) : threads_(threads), arena_(threads) {
    if (threads > support::usable_cores()) more_than_cores_.emplace(Control::max_allowed_parallelism, static_cast<std::size_t>(threads));
  }
  int threads() const noexcept override { return threads_; }

  void run(Index tasks, const Body& body) override {
    arena_.execute([&] {
      tbb::parallel_for(
          tbb::blocked_range<Index>(0, tasks, 1),
          [&](const tbb::blocked_range<Index>& range) {
            const support::StrictFloatEnv strict;
            for (Index t = range.begin(); t < range.end(); ++t) body(t, tbb::this_task_arena::current_thread_index());
          },
          tbb::simple_partitioner{});
    });
  }

 private:
  using Control = tbb::global_control;

  int threads_;
  std::optional<Control> more_than_cores_;  // TBB would refuse them otherwise, and say so on stderr
  tbb::task_arena arena_;
};
using DefaultExecutor = TbbExecutor;

#else

/// Threads are started per call: calls are long, and a pool would be one more thing to shut down.
class ThreadExecutor final : public core::Executor {
 public:
  explicit ThreadExecutor(int threads) : threads_(threads) {}
  int threads() const noexcept override { return threads_; }

  void run(Index tasks, const Body& body) override {
    std::atomic<Index> next{0};
    std::exception_ptr first_error;
    std::mutex mutex;
    auto work = [&](int worker) {
      const support::StrictFloatEnv strict;
      try {
        for (Index t = next.fetch_add(1); t < tasks; t = next.fetch_add(1)) body(t, worker);
      } catch (...) {
        next.store(tasks);
        const std::lock_guard lock(mutex);
        if (!first_error) first_error = std::current_exception();
      }
    };
    {
      std::vector<std::jthread> others;
      for (int w = 1; w < threads_ && w < tasks; ++w) others.emplace_back(work, w);
      work(0);
    }
    if (first_error) std::rethrow_exception(first_error);
  }

 private:
  int threads_;
};
using DefaultExecutor = ThreadExecutor;

#endif

}  // namespace

std::unique_ptr<core::Executor> make_executor(int threads) {
  if (threads < 0) support::fail(ErrorCode::invalid_argument, "threads is {}: wanted 0 (all usable cores) or more", threads);
  return std::make_unique<DefaultExecutor>(threads == 0 ? support::usable_cores() : threads);
}

}  // namespace tessera::engine
