# cmake -DOUT=file.cc -DNAME=variable -DNAMESPACE=a::b -DIN=text -P embed.cmake: a text as a C++ string constant.
file(READ ${IN} text)
string(FIND "${text}" ")HONE_TEXT" clash)
if(NOT clash EQUAL -1)
  message(FATAL_ERROR "${IN} holds the delimiter of the raw string")
endif()
file(WRITE ${OUT} "namespace ${NAMESPACE} {\nextern const char ${NAME}[];\nconst char ${NAME}[] = R\"HONE_TEXT(${text})HONE_TEXT\";\n}  // namespace ${NAMESPACE}\n")
