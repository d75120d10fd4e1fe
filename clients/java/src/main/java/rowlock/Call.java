// One thing that is asked for and not yet answered. On the loop only.

package rowlock;

final class Call {
  final Ask ask;

  /** Calls are asked for again in the order in which they began. */
  final long order;

  long number;
  Use use;

  /** When it was asked for; FOREVER once it was answered. */
  long asked;

  /** Whether a server that is gone may know of it. */
  boolean wasSent;

  /** How many connections have taken it. */
  int timesSent;

  boolean isOver;
  int failures;

  /** What it was answered last, where that was no result. */
  RowlockException lastError;

  Loop.Timer retryTimer;
  Loop.Timer giveUpTimer;

  Call(Ask ask, long order) {
    this.ask = ask;
    this.order = order;
  }

  /** Whether a server may know of it. */
  boolean mayBeKnown() {
    return wasSent || (use != null && use.connection.hasSent(number));
  }

  boolean isWait() {
    return ask.kind() == Ask.Kind.WAIT;
  }

  /** How much of a connection's bounds is used. */
  static final class Use {
    final Connection connection;
    int commands;
    int waits;

    Use(Connection connection) {
      this.connection = connection;
    }

    boolean hasRoom(boolean isWait) {
      Connection.Bounds bounds = connection.bounds();
      // Before the server has named its bounds, a first request is free to name what there was.
      if (bounds == null) return true;
      return isWait ? waits < bounds.waitsMax() : commands < bounds.commandsMax();
    }

    void count(boolean isWait, int by) {
      if (isWait) waits += by;
      else commands += by;
    }
  }
}
