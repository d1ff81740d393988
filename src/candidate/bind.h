#pragma once
// Binding of parameters, by name, to tensors, scratch, dims and scalars (the table in
// docs/candidate.md).

#include <set>
#include <string>
#include <utility>
#include <vector>

#include "candidate/candidate.h"
#include "code/signature.h"

namespace hone::candidate {

/// Canonical type spellings in which a tensor or scalar of this dtype may be taken.
const std::vector<std::string>& types_of(task::DType dtype);
/// Spellings for a dim, and whether it is of 32 bits.
bool is_dim_type(const std::string& type, bool& narrow);

/// Binds functions of one candidate to one task.
class Binder {
 public:
  Binder(const Candidate& candidate, const task::Task& task, Build build);

  /// One C++ expression a parameter, "(const float*)hone_arguments[0]".
  Result<std::vector<std::string>> bind(const Function& function);
  /// The arguments of the function that finds a selected value: inputs, dims, scalars, `element`,
  /// `index`.
  Result<std::vector<std::string>> bind_select(const code::Signature& signature);
  /// After all functions: every output is written by one of them.
  Status check_complete() const;

  const std::vector<std::string>& lines() const { return lines_; }  ///< "f: x=input 0"
  const std::map<std::string, std::string>& narrow_dims() const { return narrow_; }
  bool in_place() const;
  /// What bind() and bind_select() gave the parameters since the last call of this, in order.
  std::vector<LaunchArgument> take_bound() { return std::exchange(bound_, {}); }

 private:
  Result<std::string> one(const Function& function, const Parameter& parameter, bool select);
  Result<std::string> input(const Function& function, const Parameter& parameter, std::size_t index,
                            std::size_t at);
  Result<std::string> output(const Function& function, const Parameter& parameter,
                             std::size_t index, std::size_t at);
  Result<std::string> scratch(const Function& function, const Parameter& parameter,
                              std::size_t index, std::size_t at);
  Result<std::string> dim(const Function& function, const Parameter& parameter, std::size_t at);
  Result<std::string> scalar(const Function& function, const Parameter& parameter,
                             std::size_t index, std::size_t at);
  Error refuse(const Function& function, const Parameter& parameter, const std::string& why,
               std::string cure) const;
  Error unknown(const Function& function, const Parameter& parameter) const;
  bool is_reference() const { return build_ == Build::oracle || build_ == Build::rounded; }
  /// The output that overwrites input `index`, or -1.
  int output_over(std::size_t index) const;

  const Candidate& candidate_;
  const task::Task& task_;
  Build build_;
  std::vector<Argument> arguments_;
  std::vector<std::string> lines_;
  std::vector<LaunchArgument> bound_;
  std::map<std::string, std::string> narrow_;
  std::set<std::string> named_;    // tensors that some parameter names
  std::set<std::string> written_;  // tensors taken without const
};

}  // namespace hone::candidate
