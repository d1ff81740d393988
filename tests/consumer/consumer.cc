#include <hone/version.h>

#include <cstdio>

int main() {
  std::printf("hone %s\n", hone::version());
  return 0;
}
