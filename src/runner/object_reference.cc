#include <cstring>

#include "runner/reference.h"
#include "runner/shared_object.h"

namespace hone::runner {
namespace {

/// Arguments in candidate::argument_list order for a reference, which has no scratch.
struct Arguments {
  std::vector<void*> pointers;
  std::vector<std::int64_t> dims;
  std::vector<std::vector<std::byte>> scalars;
};

Arguments make_arguments(const task::Task& task, const task::Dims& dims, const InputSet& set,
                         std::vector<std::vector<std::byte>>* outputs) {
  Arguments a;
  static std::byte none[64];
  for (const auto& input : set.inputs) a.pointers.push_back(const_cast<std::byte*>(input.data()));
  for (std::size_t i = 0; i < task.outputs.size(); ++i)
    a.pointers.push_back(outputs ? static_cast<void*>((*outputs)[i].data()) : none);
  for (const auto& [name, value] : dims)
    if (task.dims.contains(name)) a.dims.push_back(value);
  for (std::int64_t& value : a.dims) a.pointers.push_back(&value);
  for (std::size_t i = 0; i < task.scalars.size(); ++i) {
    a.scalars.emplace_back(16);
    task::store_element(task.scalars[i].dtype, a.scalars.back().data(), set.scalars[i]);
  }
  for (auto& scalar : a.scalars) a.pointers.push_back(scalar.data());
  return a;
}

class ObjectReference final : public Reference {
 public:
  ObjectReference(const task::Task& task, SharedObject object) : task_(task), object_(std::move(object)) {}

  Result<std::vector<std::vector<std::byte>>> run(const task::Dims& dims, const InputSet& set,
                                                  std::size_t real_bytes) const override {
    std::vector<std::vector<std::byte>> out;
    for (const task::Tensor& tensor : task_.outputs) {
      const std::size_t width = task::is_floating(tensor.dtype) ? real_bytes : task::size_of(tensor.dtype);
      HONE_TRY(const std::int64_t elements, task::elements_of(tensor, dims));
      out.emplace_back(static_cast<std::size_t>(elements) * width + kReferenceSlack);
      std::memset(out.back().data(), task::is_floating(tensor.dtype) ? 0xFF : 0xA5, out.back().size());
    }
    const Arguments arguments = make_arguments(task_, dims, set, &out);
    static const std::vector<int> threads(64, 1);
    object_.entry()(arguments.pointers.data(), threads.data());
    return out;
  }

  Result<std::vector<double>> select(const task::Dims& dims, const InputSet& set, std::size_t output,
                                     std::span<const long long> indices) const override {
    HONE_TRY(const SharedObject::Select value_of, object_.select(output));
    const Arguments arguments = make_arguments(task_, dims, set, nullptr);
    std::vector<double> values(indices.size());
    for (std::size_t i = 0; i < values.size(); ++i)
      values[i] = value_of(arguments.pointers.data(), static_cast<long long>(i), indices[i]);
    return values;
  }

 private:
  const task::Task& task_;
  SharedObject object_;
};

}  // namespace

Result<std::unique_ptr<Reference>> load_object_reference(const task::Task& task, const std::string& object) {
  HONE_TRY(SharedObject loaded, SharedObject::load(object));
  return std::unique_ptr<Reference>(std::make_unique<ObjectReference>(task, std::move(loaded)));
}

}  // namespace hone::runner
