// SPDX-License-Identifier: Apache-2.0
// The shim itself: it runs what is right, whatever the order, and refuses what a GPU does not define.
#include "simt/shim.hpp"

#include <gtest/gtest.h>

#include <vector>

#include "kernels/cuda/simt.hpp"

namespace tessera::simt_shim {
namespace {

namespace simt = cuda::simt;

/// Runs `kernel`, a function of one pointer, over `threads` threads.
void run(void (*kernel)(void*), void* data, unsigned threads = 64, std::size_t shared_bytes = 1024) {
  struct Call {
    void (*kernel)(void*);
    void* data;
  };
  const Call call{kernel, data};
  run_grid({.grid_x = 2, .grid_y = 1, .threads = threads, .shared_bytes = shared_bytes},
           [](const void* params) {
             const Call& c = *static_cast<const Call*>(params);
             c.kernel(c.data);
           },
           &call);
}

std::string error_of(void (*kernel)(void*), unsigned threads = 64) {
  try {
    std::vector<unsigned> data(1024);
    run(kernel, data.data(), threads);
  } catch (const SimtError& error) {
    return error.what();
  }
  return "";
}

void reverse(void* data) {
  auto* shared = reinterpret_cast<unsigned*>(simt::shared_memory());
  auto* out = static_cast<unsigned*>(data);
  shared[simt::thread()] = simt::thread();
  simt::sync();
  out[simt::block_x() * simt::threads() + simt::thread()] = shared[simt::threads() - 1 - simt::thread()];
}

TEST(Shim, ExchangesThroughSharedMemoryBehindABarrier) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    configure({.seed = seed});
    std::vector<unsigned> out(128);
    run(reverse, out.data());
    for (unsigned i = 0; i < 128; ++i) ASSERT_EQ(out[i], 63 - i % 64) << "seed " << seed;
  }
}

TEST(Shim, ShowsThatABarrierIsMissing) {
  std::vector<unsigned> out(128);
  take_reached();
  run(reverse, out.data());
  const Reached reached = take_reached();
  ASSERT_EQ(reached.barriers.size(), 1u);
  configure({.seed = 3, .faults = {.barrier = *reached.barriers.begin()}});
  run(reverse, out.data());
  configure({});
  bool right = true;
  for (unsigned i = 0; i < 128; ++i) right = right && out[i] == 63 - i % 64;
  EXPECT_FALSE(right);
}

TEST(Shim, RefusesABarrierThatAThreadHasLeft) {
  EXPECT_NE(error_of([](void*) {
              if (simt::thread() == 5) return;
              simt::sync();
            }).find("barrier"),
            std::string::npos);
}

void split_over_barriers(void*) {
  if (simt::thread() < 32) {
    simt::sync();
  } else {
    simt::sync();
  }
}

TEST(Shim, RefusesThreadsAtDifferentBarriers) { EXPECT_NE(error_of(split_over_barriers).find("different barriers"), std::string::npos); }

TEST(Shim, RefusesAMaskThatLeavesOutTheCaller) {
  EXPECT_NE(error_of([](void*) { simt::ballot(0xfffffffeu, true); }).find("leaves out the lane"), std::string::npos);
}

TEST(Shim, RefusesAMaskWhoseLanesDoNotCome) {
  EXPECT_NE(error_of([](void*) {
              if (simt::lane() < 16) simt::ballot(simt::kAllLanes, true);
            }),
            "");
}

TEST(Shim, RefusesLanesThatTheBlockDoesNotHave) {
  EXPECT_NE(error_of([](void*) { simt::ballot(simt::kAllLanes, true); }, 16).find("does not have"), std::string::npos);
}

TEST(Shim, RefusesToReadALaneOutsideTheMask) {
  EXPECT_NE(error_of([](void*) {
              if (simt::lane() < 16) simt::shuffle(0xffffu, 1u, simt::lane() + 16);
            }).find("outside of its mask"),
            std::string::npos);
}

TEST(Shim, HalvesOfAWarpExchangeApart) {
  std::vector<unsigned> out(128);
  run(
      [](void* data) {
        const unsigned mask = 0xffffu << (simt::lane() & 16u);
        unsigned sum = simt::thread();
        for (unsigned w = 8; w > 0; w /= 2) sum += simt::shuffle_xor(mask, sum, w);
        static_cast<unsigned*>(data)[simt::block_x() * 64 + simt::thread()] = sum;
      },
      out.data());
  for (unsigned i = 0; i < 128; ++i) EXPECT_EQ(out[i], 16 * (i % 64 / 16 * 16) + 120);
}

TEST(Shim, VotesAndOrsAreTheWarpsAndTheBlocks) {
  std::vector<unsigned> out(256);
  run(
      [](void* data) {
        auto* at = static_cast<unsigned*>(data) + 2 * (simt::block_x() * 64 + simt::thread());
        at[0] = simt::ballot(simt::kAllLanes, simt::lane() % 3 == 0);
        at[1] = simt::sync_or(simt::thread() == 40 && simt::block_x() == 1) ? 1 : 0;
      },
      out.data());
  for (unsigned i = 0; i < 128; ++i) {
    EXPECT_EQ(out[2 * i], 0x49249249u);
    EXPECT_EQ(out[2 * i + 1], i / 64);
  }
}

TEST(Shim, AtomicsCountEveryThreadInSomeOrder) {
  std::vector<std::vector<unsigned>> orders;
  for (std::uint64_t seed = 1; seed <= 3; ++seed) {
    configure({.seed = seed});
    std::vector<unsigned> data(130);
    run(
        [](void* memory) {
          auto* at = static_cast<unsigned*>(memory);
          at[2 + simt::atomic_add(at, 1)] = simt::thread();
        },
        data.data());
    EXPECT_EQ(data[0], 128u);
    orders.push_back(data);
  }
  EXPECT_NE(orders[0], orders[1]);
}

void copy_through(void* data) {
  auto* words = reinterpret_cast<simt::Float4*>(simt::shared_memory());
  auto* out = static_cast<simt::Float4*>(data);
  simt::copy_async16(words + simt::thread(), out + simt::thread());
  simt::commit_async();
  simt::wait_async<0>();
  simt::sync();
  out[64 + simt::block_x() * 64 + simt::thread()] = words[63 - simt::thread()];
}

TEST(Shim, CopiesArriveWhenTheyAreWaitedForAndNotBefore) {
  std::vector<float> data(4 * 192);
  for (std::size_t i = 0; i < data.size(); ++i) data[i] = static_cast<float>(i);
  configure({});
  run(copy_through, data.data());
  for (std::size_t i = 0; i < 64; ++i) ASSERT_EQ(data[4 * (64 + i)], static_cast<float>(4 * (63 - i)));
  configure({.seed = 1, .faults = {.arrival = "anywhere"}});
  run(copy_through, data.data());
  configure({});
  for (std::size_t i = 0; i < 64; ++i) EXPECT_NE(data[4 * (64 + i)], static_cast<float>(4 * (63 - i)));
}

}  // namespace
}  // namespace tessera::simt_shim
