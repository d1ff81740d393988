#include "cli/cli.h"

int main(int argc, char** argv) { return hone::cli::run(argc, argv); }
