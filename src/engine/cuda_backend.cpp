// SPDX-License-Identifier: Apache-2.0
#include "engine/cuda_backend.hpp"

#include <string>

#include "engine/cuda_tensor.hpp"
#include "engine/cuda_topk.hpp"
#include "prepare/int8_pays.hpp"
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
  CudaPreparedBase(const cuda::DeviceProperties& properties, std::shared_ptr<LanePool> lanes, const kernels::CpuKernels& kernels, const CudaSettings& settings, const core::BaseProblem& problem,
                   const core::BasePlan& plan, core::Executor& executor)
      : properties_(properties), lanes_(std::move(lanes)), kernels_(kernels), settings_(settings), problem_(problem), plan_(plan), traits_(metrics::traits_of(problem.metric.metric)) {
    const prepare::RowReader reader(kernels_, problem.base, traits_.unit_rows);
    special_ = prepare::find_special_rows(reader, problem_.nan, "base", executor, prepare::largest_value(nullptr));
    prepare::deny(special_, problem_.denied);
    if (plan.screen == Screen::double_precision) return;
    if (on_tensor_cores()) {
      const auto type = plan.screen == Screen::int8 ? prepare::TensorType::int8 : prepare::TensorType::bf16;
      narrowing_ = std::make_unique<prepare::Narrowing>(
          prepare::choose_tensor_narrowing(reader, traits_, type, cuda::find_tensor_arch(properties_.arch), problem.bound_inflation));
    } else {
      narrowing_ = std::make_unique<prepare::Narrowing>(prepare::choose_narrowing(reader, traits_, plan.screen, problem.bound_inflation));
    }
  }

  std::unique_ptr<core::PreparedSegment> segment(core::Range rows, core::Executor& executor) override {
    const prepare::RowReader reader(kernels_, slice(problem_.base, rows.first, rows.last), traits_.unit_rows);
    // Tensor cores have panels of their own: of the host's, only positions are left.
    auto panels = prepare::pack_panels(reader, prepare::special_within(special_, rows), on_tensor_cores() ? nullptr : narrowing_.get(), plan_.tile_cols, plan_.pruned, executor);
    auto tensor = on_tensor_cores() ? upload_tensor_base(lanes_->device(), reader, *narrowing_, *panels, executor) : nullptr;
    auto segment = upload_segment(lanes_->device(), reader, std::move(panels), executor);
    segment->tensor = std::move(tensor);
    return segment;
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
                                  .hits = settings_.hits,
                                  .multiprocessors = properties_.multiprocessors});
  }

 private:
  bool on_tensor_cores() const noexcept { return plan_.screen == Screen::int8 || plan_.screen == Screen::bf16; }

  cuda::DeviceProperties properties_;
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
            .has_int8 = true,
            .has_bf16 = cuda::find_tensor_arch(properties_.arch) != nullptr,
            .most_tile_rows = kMostTileRows,
            .most_tile_cols = kMostTileCols,
            .memory = properties_.memory_free - properties_.memory_free / 16,  // the driver takes some for itself
            .row_bytes = cuda_row_bytes};
  }

  /// Tensor cores, where there are enough columns for their products to be most of the work: bf16 dismisses nearly as well as float32, and
  /// 8 bits at twice its rate are for architectures whose bf16 sums are not known. To be measured on a device.
  Screen advise_screen(const core::BaseProblem& problem, const RowSet* queries, Index k) const override {
    const auto& traits = metrics::traits_of(problem.metric.metric);
    const Index d = problem.base.cols;
    if (!traits.has_dot || d < kTensorFrom || d > prepare::kLargestTensorCols) return Screen::automatic;
    if (cuda::find_tensor_arch(properties_.arch) != nullptr) return Screen::bf16;
    const prepare::RowReader base(kernels_, problem.base, traits.unit_rows);
    const prepare::RowReader asked(kernels_, queries != nullptr ? *queries : problem.base, traits.unit_rows);
    return prepare::int8_pays(base, queries != nullptr ? &asked : nullptr, k, traits) ? Screen::int8 : Screen::automatic;
  }

  std::unique_ptr<core::PreparedBaseBackend> prepare(const core::BaseProblem& problem, const core::BasePlan& plan, core::Executor& executor) override {
    const auto& traits = metrics::traits_of(problem.metric.metric);
    if (!cuda_searches(traits)) {
      support::fail(ErrorCode::unsupported, "the CUDA backend has no kernels for neighbours under {}: use --backend cpu or auto", name_of(traits.metric));
    }
    return std::make_unique<CudaPreparedBase>(properties_, lanes_, kernels_, settings_, problem, plan, executor);
  }

  std::unique_ptr<core::PreparedValues> prepare_values(const core::ValuesProblem& problem) override {
    support::fail(ErrorCode::unsupported, "the CUDA backend has no kernels for full matrices of {}: use --backend cpu or auto", name_of(problem.metric.metric));
  }

 private:
  // Large enough that a launch keeps every multiprocessor busy for many tiles; small enough that thresholds do not grow stale, and that
  // there are several blocks of queries to overlap. To be measured on a device.
  static constexpr Index kTensorFrom = 32;  // a chunk of bf16; predicted in docs/performance.md
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
