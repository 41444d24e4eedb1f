// SPDX-License-Identifier: Apache-2.0
#include "engine/cuda_backend.hpp"

#include <string>

#include "engine/cuda_topk.hpp"
#include "prepare/special_rows.hpp"
#include "support/fail.hpp"

namespace tessera::engine {
namespace {

/// The host's kernels, with panels as wide as the device's.
kernels::CpuKernels for_panels(kernels::CpuKernels kernels) noexcept {
  kernels.panel_cols = cuda::kPanel;
  kernels.panel_rows = cuda::kPanel;
  return kernels;
}

class CudaPreparedBase final : public core::PreparedBaseBackend {
 public:
  CudaPreparedBase(std::shared_ptr<LanePool> lanes, const kernels::CpuKernels& kernels, const CudaSettings& settings, const core::BaseProblem& problem,
                   const core::BasePlan& plan, core::Executor& executor)
      : lanes_(std::move(lanes)), kernels_(kernels), settings_(settings), problem_(problem), plan_(plan), traits_(metrics::traits_of(problem.metric.metric)) {
    const prepare::RowReader reader(kernels_, problem.base, traits_.unit_rows);
    special_ = prepare::find_special_rows(reader, problem_.nan, "base", executor, prepare::largest_value(nullptr));
    prepare::deny(special_, problem_.denied);
    if (plan.screen == Screen::double_precision) return;
    narrowing_ = std::make_unique<prepare::Narrowing>(prepare::choose_narrowing(reader, traits_, plan.screen, problem.bound_inflation));
  }

  std::unique_ptr<core::PreparedSegment> segment(core::Range rows, core::Executor& executor) override {
    const prepare::RowReader reader(kernels_, slice(problem_.base, rows.first, rows.last), traits_.unit_rows);
    auto panels = prepare::pack_panels(reader, prepare::special_within(special_, rows), narrowing_.get(), plan_.tile_cols, plan_.pruned, executor);
    return upload_segment(lanes_->device(), reader, std::move(panels), executor);
  }

  std::unique_ptr<core::TopkWorker> worker(const core::PreparedSegment& segment, const core::QueryProblem& queries,
                                           const core::QueryPlan& plan) const override {
    return make_cuda_topk_worker({.lanes = *lanes_,
                                  .kernels = kernels_,
                                  .traits = traits_,
                                  .narrowing = narrowing_.get(),
                                  .segment = static_cast<const CudaSegment&>(segment),
                                  .base = problem_.base,
                                  .denied = problem_.denied,
                                  .queries = queries,
                                  .tile_rows = plan.tile_rows,
                                  .hits = settings_.hits});
  }

 private:
  std::shared_ptr<LanePool> lanes_;
  kernels::CpuKernels kernels_;
  CudaSettings settings_;
  core::BaseProblem problem_;
  core::BasePlan plan_;
  const metrics::MetricTraits& traits_;
  core::SpecialRows special_;  // of the whole base
  std::unique_ptr<prepare::Narrowing> narrowing_;  // null: double screen
};

class CudaBackend final : public core::Backend {
 public:
  CudaBackend(std::shared_ptr<cuda::Device> device, const kernels::CpuKernels& kernels, const CudaSettings& settings)
      : properties_(device->properties()), lanes_(std::make_shared<LanePool>(std::move(device), settings.lanes)), kernels_(for_panels(kernels)), settings_(settings) {}

  std::string name() const override { return "cuda"; }
  std::string isa() const override { return "sm_" + std::to_string(properties_.arch); }
  core::DeviceInfo device() const override {
    return {.threads = settings_.lanes,
            .l2_bytes = static_cast<std::int64_t>(properties_.l2_bytes),
            .panel_rows = cuda::kPanel,
            .panel_cols = cuda::kPanel,
            .most_tile_rows = kMostTileRows,
            .most_tile_cols = kMostTileCols,
            .memory = properties_.memory_free - properties_.memory_free / 16,  // the driver takes some for itself
            .row_bytes = cuda_row_bytes};
  }

  std::unique_ptr<core::PreparedBaseBackend> prepare(const core::BaseProblem& problem, const core::BasePlan& plan, core::Executor& executor) override {
    const auto& traits = metrics::traits_of(problem.metric.metric);
    if (!cuda_searches(traits)) {
      support::fail(ErrorCode::unsupported, "the CUDA backend has no kernels for neighbours under {}: use --backend cpu or auto", name_of(traits.metric));
    }
    return std::make_unique<CudaPreparedBase>(lanes_, kernels_, settings_, problem, plan, executor);
  }

  std::unique_ptr<core::PreparedValues> prepare_values(const core::ValuesProblem& problem) override {
    support::fail(ErrorCode::unsupported, "the CUDA backend has no kernels for full matrices of {}: use --backend cpu or auto", name_of(problem.metric.metric));
  }

 private:
  // Large enough that a launch keeps every multiprocessor busy for many tiles; small enough that thresholds do not grow stale, and that
  // there are several blocks of queries to overlap. To be measured on a device.
  static constexpr Index kMostTileRows = 8192;
  static constexpr Index kMostTileCols = 32768;

  cuda::DeviceProperties properties_;
  std::shared_ptr<LanePool> lanes_;
  kernels::CpuKernels kernels_;
  CudaSettings settings_;
};

}  // namespace

bool cuda_searches(const metrics::MetricTraits& traits) noexcept { return !traits.distributions && !traits.nearest_image; }

std::unique_ptr<core::Backend> make_cuda_backend(std::shared_ptr<cuda::Device> device, const kernels::CpuKernels& kernels, const CudaSettings& settings) {
  return std::make_unique<CudaBackend>(std::move(device), kernels, settings);
}

}  // namespace tessera::engine
