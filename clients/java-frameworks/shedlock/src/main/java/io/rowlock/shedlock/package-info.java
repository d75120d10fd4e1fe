/** ShedLock's locks in a Rowlock server. */
package io.rowlock.shedlock;
