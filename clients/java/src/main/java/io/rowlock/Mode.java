package io.rowlock;

/** How a lock is held. */
public enum Mode {
  /** Counted: together, the holders have at most as many permits as the limit. With a limit of 1 it is a mutex. */
  PERMIT(rowlock.v1.Mode.MODE_PERMIT),
  /** One of many readers. */
  SHARED(rowlock.v1.Mode.MODE_SHARED),
  /** The only writer. */
  EXCLUSIVE(rowlock.v1.Mode.MODE_EXCLUSIVE);

  private final rowlock.v1.Mode proto;

  Mode(rowlock.v1.Mode proto) {
    this.proto = proto;
  }

  rowlock.v1.Mode proto() {
    return proto;
  }

  static Mode of(rowlock.v1.Mode proto) {
    return switch (proto) {
      case MODE_SHARED -> SHARED;
      case MODE_EXCLUSIVE -> EXCLUSIVE;
      default -> PERMIT;
    };
  }
}
