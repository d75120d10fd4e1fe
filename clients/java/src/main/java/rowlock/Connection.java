// The seam below all that is asked for: what takes commands and gives results. Used on the loop only, and calls its listener
// there. SessionConnection is one stream for all; UnaryConnection makes each command a call of its own, where streams are
// refused.

package rowlock;

import rowlock.v1.SessionCommand;
import rowlock.v1.SessionResponse;

interface Connection {
  /** What a server takes. */
  record Bounds(String replica, int waitsMax, int commandsMax, int bytesMax) {}

  interface Listener {
    /** What it says was so at {@code basis} or later. */
    void onResponse(Connection connection, SessionResponse response, long basis);

    /** Called once, unless it was closed or destroyed from here. */
    void onEnded(Connection connection, RowlockException error);
  }

  Address address();

  /** Null until the server has answered. */
  Bounds bounds();

  /** Bytes that a command may have. */
  int commandBytesMax();

  /** Whether a place can be come back to by its ticket; otherwise by repeating the request, with its id. */
  boolean knowsTickets();

  /** The command has its number. It is sent soon, with others. */
  void send(SessionCommand command);

  /**
   * Nobody waits for the answer of this call any more. Whether it was sent: then what there is of it by then may still be
   * answered.
   */
  boolean cancel(long call);

  /** Whether the server may know of a command that this connection has taken. */
  boolean hasSent(long call);

  /** Says something soon, if there is only an acknowledgement. */
  void touch();

  /** Closes it in good order, within the time. */
  void close(long within, Runnable closed);

  /** Ends it at once, without a word to its listener. */
  void destroy();
}
