# The texts the lane hands to compilers are real files, built into the program.
function(hone_embed in name)
  set(out ${CMAKE_CURRENT_BINARY_DIR}/embedded/${name}.cc)
  add_custom_command(OUTPUT ${out}
    COMMAND ${CMAKE_COMMAND} -DIN=${CMAKE_CURRENT_SOURCE_DIR}/${in} -DOUT=${out} -DNAME=${name}
            -DNAMESPACE=hone::lane -P ${CMAKE_CURRENT_SOURCE_DIR}/cmake/embed.cmake
    DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/${in} ${CMAKE_CURRENT_SOURCE_DIR}/cmake/embed.cmake VERBATIM)
  target_sources(hone_lane PRIVATE ${out})
endfunction()
hone_embed(src/lane/cpu/prelude/types.h kPreludeTypes)
hone_embed(src/lane/cpu/prelude/reference.h kPreludeReference)
hone_embed(src/lane/cpu/prelude/sanitize_driver.inc kSanitizeDriver)
hone_embed(src/lane/cuda/prelude/types.h kCudaPreludeTypes)
hone_embed(src/lane/cuda/prelude/reference.h kCudaPreludeReference)
