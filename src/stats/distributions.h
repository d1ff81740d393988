#pragma once
// The few distributions that intervals need. Accurate to about 1e-12; checked against published tables.

namespace hone::stats {

double normal_cdf(double z);
/// p in (0, 1); ±infinity at the ends, NaN outside.
double normal_quantile(double p);
/// Regularised incomplete beta function I_x(a, b); a, b > 0, x in [0, 1].
double incomplete_beta(double a, double b, double x);
/// The x with I_x(a, b) = p.
double beta_quantile(double a, double b, double p);
/// Student's t with `df` degrees of freedom (> 0, need not be whole).
double student_cdf(double t, double df);
double student_quantile(double p, double df);
/// P(at most k successes in n trials of probability p).
double binomial_cdf(long k, long n, double p);

}  // namespace hone::stats
