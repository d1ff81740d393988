#pragma once
// Comparisons by rank, and many comparisons at once.

#include <span>
#include <vector>

namespace hone::stats {

/// Ranks from 1; tied values share their mean rank.
std::vector<double> ranks(std::span<const double> xs);
/// Spearman's rank correlation, ties allowed; NaN below two pairs or when one side is constant.
double spearman(std::span<const double> xs, std::span<const double> ys);
/// Kendall's tau-b, ties allowed; O(n²); NaN below two pairs or when one side is constant.
double kendall(std::span<const double> xs, std::span<const double> ys);

/// Benjamini–Hochberg (1995): p-values adjusted so that rejecting all ≤ q keeps the false discovery rate
/// at most q. Same order as given.
std::vector<double> benjamini_hochberg(std::span<const double> p_values);

}  // namespace hone::stats
