// Sends commands to one server, and reports their results to its listener. SessionConnection is one stream for all
// commands. UnaryConnection sends each command as a unary call, where streams are refused. Used on the loop only, where
// it also calls its listener.

package io.rowlock;

import rowlock.v1.SessionCommand;
import rowlock.v1.SessionResponse;

interface Connection {
  /** What a server has announced. */
  record Opened(String replica, int waitsMax, int commandsMax, int bytesMax) {}

  interface Listener {
    /** Takes a response, which was true at {@code basis} or later. */
    void onResponded(Connection connection, SessionResponse response, long basis);

    /** Called once, unless the connection was closed or destroyed from this side. */
    void onEnded(Connection connection, RowlockException error);
  }

  Address address();

  /** Null until the server has answered. */
  Opened opened();

  /** The largest size of one command in bytes. */
  int commandBytesMax();

  /** The kind of the connection. Only over a session may a wait name its ticket; otherwise it repeats its request. */
  ConnectionEvent.Via via();

  /** How many leases one command may renew. */
  int renewalsMax();

  /** Sends a command, which has its number already, soon and together with others. */
  void send(SessionCommand command);

  /** Ends a call whose answer nobody wants any more. Returns true if it was sent: then an answer may still come. */
  boolean cancel(long call);

  /** Whether the server may know of a command that this connection has taken. */
  boolean hasSent(long call);

  /** Sends a request soon, even one with only an acknowledgement. */
  void acknowledge();

  /** Closes the connection in good order, within this time. */
  void close(long within, Runnable closed);

  /** Ends the connection at once, without notifying its listener. */
  void destroy();
}
