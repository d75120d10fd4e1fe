// Set-up of the tests that run against mutants: a property that fails has noticed the mutant. The shortest history that
// shows it, for which fast-check would look for seconds, does not matter.
import fc from "fast-check";

fc.configureGlobal({ endOnFailure: true });
