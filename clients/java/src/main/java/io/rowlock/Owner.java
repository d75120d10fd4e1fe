// The default owner of claims.

package io.rowlock;

import java.io.IOException;
import java.net.InetAddress;
import java.net.UnknownHostException;
import java.nio.file.Files;
import java.nio.file.Path;

final class Owner {
  private static final Path HOST_NAME = Path.of("/proc/sys/kernel/hostname");

  private Owner() {}

  /** {@code machine:process}. */
  static String ofThisProcess() {
    return hostName() + ":" + ProcessHandle.current().pid();
  }

  /** On Linux without a network request. */
  private static String hostName() {
    try {
      if (Files.isReadable(HOST_NAME)) return Files.readString(HOST_NAME).trim();
      return InetAddress.getLocalHost().getHostName();
    } catch (UnknownHostException unnamed) {
      return "localhost";
    } catch (IOException unreadable) {
      return "localhost";
    }
  }
}
