// Slows each flush to disk by the milliseconds in the file that SLOW_FSYNC names. For LD_PRELOAD.

#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static void rest(void) {
  const char *path = getenv("SLOW_FSYNC");
  FILE *file = path ? fopen(path, "r") : NULL;
  int ms = 0;
  if (!file) return;
  if (fscanf(file, "%d", &ms) == 1 && ms > 0) usleep(ms * 1000);
  fclose(file);
}

int fsync(int fd) {
  rest();
  return ((int (*)(int))dlsym(RTLD_NEXT, "fsync"))(fd);
}

int fdatasync(int fd) {
  rest();
  return ((int (*)(int))dlsym(RTLD_NEXT, "fdatasync"))(fd);
}
