// One call whose last answer has not come yet. Runs on the loop only.

package io.rowlock;

final class Call {
  final Ask ask;

  /** Calls are sent again in the order in which they began. */
  final long order;

  long number;
  Usage usage;

  /** When it was sent; FOREVER after its first result. */
  long asked;

  /** Whether the server of an earlier connection may know of it. */
  boolean wasSent;

  /** Counts the connections that have taken it. */
  int timesSent;

  /** Whether a server has given it a place. */
  boolean isPlaced;

  boolean isOver;
  int failures;

  /** The last error that a server has answered with. */
  RowlockException lastError;

  EventLoop.Timer retryTimer;
  EventLoop.Timer giveUpTimer;

  Call(Ask ask, long order) {
    this.ask = ask;
    this.order = order;
  }

  /** Whether any server may know of it. */
  boolean mayBeKnown() {
    return wasSent || (usage != null && usage.connection.hasSent(number));
  }

  boolean isWait() {
    return ask.kind() == Ask.Kind.WAIT;
  }

  /** Counts what is under way on a connection, to stay within the server's bounds. */
  static final class Usage {
    final Connection connection;
    int commands;
    int waits;

    Usage(Connection connection) {
      this.connection = connection;
    }

    boolean hasRoom(boolean isWait) {
      Connection.Opened opened = connection.opened();
      // The first request may carry all that was open on the last connection, before the server names its bounds.
      if (opened == null) return true;
      return isWait ? waits < opened.waitsMax() : commands < opened.commandsMax();
    }

    void count(boolean isWait, int by) {
      if (isWait) waits += by;
      else commands += by;
    }
  }
}
