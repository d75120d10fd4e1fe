/** Locks of a Rowlock server as {@link java.util.concurrent.locks}. */
package io.rowlock.locks;
