// Package schema checks arguments against JSON Schemas that strangers wrote.
//
// A schema is rewritten before it is compiled: references within it are put in place, what only describes is left out.
// A reference that leads back to where it stands accepts anything, as does one that leads out of the schema, a pattern
// that Go's regular expressions cannot say or that takes too much memory, and what is nested too deeply. Arguments that
// would take too long to check are accepted, so a check ends within a second. It may accept what the source then
// refuses, and never refuses what the schema accepts because of what was left out.
//
// All of it may be used from any goroutine.
package schema
