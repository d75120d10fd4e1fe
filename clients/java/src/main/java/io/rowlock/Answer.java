// What a request ends with that the server has granted or refused. A lock ends with an Outcome, and a spend with Spent or a
// refusal.

package io.rowlock;

sealed interface Answer permits Outcome, Spent {}
