// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Lutra_DeviceModel.hpp"

#include "Lutra_OptionFields.hpp"

namespace lutra {
namespace Impl {
namespace {

template <class Pointer>
constexpr OptionField<Pointer> field(std::string_view name, Pointer member) {
  return {name, member};
}

}  // namespace

template <>
inline constexpr auto fields_of<TrisolveCosts> =
    std::tuple(field("start_seconds", &TrisolveCosts::start_seconds),
               field("contention_start_seconds", &TrisolveCosts::contention_start_seconds),
               field("contention_levels", &TrisolveCosts::contention_levels),
               field("contention_free_rows", &TrisolveCosts::contention_free_rows),
               field("contention_row_seconds", &TrisolveCosts::contention_row_seconds),
               field("dependency_seconds", &TrisolveCosts::dependency_seconds),
               field("dependency_growth_seconds", &TrisolveCosts::dependency_growth_seconds),
               field("block_dependency_seconds", &TrisolveCosts::block_dependency_seconds),
               field("block_step_seconds", &TrisolveCosts::block_step_seconds),
               field("wide_block_seconds", &TrisolveCosts::wide_block_seconds),
               field("concurrent_wide_blocks", &TrisolveCosts::concurrent_wide_blocks),
               field("barrier_seconds", &TrisolveCosts::barrier_seconds),
               field("team_bandwidth", &TrisolveCosts::team_bandwidth),
               field("level_launch_seconds", &TrisolveCosts::level_launch_seconds),
               field("bandwidth", &TrisolveCosts::bandwidth));

template <>
inline constexpr auto fields_of<LevelSetCosts> = std::tuple(
    field("barrier_seconds", &LevelSetCosts::barrier_seconds),
    field("team_bandwidth", &LevelSetCosts::team_bandwidth),
    field("launch_seconds", &LevelSetCosts::launch_seconds), field("bandwidth", &LevelSetCosts::bandwidth),
    field("start_seconds", &LevelSetCosts::start_seconds),
    field("step_seconds", &LevelSetCosts::step_seconds));

template <>
inline constexpr auto fields_of<FrontSolveCosts> =
    std::tuple(field("start", &FrontSolveCosts::start), field("pivot", &FrontSolveCosts::pivot),
               field("pivot_tile", &FrontSolveCosts::pivot_tile), field("tile", &FrontSolveCosts::tile));

template <>
inline constexpr auto fields_of<DistributedCosts> =
    std::tuple(field("start_seconds", &DistributedCosts::start_seconds),
               field("dependency_seconds", &DistributedCosts::dependency_seconds),
               field("bandwidth", &DistributedCosts::bandwidth),
               field("min_block_bandwidth", &DistributedCosts::min_block_bandwidth),
               field("max_block_bandwidth", &DistributedCosts::max_block_bandwidth),
               field("latency_seconds", &DistributedCosts::latency_seconds),
               field("link_bandwidth", &DistributedCosts::link_bandwidth),
               field("row_seconds", &DistributedCosts::row_seconds));

template <>
inline constexpr auto fields_of<TrisolveDeviceModel> = std::tuple(
    field("methods", &TrisolveDeviceModel::methods), field("level_sets", &TrisolveDeviceModel::level_sets),
    field("portable_level_sets", &TrisolveDeviceModel::portable_level_sets),
    field("fronts", &TrisolveDeviceModel::fronts), field("distributed", &TrisolveDeviceModel::distributed));

template <>
inline constexpr auto fields_of<StageCosts> = std::tuple(
    field("start_seconds", &StageCosts::start_seconds), field("row_seconds", &StageCosts::row_seconds),
    field("edge_seconds", &StageCosts::edge_seconds), field("entry_seconds", &StageCosts::entry_seconds),
    field("flop_seconds", &StageCosts::flop_seconds), field("step_seconds", &StageCosts::step_seconds),
    field("supernode_seconds", &StageCosts::supernode_seconds));

template <>
inline constexpr auto fields_of<EngineCosts> = std::tuple(field("analysis", &EngineCosts::analysis),
                                                          field("factorization", &EngineCosts::factorization),
                                                          field("solve", &EngineCosts::solve));

template <>
inline constexpr auto fields_of<OrderingCosts> = std::tuple(
    field("amd", &OrderingCosts::amd), field("amd_visit_seconds", &OrderingCosts::amd_visit_seconds),
    field("dissection", &OrderingCosts::dissection),
    field("dissection_serial_share", &OrderingCosts::dissection_serial_share),
    field("factorization_serial_share", &OrderingCosts::factorization_serial_share),
    field("multifrontal", &OrderingCosts::multifrontal), field("simplicial", &OrderingCosts::simplicial),
    field("saved_share", &OrderingCosts::saved_share),
    field("saved_from_flops_per_row", &OrderingCosts::saved_from_flops_per_row),
    field("max_saved_share", &OrderingCosts::max_saved_share),
    field("saved_height_share", &OrderingCosts::saved_height_share),
    field("device_start_seconds", &OrderingCosts::device_start_seconds));

template <>
inline constexpr auto fields_of<FrontTaskModel> = std::tuple(
    field("start", &FrontTaskModel::start), field("pivot", &FrontTaskModel::pivot),
    field("child", &FrontTaskModel::child), field("step", &FrontTaskModel::step),
    field("product", &FrontTaskModel::product), field("steps_together", &FrontTaskModel::steps_together),
    field("min_linked_tiles", &FrontTaskModel::min_linked_tiles),
    field("min_swept_tiles", &FrontTaskModel::min_swept_tiles),
    field("blocks_a_sweep", &FrontTaskModel::blocks_a_sweep),
    field("min_paired_tiles", &FrontTaskModel::min_paired_tiles),
    field("min_paired_root_tiles", &FrontTaskModel::min_paired_root_tiles),
    field("single_edge", &FrontTaskModel::single_edge),
    field("single_contribution_rows", &FrontTaskModel::single_contribution_rows),
    field("cleared_entries", &FrontTaskModel::cleared_entries));

template <>
inline constexpr auto fields_of<NumericDeviceModel> =
    std::tuple(field("tasks", &NumericDeviceModel::tasks),
               field("min_flops_per_entry", &NumericDeviceModel::min_flops_per_entry));

template <>
inline constexpr auto fields_of<SymbolicCosts> =
    std::tuple(field("fill1_row_seconds", &SymbolicCosts::fill1_row_seconds),
               field("fill1_entry_seconds", &SymbolicCosts::fill1_entry_seconds),
               field("fill2_row_seconds", &SymbolicCosts::fill2_row_seconds),
               field("fill2_edge_seconds", &SymbolicCosts::fill2_edge_seconds),
               field("ancestors_start_seconds", &SymbolicCosts::ancestors_start_seconds),
               field("ancestors_step_seconds", &SymbolicCosts::ancestors_step_seconds),
               field("ancestors_word_seconds", &SymbolicCosts::ancestors_word_seconds),
               field("max_set_bytes", &SymbolicCosts::max_set_bytes));

template <>
inline constexpr auto fields_of<SymmetricCosts> = std::tuple(field("cholesky", &SymmetricCosts::cholesky),
                                                             field("ldlt", &SymmetricCosts::ldlt),
                                                             field("ldlt_zero_diagonals",
                                                                   &SymmetricCosts::ldlt_zero_diagonals));

template <>
inline constexpr auto fields_of<IluCosts> =
    std::tuple(field("level_seconds", &IluCosts::level_seconds),
               field("syncfree_start_seconds", &IluCosts::syncfree_start_seconds),
               field("dependency_seconds", &IluCosts::dependency_seconds),
               field("min_level_rows", &IluCosts::min_level_rows),
               field("max_jacobi_share", &IluCosts::max_jacobi_share),
               field("max_jacobi_difference", &IluCosts::max_jacobi_difference));

template <>
inline constexpr auto fields_of<AuctionCosts> = std::tuple(
    field("exact_row_seconds", &AuctionCosts::exact_row_seconds),
    field("exact_entry_seconds", &AuctionCosts::exact_entry_seconds),
    field("start_seconds", &AuctionCosts::start_seconds), field("row_seconds", &AuctionCosts::row_seconds),
    field("entry_seconds", &AuctionCosts::entry_seconds),
    field("round_seconds", &AuctionCosts::round_seconds));

template <>
inline constexpr auto fields_of<DeviceModel> = std::tuple(field("trisolve", &DeviceModel::trisolve),
                                                          field("ordering", &DeviceModel::ordering),
                                                          field("numeric", &DeviceModel::numeric),
                                                          field("symmetric", &DeviceModel::symmetric),
                                                          field("symbolic", &DeviceModel::symbolic),
                                                          field("ilu", &DeviceModel::ilu),
                                                          field("auction", &DeviceModel::auction));

}  // namespace Impl

std::vector<DeviceModelField> fields_of(DeviceModel& m) {
  std::vector<DeviceModelField> fields;
  Impl::visit_fields(m, [&fields](const std::string& name, auto& number, const auto&) {
    fields.push_back({name, &number});
  });
  return fields;
}

}  // namespace lutra
