// A proxy to a server that can be cut and mended, and that can swallow what the server sends.

package io.rowlock;

import java.io.IOException;
import java.io.InputStream;
import java.io.InterruptedIOException;
import java.io.OutputStream;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.util.Arrays;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.Executors;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;

final class Pipe implements AutoCloseable {
  private final Address target;
  private final Set<Socket> open = ConcurrentHashMap.newKeySet();
  private ServerSocket listening;
  private Thread accepting;
  private final int port;
  private final ScheduledExecutorService delayed = Executors.newSingleThreadScheduledExecutor();
  private volatile boolean isMuted;
  private volatile long delayMs;

  Pipe(String address) throws IOException {
    target = Address.of(address);
    listening = new ServerSocket(0, 50, InetAddress.getLoopbackAddress());
    port = listening.getLocalPort();
    accept(listening);
  }

  String address() {
    return "127.0.0.1:" + port;
  }

  /** Swallows what the server sends from now on. */
  void mute() {
    isMuted = true;
  }

  /** Delays everything by this time in each direction from now on. */
  void delay(long millis) {
    delayMs = millis;
  }

  /** Closes all connections and lets no new one through. */
  void cut() throws IOException {
    listening.close();
    try {
      // Until it has ended, the port is in use, and one more connection may come.
      accepting.join();
    } catch (InterruptedException interrupted) {
      throw new InterruptedIOException();
    }
    for (Socket socket : open) socket.close();
  }

  /** While it is cut: waits for so many connections, and closes each. */
  void turnAway(int connections) throws IOException {
    try (ServerSocket refusing = listen()) {
      for (int index = 0; index < connections; index++) refusing.accept().close();
    }
  }

  void mend() throws IOException {
    isMuted = false;
    listening = listen();
    accept(listening);
  }

  private ServerSocket listen() throws IOException {
    ServerSocket again = new ServerSocket();
    again.setReuseAddress(true);
    again.bind(new InetSocketAddress(InetAddress.getLoopbackAddress(), port));
    return again;
  }

  @Override
  public void close() throws IOException {
    cut();
    delayed.shutdownNow();
  }

  private void accept(ServerSocket on) {
    accepting =
        run(
            () -> {
              for (; ; ) {
                Socket near = on.accept();
                Socket far = new Socket(target.host(), target.port());
                open.add(near);
                open.add(far);
                run(() -> copy(near, far, false));
                run(() -> copy(far, near, true));
              }
            });
  }

  private void copy(Socket from, Socket to, boolean isAnswer) throws IOException {
    try (from;
        to) {
      InputStream in = from.getInputStream();
      OutputStream out = to.getOutputStream();
      byte[] bytes = new byte[65_536];
      for (int count; (count = in.read(bytes)) >= 0; )
        if (!(isAnswer && isMuted)) write(out, Arrays.copyOf(bytes, count));
    }
  }

  private void write(OutputStream out, byte[] bytes) throws IOException {
    if (delayMs == 0) {
      out.write(bytes);
      return;
    }
    try {
      delayed.schedule(
          () -> {
            out.write(bytes);
            return null;
          },
          delayMs,
          TimeUnit.MILLISECONDS);
    } catch (RejectedExecutionException closed) {
      throw new IOException(closed);
    }
  }

  private interface Sockets {
    void run() throws IOException;
  }

  /** Starts a thread that ends when its sockets are closed. */
  private static Thread run(Sockets task) {
    Thread thread =
        new Thread(
            () -> {
              try {
                task.run();
              } catch (IOException closed) {
                // Expected: this is how the thread ends.
              }
            });
    thread.setDaemon(true);
    thread.start();
    return thread;
  }
}
