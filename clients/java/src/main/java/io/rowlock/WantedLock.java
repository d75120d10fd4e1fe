// A lock that a request asks for, or that a lease has: the first one, or one of the further ones.

package io.rowlock;

record WantedLock(String name, Mode mode, int permits) {
  rowlock.v1.WantedLock proto() {
    return rowlock.v1.WantedLock.newBuilder()
        .setName(name)
        .setMode(mode.proto())
        .setPermits(permits)
        .build();
  }
}
